/*
 * What is pruned by age, what stays, and what audit rows hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store_world.h"

#define OLD "(unixepoch() - 11 * 86400) * 1000"

static void retain_all(struct world *w, struct store_cfg keep)
{
	bool more = true;

	while (more)
		ok(w, store_retain(w->s, &keep, &more, NULL, &w->e));
	world_check(w);
}

static void retain(struct world *w, int64_t audit_days, int64_t messages_days)
{
	retain_all(w, (struct store_cfg){ .audit_days = audit_days,
					  .messages_days = messages_days });
}

static int64_t count(struct world *w, const char *table)
{
	return world_i64(w, arena_fmt(&w->a, "SELECT count(*) FROM %s", table).p);
}

static void old_audit_rows_go_and_young_ones_stay(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 3);
	world_turn(w, "1", "b", 2);
	world_sql(w, "UPDATE tool_calls SET created_at_ms = " OLD
		     " WHERE turn_id = (SELECT id FROM turns ORDER BY rowid LIMIT 1)");
	retain(w, 0, 0);
	assert_int_equal(5, count(w, "tool_calls"));
	retain(w, 12, 0);
	assert_int_equal(5, count(w, "tool_calls"));
	retain(w, 10, 0);
	assert_int_equal(2, count(w, "tool_calls"));
	assert_int_equal(11, count(w, "turn_messages"));
}

static void nothing_of_an_unfinished_turn_goes(void **state)
{
	struct world *w = *state;
	struct call c[] = { world_call(1, 1, CALL_RUNNING, true) };

	(void)world_add(w, "1", "a");
	struct turn t = world_claim(w);
	world_step(w, &t, 1, c, 1);
	world_sql(
		w,
		"UPDATE tool_calls SET created_at_ms = 5; UPDATE turns SET started_at_ms = 5");
	retain(w, 1, 1);
	assert_int_equal(1, count(w, "tool_calls"));
	assert_int_equal(1, count(w, "turns"));
}

static void more_than_a_batch_goes_at_once(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 1);
	world_sql(
		w,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
		"INSERT INTO tool_calls (id, session_id, turn_id, round, idx, seq, "
		"provider_id, requested, name, args, safe, state, created_at_ms) SELECT "
		"'x' || i, 's', 'gone', 1, i, 1, 'p', 'r', 'n', '{}', 1, 'done', i FROM n");
	retain(w, 1, 0);
	assert_int_equal(1, count(w, "tool_calls"));
}

static void old_turns_go_with_their_messages_and_are_not_counted(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 1);
	world_turn(w, "1", "b", 1);
	world_turn(w, "2", "c", 1);
	world_sql(w, "UPDATE turns SET finished_at_ms = " OLD
		     " WHERE id = (SELECT id FROM turns ORDER BY rowid LIMIT 1)");
	world_sql(w, "INSERT INTO outbox (channel, address, kind, text, state, created_at_ms, "
		     "finished_at_ms) VALUES ('t', '1', 'reply', 'x', 'done', 1, " OLD
		     "), ('t', '1', 'reply', 'y', 'raw', 1, NULL), "
		     "('t', '1', 'reply', 'z', 'dead', 1, unixepoch() * 1000)");
	int64_t messages = world_i64(w, "SELECT messages_n FROM sessions WHERE address = '1'");
	retain(w, 0, 12);
	assert_int_equal(3, count(w, "turns"));
	retain(w, 0, 10);
	assert_int_equal(2, count(w, "turns"));
	assert_int_equal(2, count(w, "inbox"));
	assert_int_equal(2, count(w, "outbox"));
	assert_int_equal(3, count(w, "tool_calls")); /* the audit has a time of its own */
	assert_int_equal(messages / 2,
			 world_i64(w, "SELECT messages_n FROM sessions WHERE address = '1'"));
	assert_int_equal(messages / 2, world_i64(w, "SELECT count(*) FROM turn_messages m JOIN "
						    "sessions s ON s.id = m.session_id WHERE "
						    "s.address = '1'"));
	world_turn(w, "1", "d", 1); /* numbers go on */
	world_check(w);
}

static void only_conversations_that_ended_are_pruned_by_their_own_time(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 1);
	world_turn(w, "2", "b", 1);
	world_sql(w, "UPDATE turns SET finished_at_ms = " OLD);
	retain_all(w, (struct store_cfg){ .ended_days = 10 });
	assert_int_equal(2, count(w, "turns"));
	world_sql(w, "UPDATE sessions SET epoch = 2, messages_n = 0 WHERE address = '1'");
	retain_all(w, (struct store_cfg){ .ended_days = 12 });
	assert_int_equal(2, count(w, "turns"));
	retain_all(w, (struct store_cfg){ .ended_days = 10 });
	assert_int_equal(1, count(w, "turns"));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM turns t JOIN sessions s ON s.id "
					 "= t.session_id WHERE s.address = '2'"));
}

static void a_conversation_with_an_unfinished_turn_stays_as_it_is(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 1);
	(void)world_add(w, "1", "b");
	struct turn t = world_claim(w);
	world_sql(w, "UPDATE turns SET finished_at_ms = " OLD " WHERE state = 'done'");
	retain(w, 0, 10);
	assert_int_equal(2, count(w, "turns"));
	world_finish(w, &t);
	retain(w, 0, 10);
	assert_int_equal(1, count(w, "turns"));
}

