/* Questions of tool servers: answered by whom they are for, in time; the call that came back for
 * input is planned again, its turn parked and found again; a call that waited is in doubt. */
#include "store_world.h"

#include "os/clock.h"
#include "store/approval.h"
#include "store/question.h"

#include <string.h>

#define HOUR (3600 * 1000)
#define STATE "SELECT state FROM questions ORDER BY rowid LIMIT 1"
#define KEPT                                                                                   \
	"SELECT group_concat(key || '/' || request_state) FROM (SELECT * FROM questions "      \
	"ORDER BY rowid)"
#define TURN "SELECT state FROM turns"
#define CALL "SELECT state FROM tool_calls"
#define PARAMS "{\"message\":\"m\",\"requestedSchema\":{\"properties\":{}}}"
#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

struct asked {
	struct turn t;
	struct call call;
	char id[ID_LONG_LEN + 1];
};

static struct question question(const struct asked *q, int64_t round, int64_t index)
{
	return (struct question){
		.session_id = q->t.session.id,
		.turn_id = q->t.id,
		.call_id = str_of(q->call.id),
		.channel = S("test"),
		.address = S("1"),
		.requester = S("ada"),
		.server = S("srv"),
		.round = round,
		.index = index,
		.key = index ? S("b") : S("a"),
		.params = S(PARAMS),
		.request_state = round ? S("state") : S(""),
		.created_at_ms = clock_now_ms(),
		.expires_at_ms = clock_now_ms() + HOUR,
	};
}

/* A turn whose one call runs. */
static struct asked running(struct world *w, bool safe)
{
	struct asked q = { 0 };

	(void)world_add(w, "1", "go on");
	q.t = world_claim(w);
	q.call = world_call(1, 1, CALL_RUNNING, safe);
	world_step(w, &q.t, 1, &q.call, 1);
	return q;
}

static int ask(struct world *w, struct asked *q)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	struct question in = question(q, 0, 0);
	int rc = store_question_add(&tx, &in, q->id, &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static int come_back(struct world *w, const struct asked *q, int64_t round, size_t n)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	struct question v[2] = { question(q, round, 0), question(q, round, 1) };
	int rc = store_question_round(&tx, v, n, &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static bool park(struct world *w, const struct asked *q)
{
	struct tx tx = world_begin(w);
	bool parked;

	ok(w, store_turn_park(&tx, q->t.id, &parked, &w->e));
	world_commit(w, &tx);
	return parked;
}

/* As whoever writes there; E_NOENT: he is asked nothing. */
static int reply(struct world *w, const char *who, const char *message)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	const struct question_find by = { .channel = S("test"),
					  .address = S("1"),
					  .requester = str_of(who),
					  .message = str_of(message) };
	struct question *v, q;
	size_t n;

	ok(w, store_question_asking(&tx, &by, &w->a, &v, &n, &w->e));
	if (n == 0)
		return E_NOENT;
	q = v[0];
	q.state = QUESTION_ANSWERED;
	q.result = S("{\"action\":\"accept\"}");
	q.decided_by = str_of(who);
	ok(w, store_question_step(&tx, &q, &w->e));
	return store_commit(&tx, &w->e);
}

/* It came back once, was answered, and runs again. */
static void answered_once(struct world *w, const struct asked *q)
{
	ok(w, come_back(w, q, 1, 1));
	ok(w, reply(w, "ada", ""));
	struct tx tx = world_begin(w);
	ok(w, store_call_start(&tx, q->t.id, &q->call, &w->e));
	world_commit(w, &tx);
}

static struct question *of_call(struct world *w, const struct asked *q, size_t *n)
{
	struct question *v;

	ok(w, store_question_of_call(w->s, q->t.id, str_of(q->call.id), &w->a, &v, n, &w->e));
	return v;
}

static void a_question_posts_itself_and_is_for_whoever_asked(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);

	ok(w, ask(w, &q));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM outbox o JOIN questions p "
					 "ON p.id = o.question_id AND o.kind = 'approval' "
					 "AND o.text = '0' AND o.state = 'raw'"));
	assert_int_equal(reply(w, "eve", ""), E_NOENT);
	assert_int_equal(reply(w, "ada", "77"), E_NOENT);
	ok(w, reply(w, "ada", ""));
	assert_text(world_text(w, STATE), "answered");
	assert_int_equal(reply(w, "ada", ""), E_NOENT);
}

