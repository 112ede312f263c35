/*
 * The clock's look at questions: over in time, asked again once, and no hurry when nothing can
 * be written.
 */
#include "ringing.h"
#include "store_world.h"

#include "gateway/questions.h"
#include "os/clock.h"
#include "store/approval.h"

static void ask(struct world *w, int64_t expires_at_ms)
{
	char id[ID_LONG_LEN + 1];

	(void)world_add(w, "1", "send it");
	struct turn t = world_claim(w);
	struct call call = world_call(1, 1, CALL_PLANNED, false);
	world_step(w, &t, 1, &call, 1);
	const struct approval p = {
		.session_id = t.session.id,
		.turn_id = t.id,
		.call_id = str_of(call.id),
		.channel = S("test"),
		.address = S("1"),
		.tool = S("gmail__send"),
		.command = S("{}"),
		.hash = S("h"),
		.reason = S("r"),
		.created_at_ms = clock_now_ms(),
		.expires_at_ms = expires_at_ms,
	};
	struct tx tx = world_begin(w);
	ok(w, store_approval_add(&tx, &p, id, &w->e));
	world_commit(w, &tx);
}

static struct engine engine(struct world *w)
{
	return (struct engine){ .store = w->s, .inbox.fd = -1, .outbox.fd = -1 };
}

static void without_a_question_there_is_nothing_to_wait_for(void **state)
{
	struct world *w = *state;
	struct engine g = engine(w);
	bool reposted = false;
	int64_t at = 0;

	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_true(reposted && at == INT64_MAX);
}

static void a_question_ends_when_its_time_is_over(void **state)
{
	struct world *w = *state;
	struct engine g = engine(w);
	bool reposted = true;
	int64_t at = 0, later = clock_now_ms() + 60000;

	ask(w, later);
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_true(at == later);
	world_sql(w, "UPDATE approvals SET expires_at_ms = 1000");
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_true(at <= clock_now_ms());
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_true(at == INT64_MAX);
}

static void what_cannot_be_written_is_not_tried_at_once_again(void **state)
{
	struct world *w = *state;
	struct engine g = engine(w);
	bool reposted = true;
	int64_t at = 0;

	ask(w, clock_now_ms() - 1);
	world_sql(w, "CREATE TRIGGER full BEFORE UPDATE ON approvals BEGIN "
		     "SELECT RAISE(ABORT, 'no room'); END");
	int64_t began = clock_now_ms();
	assert_true(questions_look(&g, S("test"), &reposted, NULL, &at, &w->e) < 0);
	assert_true(at >= began + 1000 && at != INT64_MAX);
	world_sql(w, "DROP TRIGGER full");
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
}

/* One worker, one deliverer looks when a bell rings, and else nobody for half a minute. */
static void what_is_over_calls_a_worker_and_what_is_asked_again_a_deliverer(void **state)
{
	struct world *w = *state;
	struct engine g = engine(w);
	bool reposted = true;
	int64_t at = 0;

	bells_init(&g);
	ask(w, clock_now_ms() + 60000);
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_false(rung(&g.inbox) || rung(&g.outbox));
	/* A daemon before this one asked it, and it went out. */
	world_sql(w,
		  "UPDATE approvals SET poster = 'before'; UPDATE outbox SET state = 'done'");
	reposted = false;
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_true(rung(&g.outbox));
	assert_false(rung(&g.inbox));
	world_sql(w, "UPDATE approvals SET expires_at_ms = 1000");
	ok(w, questions_look(&g, S("test"), &reposted, NULL, &at, &w->e));
	assert_true(rung(&g.inbox));
	bells_done(&g);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_question_there_is_nothing_to_wait_for),
		TEST(a_question_ends_when_its_time_is_over),
		TEST(what_is_over_calls_a_worker_and_what_is_asked_again_a_deliverer),
		TEST(what_cannot_be_written_is_not_tried_at_once_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