static void files_go_from_finished_turns_only(void **state)
{
	struct world *w = *state;

	world_turn(w, "1", "a", 1);
	(void)world_add(w, "2", "b");
	(void)world_claim(w);
	(void)world_add(w, "3", "c");
	world_sql(w, "INSERT INTO attachments (inbox_id, kind, file, bytes, created_at_ms) "
		     "SELECT id, 'photo', 'f' || id, 3, " OLD " FROM inbox");
	retain_all(w, (struct store_cfg){ .files_days = 12 });
	assert_int_equal(3, count(w, "attachments"));
	retain_all(w, (struct store_cfg){ .files_days = 10 });
	assert_int_equal(2, count(w, "attachments"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM attachments f JOIN inbox i ON "
					 "i.id = f.inbox_id WHERE i.state = 'done'"));
}

static void usage_and_what_was_delivered_have_times_of_their_own(void **state)
{
	struct world *w = *state;

	world_sql(w, "INSERT INTO usage (minute_at_ms, turns) VALUES (" OLD
		     ", 1), (unixepoch() * 1000, 1); "
		     "INSERT INTO outbox (channel, address, kind, text, state, created_at_ms, "
		     "finished_at_ms) VALUES ('t', '1', 'reply', 'x', 'done', 1, " OLD
		     "), ('t', '1', 'reply', 'y', 'raw', 1, NULL)");
	retain_all(w, (struct store_cfg){ 0 });
	world_sql(w, "INSERT INTO usage_own SELECT minute_at_ms, 'u|m', 1, 0, 1, 1, 0, 0 FROM "
		     "usage");
	assert_int_equal(2, count(w, "usage"));
	assert_int_equal(2, count(w, "outbox"));
	retain_all(w, (struct store_cfg){ .usage_days = 10 });
	assert_int_equal(1, count(w, "usage"));
	assert_int_equal(1, count(w, "usage_own"));
	assert_int_equal(2, count(w, "outbox"));
	retain_all(w, (struct store_cfg){ .outbox_days = 12, .messages_days = 10 });
	assert_int_equal(2, count(w, "outbox"));
	retain_all(w, (struct store_cfg){ .outbox_days = 10 });
	assert_int_equal(1, count(w, "outbox"));
}

static void much_goes_in_several_goes(void **state)
{
	struct store_cfg keep = { .usage_days = 1 };
	struct world *w = *state;
	bool more = false;
	int goes = 1;

	world_sql(w, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
		     "9000) INSERT INTO usage (minute_at_ms) SELECT i FROM n");
	for (;; goes++) {
		ok(w, store_retain(w->s, &keep, &more, NULL, &w->e));
		if (!more)
			break;
	}
	assert_int_equal(3, goes);
	assert_int_equal(0, count(w, "usage"));
}

static void an_audit_row_holds_no_secret_once_its_call_is_over(void **state)
{
	static const str secrets[] = { { "plain-value-of-ours", 19 } };
	struct world *w = *state;
	struct call c[] = { world_call(1, 1, CALL_RUNNING, true),
			    world_call(1, 2, CALL_DENIED, true),
			    world_call(1, 3, CALL_PLANNED, false) };

	store_secrets(w->s, secrets, 1);
	for (size_t i = 0; i < COUNT(c); i++)
		c[i].args = S("{\"command\":\"TOKEN=\\\"abc\\\" x plain-value-of-ours\"}");
	c[1].result = S("no");
	(void)world_add(w, "1", "a");
	struct turn t = world_claim(w);
	world_step(w, &t, 1, c, COUNT(c));
	/* What may have to run from its row is whole. */
	assert_int_equal(2, world_i64(w, "SELECT count(*) FROM tool_calls WHERE args LIKE "
					 "'%abc%plain-value-of-ours%'"));
	struct tx tx = world_begin(w);
	c[0].state = CALL_DONE;
	c[0].result = S("yes");
	c[0].args = S("");
	ok(w, store_call_finish(&tx, t.id, &c[0], &w->e));
	world_commit(w, &tx);
	world_finish_as(w, &t, (struct turn_finish){ .end = TURN_CANCELED });
	assert_int_equal(3, world_i64(w, "SELECT count(*) FROM tool_calls WHERE args = "
					 "'{\"command\":\"TOKEN=\\\"[REDACTED]\\\" x "
					 "[REDACTED]\"}'"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(old_audit_rows_go_and_young_ones_stay),
		T(nothing_of_an_unfinished_turn_goes),
		T(more_than_a_batch_goes_at_once),
		T(old_turns_go_with_their_messages_and_are_not_counted),
		T(only_conversations_that_ended_are_pruned_by_their_own_time),
		T(a_conversation_with_an_unfinished_turn_stays_as_it_is),
		T(files_go_from_finished_turns_only),
		T(usage_and_what_was_delivered_have_times_of_their_own),
		T(much_goes_in_several_goes),
		T(an_audit_row_holds_no_secret_once_its_call_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
