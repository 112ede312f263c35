/*
 * Policy: which rule decides, and who answers where nobody sits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "policy/approver.h"
#include "policy/rules.h"

static const struct policy_rule rules[] = {
	{ S("mail__send"), VERDICT_ALLOW },  { S("mail__*"), VERDICT_ASK },
	{ S("write_[a-f]*"), VERDICT_DENY }, { S("*__delete_?"), VERDICT_DENY },
	{ S("mail__read"), VERDICT_DENY }, /* never reached */
};

static const struct {
	str tool;
	enum policy_verdict verdict;
	str rule;
} decisions[] = {
	{ S("mail__send"), VERDICT_ALLOW, S("mail__send") },
	{ S("mail__read"), VERDICT_ASK, S("mail__*") },
	{ S("write_file"), VERDICT_DENY, S("write_[a-f]*") },
	{ S("write_zip"), VERDICT_ALLOW, S("") },
	{ S("db__delete_x"), VERDICT_DENY, S("*__delete_?") },
	{ S("db__delete_xy"), VERDICT_ALLOW, S("") },
	{ S("MAIL__read"), VERDICT_ALLOW, S("") },
	{ S(""), VERDICT_ALLOW, S("") },
};

static void the_first_rule_that_matches_decides_and_none_allows(void **state)
{
	for (size_t i = 0; i < COUNT(decisions); i++) {
		str rule = S("unset");
		enum policy_verdict v =
			policy_decide(rules, COUNT(rules), decisions[i].tool, &rule);

		if (v != decisions[i].verdict || !str_eq(rule, decisions[i].rule))
			fail_msg("%s: %d by \"%.*s\"", decisions[i].tool.p, v, STRF(rule));
	}
}

static void without_rules_everything_is_allowed(void **state)
{
	str rule = S("unset");

	assert_int_equal(policy_decide(NULL, 0, S("x"), &rule), VERDICT_ALLOW);
	assert_int_equal(rule.n, 0);
}

static void a_star_alone_catches_what_is_left(void **state)
{
	const struct policy_rule two[] = { { S("read_*"), VERDICT_ALLOW },
					   { S("*"), VERDICT_DENY } };
	str rule;

	assert_int_equal(policy_decide(two, 2, S("read_file"), &rule), VERDICT_ALLOW);
	assert_int_equal(policy_decide(two, 2, S("write_file"), &rule), VERDICT_DENY);
}

static void deny_all_never_says_yes_and_names_the_tool(void **state)
{
	struct approval_ask ask = { .tool = S("write_file"), .timeout_ms = 60000 };
	struct err e = { 0 };
	bool yes = false;

	assert_int_equal(approver_deny_all.ask(&approver_deny_all, &ask, &yes, NULL, &e),
			 E_DENIED);
	assert_false(yes);
	assert_non_null(strstr(e.msg, "write_file"));
	assert_string_equal(approver_deny_all.decider, "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rule_that_matches_decides_and_none_allows),
		cmocka_unit_test(without_rules_everything_is_allowed),
		cmocka_unit_test(a_star_alone_catches_what_is_left),
		cmocka_unit_test(deny_all_never_says_yes_and_names_the_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
