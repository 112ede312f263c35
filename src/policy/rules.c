/*
 * Rules by tool name: the first one that matches decides.
 */
#include "policy/rules.h"

enum policy_verdict policy_decide(const struct policy_rule *rules, size_t n, str tool,
				  str *rule)
{
	for (size_t i = 0; i < n; i++) {
		if (!str_glob(rules[i].tool, tool))
			continue;
		*rule = rules[i].tool;
		return rules[i].verdict;
	}
	*rule = S("");
	return VERDICT_ALLOW;
}
