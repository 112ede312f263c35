/* Questions to people: one answer counts, once, in time, for what it was given for; and the
 * turn that asked is parked meanwhile and found again. */
#include "store_world.h"

#include "os/clock.h"
#include "store/approval.h"
#include "store/audit.h"

#include <string.h>

#define HOUR (3600 * 1000)
#define STATE "SELECT state FROM approvals ORDER BY rowid DESC LIMIT 1"
#define TURN "SELECT state FROM turns"
#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

/* A turn with two planned calls. */
struct asked {
	struct turn t;
	struct call calls[2];
	char id[2][ID_LONG_LEN + 1];
};

static int ask(struct world *w, const struct asked *q, int i, char *id)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	struct approval p = {
		.session_id = q->t.session.id,
		.turn_id = q->t.id,
		.call_id = str_of(q->calls[i].id),
		.channel = S("test"),
		.address = S("1"),
		.tool = S("gmail__send"),
		.command = S("{\"to\":\"bob\"}"),
		.hash = S("h"),
		.reason = S("rule \"gmail__*\" asks"),
		.created_at_ms = clock_now_ms(),
		.expires_at_ms = clock_now_ms() + HOUR,
	};
	int rc = store_approval_add(&tx, &p, id, &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static struct asked asked(struct world *w)
{
	struct asked q = { 0 };

	(void)world_add(w, "1", "send it");
	q.t = world_claim(w);
	q.calls[0] = world_call(1, 1, CALL_PLANNED, false);
	q.calls[1] = world_call(1, 2, CALL_PLANNED, false);
	world_step(w, &q.t, 1, q.calls, 2);
	for (int i = 0; i < 2; i++)
		ok(w, ask(w, &q, i, q.id[i]));
	return q;
}

static bool park(struct world *w, const struct asked *q)
{
	struct tx tx = world_begin(w);
	bool parked;

	ok(w, store_turn_park(&tx, q->t.id, &parked, &w->e));
	world_commit(w, &tx);
	return parked;
}

static enum approval_end press(struct world *w, const char *id, bool yes, int64_t at)
{
	struct tx tx = world_begin(w);
	enum approval_end end;
	struct approval p;

	struct approval_press press = { str_of(id), yes, false, S("ada"), at };

	ok(w, store_approval_decide(&tx, &press, &w->a, &p, &end, &w->e));
	world_commit(w, &tx);
	return end;
}

static int use(struct world *w, const struct asked *q, const char *hash, int64_t at)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	int rc = store_approval_use(&tx, str_of(q->id[0]), str_of(hash), at, &q->calls[0],
				    &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static void a_question_is_a_row_that_posts_itself(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct approval p;

	ok(w, store_approval_get(w->s, str_of(q.id[0]), &w->a, &p, &w->e));
	assert_int_equal(p.state, APPROVAL_PENDING);
	assert_text(p.command, "{\"to\":\"bob\"}");
	assert_int_equal(p.posts, 1);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM outbox o JOIN approvals p "
					 "ON p.id = o.approval_id AND o.kind = 'approval' "
					 "AND o.text = p.id AND o.state = 'raw'"));
	ok(w, store_approval_of_call(w->s, q.t.id, str_of(q.calls[1].id), &w->a, &p, &w->e));
	assert_text(p.id, q.id[1]);
}

static void a_parked_turn_is_nobodys_until_an_answer_comes(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_true(park(w, &q));
	assert_text(world_text(w, TURN), "parked");
	assert_true(world_idle(w));
	assert_int_equal(press(w, q.id[0], true, clock_now_ms()), APPROVAL_END_DECIDED);
	assert_text(world_text(w, TURN), "ready");
	struct turn again = world_claim(w);
	assert_text(again.id, q.t.id.p);
	assert_true(again.resumed);
	/* Parking is no failed attempt. */
	assert_true(again.attempts <= 1);
	world_check(w);
}

static void an_answer_that_came_before_parking_keeps_the_turn_running(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_int_equal(press(w, q.id[1], false, clock_now_ms()), APPROVAL_END_DECIDED);
	assert_false(park(w, &q));
	assert_text(world_text(w, TURN), "running");
}