static void another_field_is_another_post(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	struct question p;

	ok(w, ask(w, &q));
	struct tx tx = world_begin(w);
	ok(w, store_question_message(&tx, str_of(q.id), 0, S("5"), &w->e));
	ok(w, store_question_find(&tx, str_of(q.id), &w->a, &p, &w->e));
	p.field = 1;
	p.answers = S("\"a\":1");
	ok(w, store_question_step(&tx, &p, &w->e));
	/* The one before came late. */
	ok(w, store_question_message(&tx, str_of(q.id), 0, S("6"), &w->e));
	world_commit(w, &tx);
	assert_int_equal(2,
			 world_i64(w, "SELECT count(*) FROM outbox WHERE question_id <> ''"));
	ok(w, store_question_get(w->s, str_of(q.id), &w->a, &p, &w->e));
	assert_text(p.message_id, "");
	assert_text(p.answers, "\"a\":1");
	assert_int_equal(p.state, QUESTION_PENDING);
}

static void a_call_that_came_back_is_planned_and_its_turn_parks(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	size_t n;

	ok(w, come_back(w, &q, 1, 2));
	assert_text(world_text(w, CALL), "planned");
	assert_true(park(w, &q));
	assert_text(world_text(w, TURN), "parked");
	assert_true(world_idle(w));
	/* Half of an answer is none. */
	ok(w, reply(w, "ada", ""));
	assert_text(world_text(w, TURN), "parked");
	ok(w, reply(w, "ada", ""));
	assert_text(world_text(w, TURN), "ready");
	struct turn again = world_claim(w);
	assert_text(again.id, q.t.id.p);
	assert_true(again.attempts <= 1);
	struct question *v = of_call(w, &q, &n);
	assert_int_equal(n, 2);
	assert_text(v[1].key, "b");
	assert_text(v[1].request_state, "state");
	assert_text(v[1].result, "{\"action\":\"accept\"}");
	world_check(w);
}

static void an_answer_that_came_before_parking_keeps_the_turn_running(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);

	ok(w, come_back(w, &q, 1, 1));
	ok(w, reply(w, "ada", ""));
	assert_false(park(w, &q));
	assert_text(world_text(w, TURN), "running");
}

static void only_the_last_round_is_what_a_call_waits_for(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	size_t n;

	answered_once(w, &q);
	ok(w, come_back(w, &q, 2, 1));
	struct question *v = of_call(w, &q, &n);
	assert_int_equal(n, 1);
	assert_int_equal(v[0].state, QUESTION_PENDING);
	assert_true(park(w, &q));
}

static void what_only_the_server_reads_is_kept_until_the_call_is_over(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	enum question_state s;

	answered_once(w, &q);
	ok(w, come_back(w, &q, 2, 2));
	assert_text(world_text(w, KEPT), "/,a/state,b/state");
	ok(w, store_question_state(
		      w->s, world_text(w, "SELECT id FROM questions ORDER BY rowid LIMIT 1"),
		      &s, &w->e));
	assert_int_equal(s, QUESTION_ANSWERED);
	assert_int_equal(store_question_state(w->s, S("none"), &s, &w->e), E_NOENT);
	ok(w, reply(w, "ada", ""));
	ok(w, reply(w, "ada", ""));
	struct tx tx = world_begin(w);
	ok(w, store_call_start(&tx, q.t.id, &q.call, &w->e));
	q.call.state = CALL_DONE;
	q.call.result = S("r");
	ok(w, store_call_finish(&tx, q.t.id, &q.call, &w->e));
	world_commit(w, &tx);
	assert_text(world_text(w, KEPT), "/,/,/");
}

static void a_call_that_is_approved_already_waits_for_its_answers_alone(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);

	world_sql(w, "INSERT INTO approvals (id, session_id, turn_id, call_id, channel, "
		     "address, tool, command, hash, state, created_at_ms, expires_at_ms) "
		     "SELECT 'x', session_id, turn_id, id, 'test', '1', 't', 'c', 'h', 'used', "
		     "0, 0 FROM tool_calls");
	ok(w, come_back(w, &q, 1, 1));
	assert_true(park(w, &q));
}

static void what_a_crash_leaves_is_void_or_asked_again(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	int64_t n;

	ok(w, ask(w, &q));
	world_sql(w, "UPDATE turns SET owner = 'dead'");
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	assert_text(world_text(w, STATE), "void");
	assert_text(world_text(w, CALL), "in_doubt");
}

