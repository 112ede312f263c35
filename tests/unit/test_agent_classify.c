/*
 * Mode auto: the classifier decides, or a person does; and where nobody sits nothing is asked.
 */
#include "agent_world.h"

#include <string.h>

#define CALL "c:shell {\"command\":\"make x\"}"
#define SAYS(risk, kinds)                                                                      \
	"t:{\"risk\":\"" risk "\",\"categories\":[" kinds "],\"reason\":\"because so\"}"

static const struct row {
	const char *call, *classifier, *answers, *decision, *decider;
	int asked, ran;
} rows[] = {
	{ CALL, SAYS("low", ""), "", "auto_allowed", "classifier", 0, 1 },
	{ CALL, SAYS("none", "\"network\""), "", "auto_allowed", "classifier", 0, 1 },
	{ CALL, SAYS("high", ""), "n", "denied", "tester", 1, 0 },
	{ CALL, SAYS("none", "\"secret_access\""), "y", "approved", "tester", 1, 1 },
	{ CALL, "t:sure", "n", "denied", "tester", 1, 0 },
	{ CALL, "4:no such model", "n", "denied", "tester", 1, 0 },
	{ "c:shell {\"command\":\"$x y\"}", NULL, "n", "denied", "tester", 1, 0 },
	{ "c:shell {\"command\":\"rm -rf y\"}", NULL, "", "deny", "policy", 0, 0 },
	{ "c:shell {\"command\":\"ls\"}", NULL, "", "allow", "policy", 0, 1 },
};

static void setup(struct agent_world *k)
{
	static const str kinds[] = { S("secret_access") }, allow[] = { S("^ls$") };

	k->cfg.policy.mode = S("auto");
	k->cfg.policy.deny_builtin = true;
	k->cfg.policy.confirm_on = (struct str_list){ kinds, 1 };
	k->cfg.policy.allow = (struct str_list){ allow, 1 };
}

static void a_classifier_is_asked_before_a_person(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *c = &rows[i];
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		setup(k);
		k->answers = c->answers;
		aw_says(k, c->call);
		if (c->classifier)
			aw_says(k, c->classifier);
		aw_says(k, "t:Done");
		aw_hear(k, "secret words of the conversation");
		ok(k->w, aw_run(k));
		str decision = world_text(k->w, "SELECT decision FROM tool_calls");
		str decider = world_text(k->w, "SELECT decider FROM tool_calls");
		if (strcmp(decision.p, c->decision) || strcmp(decider.p, c->decider) ||
		    k->asked != c->asked || k->ran != c->ran)
			fail_msg("row %zu: %s by %s, asked %d, ran %d", i, decision.p,
				 decider.p, k->asked, k->ran);
		if (c->classifier) {
			aw_has(aw_request(k, 1), "make x");
			aw_lacks(aw_request(k, 1), "secret words");
			aw_lacks(aw_request(k, 1), "\"tools\"");
		}
		(void)agent_world_teardown((void **)&k);
	}
}

static void what_runs_by_itself_asks_nobody(void **state)
{
	static const str kinds[] = { S("cron"), S("watch"), S("system") };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		setup(k);
		k->cfg.policy.mode = S("approval");
		k->io.parks = i == 1;
		k->answers = "y";
		aw_says(k, CALL);
		aw_says(k, "t:Done");
		aw_hear(k, "hi");
		k->t.kind = kinds[i];
		ok(k->w, aw_run(k));
		assert_int_equal(k->asked, 0);
		assert_int_equal(k->ran, 0);
		assert_string_equal(aw_state(k).p, "done");
		assert_string_equal(world_text(k->w, "SELECT decision FROM tool_calls").p,
				    "unanswered");
		aw_has(aw_request(k, 1), "nobody is here to approve");
		(void)agent_world_teardown((void **)&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_classifier_is_asked_before_a_person),
		cmocka_unit_test(what_runs_by_itself_asks_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