static void it_parks_again_once_the_answered_call_is_over(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct tx tx;

	assert_int_equal(press(w, q.id[0], true, clock_now_ms()), APPROVAL_END_DECIDED);
	ok(w, use(w, &q, "h", clock_now_ms()));
	tx = world_begin(w);
	q.calls[0].state = CALL_DONE;
	q.calls[0].result = S("sent");
	ok(w, store_call_finish(&tx, q.t.id, &q.calls[0], &w->e));
	world_commit(w, &tx);
	assert_true(park(w, &q));
}

static void a_second_press_changes_nothing(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_int_equal(press(w, q.id[1], true, clock_now_ms()), APPROVAL_END_DECIDED);
	assert_int_equal(press(w, q.id[1], false, clock_now_ms()), APPROVAL_END_ALREADY);
	assert_text(world_text(w, STATE), "approved");
	assert_int_equal(press(w, "no such", true, clock_now_ms()), APPROVAL_END_UNKNOWN);
}

static void a_yes_is_used_once_and_starts_its_call(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_int_equal(use(w, &q, "h", clock_now_ms()), E_NOENT); /* not decided */
	assert_int_equal(press(w, q.id[0], true, clock_now_ms()), APPROVAL_END_DECIDED);
	assert_int_equal(use(w, &q, "other", clock_now_ms()), E_NOENT);
	assert_int_equal(use(w, &q, "h", clock_now_ms() + 2 * HOUR), E_NOENT);
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM tool_calls "
					 "WHERE state = 'running'"));
	ok(w, use(w, &q, "h", clock_now_ms()));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM tool_calls "
					 "WHERE state = 'running' AND idx = 1"));
	assert_int_equal(use(w, &q, "h", clock_now_ms()), E_NOENT);
}

static void a_yes_of_one_call_is_no_yes_of_another(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_int_equal(press(w, q.id[0], true, clock_now_ms()), APPROVAL_END_DECIDED);
	q.calls[0] = q.calls[1];
	assert_int_equal(use(w, &q, "h", clock_now_ms()), E_NOENT);
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM tool_calls "
					 "WHERE state = 'running'"));
}

static void a_late_press_does_not_count(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_true(park(w, &q));
	assert_int_equal(press(w, q.id[0], true, clock_now_ms() + 2 * HOUR),
			 APPROVAL_END_EXPIRED);
	assert_text(world_text(w, TURN), "parked");
}

static void the_clock_ends_questions_and_wakes_their_turns(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct tx tx;
	int64_t n;

	assert_true(park(w, &q));
	tx = world_begin(w);
	ok(w, store_approval_expire(&tx, clock_now_ms(), &n, &w->e));
	assert_int_equal(n, 0);
	ok(w, store_approval_expire(&tx, clock_now_ms() + 2 * HOUR, &n, &w->e));
	assert_int_equal(n, 2);
	world_commit(w, &tx);
	assert_text(world_text(w, TURN), "ready");
	assert_text(world_text(w, STATE), "expired");
}

static void stop_ends_a_parked_turn_and_its_questions(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct control_effect ef;
	struct tx tx;

	assert_true(park(w, &q));
	tx = world_begin(w);
	ok(w, store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &w->a, &ef, &w->e));
	world_commit(w, &tx);
	assert_int_equal(press(w, q.id[0], true, clock_now_ms()), APPROVAL_END_EXPIRED);
	/* Nobody is asked any more. */
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM outbox "
					 "WHERE state = 'dropped'"));
	struct turn t = world_claim(w);
	ok(w, world_finish_as(
		      w, &t,
		      (struct turn_finish){ .end = TURN_CANCELED, .history = HISTORY_NONE }));
	world_check(w);
}

static void a_turn_that_is_to_end_asks_nothing_and_does_not_park(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct control_effect ef;
	struct tx tx = world_begin(w);
	char id[ID_LONG_LEN + 1];
	bool parked;

	ok(w, store_control(&tx, CONTROL_NEW, S("test"), S("1"), S(""), &w->a, &ef, &w->e));
	world_commit(w, &tx);
	assert_int_equal(ask(w, &q, 0, id), E_CANCELED);
	tx = world_begin(w);
	assert_int_equal(store_turn_park(&tx, q.t.id, &parked, &w->e), E_CANCELED);
	store_rollback(&tx);
}