static void a_planned_call_keeps_its_question_over_a_crash(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	int64_t n;

	ok(w, come_back(w, &q, 1, 1));
	world_sql(w, "UPDATE turns SET owner = 'dead'; UPDATE questions SET poster = 'dead'; "
		     "UPDATE outbox SET state = 'done'");
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	assert_text(world_text(w, STATE), "pending");
	assert_text(world_text(w, CALL), "planned");
	struct tx tx = world_begin(w);
	ok(w, store_question_repost(&tx, S("test"), &n, &w->e));
	world_commit(w, &tx);
	assert_int_equal(n, 1);
	assert_int_equal(2, world_i64(w, "SELECT posts FROM questions"));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM outbox WHERE state = 'raw' "
					 "AND question_id <> ''"));
}

static void its_time_ends_and_the_parked_turn_goes_on(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	int64_t n;

	ok(w, come_back(w, &q, 1, 1));
	assert_true(park(w, &q));
	struct tx tx = world_begin(w);
	ok(w, store_question_expire(&tx, clock_now_ms() + HOUR - 1000, &n, &w->e));
	assert_int_equal(n, 0);
	ok(w, store_question_expire(&tx, clock_now_ms() + HOUR + 1000, &n, &w->e));
	assert_int_equal(n, 1);
	world_commit(w, &tx);
	assert_text(world_text(w, STATE), "expired");
	assert_text(world_text(w, TURN), "ready");
}

static void a_stopped_turn_asks_nothing_any_more(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	struct control_effect ef;

	ok(w, come_back(w, &q, 1, 1));
	assert_true(park(w, &q));
	struct tx tx = world_begin(w);
	ok(w, store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &w->a, &ef, &w->e));
	world_commit(w, &tx);
	assert_text(world_text(w, STATE), "cancelled");
	assert_text(world_text(w, "SELECT state FROM outbox"), "dropped");
	assert_int_equal(reply(w, "ada", ""), E_NOENT);
	assert_text(world_text(w, TURN), "ready");
}

static void a_call_asks_so_often_and_no_more(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);

	for (int i = 0; i < QUESTIONS_OF_CALL; i++)
		ok(w, ask(w, &q));
	assert_int_equal(ask(w, &q), E_LIMIT);
}

static void a_question_that_cannot_be_posted_is_over(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	bool over;

	ok(w, ask(w, &q));
	world_sql(w, "UPDATE outbox SET state = 'dead'");
	struct tx tx = world_begin(w);
	ok(w, store_question_posted(&tx, str_of(q.id), 1, clock_now_ms(), &over, &w->e));
	world_commit(w, &tx);
	assert_true(over);
	assert_int_equal(reply(w, "ada", ""), E_NOENT);
}

/* Of two that a call waits for, the end of one is not the other's. */
static void the_end_of_one_question_is_of_no_other(void **state)
{
	struct world *w = *state;
	struct asked q = running(w, false);
	char first[ID_LONG_LEN + 1];

	ok(w, ask(w, &q));
	memcpy(first, q.id, sizeof first);
	ok(w, ask(w, &q));
	struct tx tx = world_begin(w);
	ok(w, store_question_end(&tx, str_of(first), QUESTION_CANCELLED, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM questions WHERE state = 'pending'"),
			 1);
	assert_text(world_text(w, "SELECT id FROM questions WHERE state = 'pending'"), q.id);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_question_posts_itself_and_is_for_whoever_asked),
		T(another_field_is_another_post),
		T(the_end_of_one_question_is_of_no_other),
		T(a_call_that_came_back_is_planned_and_its_turn_parks),
		T(an_answer_that_came_before_parking_keeps_the_turn_running),
		T(only_the_last_round_is_what_a_call_waits_for),
		T(what_only_the_server_reads_is_kept_until_the_call_is_over),
		T(a_call_that_is_approved_already_waits_for_its_answers_alone),
		T(what_a_crash_leaves_is_void_or_asked_again),
		T(a_planned_call_keeps_its_question_over_a_crash),
		T(its_time_ends_and_the_parked_turn_goes_on),
		T(a_stopped_turn_asks_nothing_any_more),
		T(a_call_asks_so_often_and_no_more),
		T(a_question_that_cannot_be_posted_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
