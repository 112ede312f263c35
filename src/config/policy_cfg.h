/*
 * config/policy_cfg: the part of the configuration about what may be run, and who is asked.
 */
#ifndef CONFIG_POLICY_CFG_H
#define CONFIG_POLICY_CFG_H

#include "config/exec_cfg.h"
#include "policy/rules.h"

struct policy_cfg {
	const struct policy_rule *rules; /* globs on published names */
	size_t n;
	int64_t approval_timeout_ms;
	str mode; /* for command lines: approval, auto */
	bool deny_builtin;
	struct str_list deny, allow; /* patterns */
	int64_t grant_days; /* how long "always" holds; 0: for ever */
	str auto_model; /* of the classifier, "" the agent's */
	struct str_list confirm_on; /* kinds of risk that a person decides about */
	str destructive; /* allow, ask, deny: tools that say so of themselves */
};

#endif