static void sent(struct world *w)
{
	world_sql(w, "UPDATE outbox SET state = 'done' WHERE approval_id <> ''");
}

static void repost(struct world *w, int64_t expected)
{
	struct tx tx = world_begin(w);
	int64_t n;

	ok(w, store_approval_repost(&tx, S("test"), &n, &w->e));
	assert_int_equal(n, expected);
	world_commit(w, &tx);
}

static bool posted(struct world *w, const char *id, int64_t now)
{
	struct tx tx = world_begin(w);
	int64_t outbox = world_i64(w, "SELECT id FROM outbox WHERE approval_id <> '' "
				      "ORDER BY id LIMIT 1");
	bool over = false;

	ok(w, store_approval_posted(&tx, str_of(id), outbox, now, &over, &w->e));
	world_commit(w, &tx);
	return over;
}

static void a_question_that_was_refused_everywhere_is_over(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	int64_t now = clock_now_ms(), n = 0;

	assert_true(park(w, &q));
	/* It went out: nothing ends. */
	world_sql(w, "UPDATE outbox SET state = 'done'");
	assert_false(posted(w, q.id[0], now));
	/* It was refused, but stands there from before a restart. */
	world_sql(w, "UPDATE outbox SET state = 'dead'; UPDATE approvals SET message_id = '7'");
	assert_false(posted(w, q.id[0], now));
	world_sql(w, "UPDATE approvals SET message_id = ''");
	assert_true(posted(w, q.id[0], now));
	struct tx tx = world_begin(w);
	ok(w, store_approval_expire(&tx, now + 1, &n, &w->e));
	world_commit(w, &tx);
	assert_int_equal(n, 1); /* the other one may still be answered */
	assert_text(world_text(w, TURN), "ready");
	/* What was answered meanwhile stays so. */
	assert_int_equal(press(w, q.id[1], true, now), APPROVAL_END_DECIDED);
	assert_false(posted(w, q.id[1], now));
}

static void after_a_restart_a_question_is_posted_once_more(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_true(park(w, &q));
	sent(w);
	repost(w, 0);
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM outbox WHERE state = 'raw'"));
	world_reopen(w, STORE_DAEMON);
	repost(w, 2);
	repost(w, 0);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM outbox WHERE state = 'raw'"));
	assert_int_equal(2, world_i64(w, "SELECT posts FROM approvals LIMIT 1"));
	assert_int_equal(press(w, q.id[0], true, clock_now_ms()), APPROVAL_END_DECIDED);
}

static void a_question_that_never_went_out_is_not_posted_twice(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);

	assert_true(park(w, &q));
	world_reopen(w, STORE_DAEMON);
	repost(w, 2);
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM outbox"));
	assert_int_equal(1, world_i64(w, "SELECT max(posts) FROM approvals"));
}

static void always_is_a_grant_for_exactly_this(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct tx tx = world_begin(w);
	enum approval_end end;
	struct approval p;
	enum grant_found found;

	struct approval_press press = { str_of(q.id[0]), true, true, S("ada"), clock_now_ms() };

	ok(w, store_approval_decide(&tx, &press, &w->a, &p, &end, &w->e));
	world_commit(w, &tx);
	assert_text(p.decided_by, "ada");
	ok(w, store_grant_find(w->s, S("gmail__send"), S("h"), 0, &found, &w->e));
	assert_int_equal(found, GRANT_YES);
	ok(w, store_grant_find(w->s, S("gmail__send"), S("h2"), 0, &found, &w->e));
	assert_int_equal(found, GRANT_NONE);
	ok(w, store_grant_find(w->s, S("gmail__list"), S("h"), 0, &found, &w->e));
	assert_int_equal(found, GRANT_NONE);
}

