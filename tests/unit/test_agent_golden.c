/*
 * Whole requests, byte for byte, as they leave the program (tests/cases/prompt/requests).  A
 * change of one byte at the front of a request makes every provider's cache miss, so that it
 * has to be meant: then the file is replaced by what the test prints.
 */
#include "agent_world.h"

#include "agent/fold.h"
#include "agent/system.h"
#include "os/file.h"
#include "os/seam.h"

#include <stdio.h>
#include <string.h>

/* Wall time stands still. */
int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);

	if (id == CLOCK_REALTIME)
		*out = (struct timespec){ .tv_sec = 1796031512 };
	return rc;
}

int seam_slice(int ms)
{
	return ms;
}

static void assert_golden(struct agent_world *k, int i, const char *name)
{
	str path = arena_fmt(&k->w->a, "tests/cases/prompt/requests/%s.json", name),
	    want = { 0 };
	const char *got = strstr(aw_request(k, i), "\r\n\r\n");

	got = got ? got + 4 : aw_request(k, i);
	(void)!file_read(&want, &k->w->a, path.p, 1 << 20, NULL);
	if (str_eq(str_trim(want), str_of(got)))
		return;
	(void)fprintf(stderr, "%s\n", got); /* cmocka would cut it */
	fail_msg("%s is not what is sent, which is above", path.p);
}

static void hear(struct agent_world *k, const char *text)
{
	aw_hear(k, text);
	ok(k->w, aw_run(k));
}

static void requests_are_what_they_were(void **state)
{
	struct agent_world *k = *state;
	struct system_row row;
	struct session s;

	k->cfg.agent.persona_dir = S("tests/cases/prompt/persona");
	k->only = " echo look ";
	aw_says(k, "c:echo {\"n\":1}|look {}");
	aw_says(k, "t:There are **two** of them.");
	aw_says(k, "t:Ciao, Ann.");
	aw_says(k, "t:Facts: there are two things.");
	aw_says(k, "t:Two.");
	hear(k, "How many \"things\" are there?");
	hear(k, "Say ciao\nto me");
	ok(k->w, store_session_find(k->w->s, S("test"), S("1"), &k->w->a, &s, &k->w->e));
	struct tx tx = world_begin(k->w);
	ok(k->w,
	   fold_leave(&tx, &s, world_i64(k->w, "SELECT max(first_seq) FROM turns"), &k->w->e));
	ok(k->w, store_system_claim(&tx, S(""), &k->w->a, &row, &k->w->e));
	world_commit(k->w, &tx);
	ok(k->w, agent_system_run(k->agent, &row, &k->token, &k->w->e));
	hear(k, "How many were there?");
	assert_golden(k, 0, "first");
	assert_golden(k, 2, "with-history");
	assert_golden(k, 4, "folded");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_are_what_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