static void a_grant_is_of_the_tool_as_it_was_described(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	str digits = S("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
	str one = arena_cat(&w->a, digits, S("-one")),
	    two = arena_cat(&w->a, digits, S("-two"));
	enum grant_found found;

	world_sql(w, "UPDATE approvals SET hash = "
		     "'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-' "
		     "|| iif(rowid = (SELECT min(rowid) FROM approvals), 'one', 'two')");
	for (int i = 0; i < 2; i++) {
		struct tx tx = world_begin(w);
		struct approval_press press = { str_of(q.id[i]), true, true, S("ada"),
						clock_now_ms() };
		enum approval_end end;
		struct approval p;
		ok(w, store_approval_decide(&tx, &press, &w->a, &p, &end, &w->e));
		world_commit(w, &tx);
		ok(w, store_grant_find(w->s, S("gmail__send"), one, 0, &found, &w->e));
		assert_int_equal(found, i ? GRANT_CHANGED : GRANT_YES);
		ok(w, store_grant_find(w->s, S("gmail__send"), two, 0, &found, &w->e));
		assert_int_equal(found, i ? GRANT_YES : GRANT_CHANGED);
		ok(w, store_grant_find(w->s, S("gmail__send"), digits, 0, &found, &w->e));
		assert_int_equal(found, GRANT_CHANGED);
		ok(w, store_grant_find(w->s, S("gmail__send"), S("0"), 0, &found, &w->e));
		assert_int_equal(found, GRANT_NONE);
	}
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM approval_grants"));
}

static void a_grant_is_listed_grows_old_and_can_be_taken_back(void **state)
{
	struct world *w = *state;
	struct asked q = asked(w);
	struct tx tx = world_begin(w);
	int64_t now = clock_now_ms();
	struct approval_press press = { str_of(q.id[0]), true, true, S("ada"), now };
	enum approval_end end;
	struct approval p;
	struct grant *v;
	enum grant_found found;
	size_t n;

	ok(w, store_approval_decide(&tx, &press, &w->a, &p, &end, &w->e));
	world_commit(w, &tx);
	ok(w, store_grant_find(w->s, p.tool, p.hash, now, &found, &w->e));
	assert_int_equal(found, GRANT_YES);
	ok(w, store_grant_find(w->s, p.tool, p.hash, now + 1, &found, &w->e));
	assert_int_equal(found, GRANT_NONE);
	ok(w, store_grant_list(w->s, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	assert_text(v[0].tool, "gmail__send");
	assert_text(v[0].by, "ada");
	assert_true(str_eq(v[0].command, p.command));
	tx = world_begin(w);
	assert_int_equal(store_grant_remove(&tx, S("x"), &w->e), E_NOENT);
	assert_int_equal(store_grant_remove(&tx, S(""), &w->e), E_NOENT);
	ok(w, store_grant_remove(&tx, S("h"), &w->e));
	world_commit(w, &tx);
	ok(w, store_grant_list(w->s, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 0);
}

static void an_id_that_means_several_grants_takes_none_back(void **state)
{
	struct world *w = *state;

	world_sql(w,
		  "INSERT INTO approval_grants (tool, hash, command, granted_by, "
		  "created_at_ms) VALUES ('t', 'ab1', 'c', 'a', 1), ('t', 'ab2', 'c', 'a', 2)");
	struct tx tx = world_begin(w);
	assert_int_equal(store_grant_remove(&tx, S("ab"), &w->e), E_INVAL);
	ok(w, store_grant_remove(&tx, S("ab2"), &w->e));
	world_commit(w, &tx);
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM approval_grants"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_question_is_a_row_that_posts_itself),
		T(a_parked_turn_is_nobodys_until_an_answer_comes),
		T(an_answer_that_came_before_parking_keeps_the_turn_running),
		T(it_parks_again_once_the_answered_call_is_over),
		T(a_second_press_changes_nothing),
		T(a_yes_is_used_once_and_starts_its_call),
		T(a_yes_of_one_call_is_no_yes_of_another),
		T(a_late_press_does_not_count),
		T(the_clock_ends_questions_and_wakes_their_turns),
		T(stop_ends_a_parked_turn_and_its_questions),
		T(a_turn_that_is_to_end_asks_nothing_and_does_not_park),
		T(a_question_that_was_refused_everywhere_is_over),
		T(after_a_restart_a_question_is_posted_once_more),
		T(a_question_that_never_went_out_is_not_posted_twice),
		T(always_is_a_grant_for_exactly_this),
		T(a_grant_is_of_the_tool_as_it_was_described),
		T(a_grant_is_listed_grows_old_and_can_be_taken_back),
		T(an_id_that_means_several_grants_takes_none_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
