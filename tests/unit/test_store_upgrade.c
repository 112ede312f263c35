/*
 * Databases of every earlier schema, made from the migrations themselves: opening brings them to
 * what a new one is, and what was in them is there; a step that fails leaves them as they were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "store/schema.h"
#include "store_world.h"

/* What there may be in a database, from the schema on that has its table. */
static const struct sample {
	int64_t since;
	const char *put, *look; /* look: a number that is 1 when it is there */
} samples[] = {
	{ 1,
	  "INSERT INTO sessions (id, channel, address, summary, next_seq, messages_n, "
	  "created_at_ms, updated_at_ms) VALUES ('s', 'test', '1:2', 'so far', 3, 2, 5, 6)",
	  "SELECT count(*) FROM sessions WHERE id = 's' AND summary = 'so far' AND thread_id = "
	  "'2' AND folded_seq = 0" },
	{ 1,
	  "INSERT INTO turns (id, session_id, state, epoch, history, first_seq, prompt_n, "
	  "started_at_ms, updated_at_ms, finished_at_ms) VALUES ('t', 's', 'done', 1, 'full', "
	  "1, "
	  "2, 5, 6, 6)",
	  "SELECT count(*) FROM turns WHERE id = 't' AND state = 'done'" },
	{ 1,
	  "INSERT INTO turn_messages (session_id, turn_id, seq, round, idx, role, wire, "
	  "content, "
	  "created_at_ms) VALUES ('s', 't', 1, 0, 0, 'user', '{\"role\":\"user\",\"content\":"
	  "\"hello\"}', 'hello', 5), ('s', 't', 2, 1, 0, 'assistant', '{\"role\":\"assistant\","
	  "\"content\":\"hi\"}', 'hi', 6)",
	  "SELECT count(*) = 2 FROM messages WHERE session_id = 's'" },
	{ 1,
	  "INSERT INTO inbox (session_id, turn_id, channel, address, kind, text, state, "
	  "created_at_ms) VALUES ('s', 't', 'test', '1:2', 'message', 'hello', 'done', 5), "
	  "('s', NULL, 'test', '1:2', 'message', 'waiting', 'ready', 7)",
	  "SELECT count(*) FROM inbox WHERE state = 'ready' AND fetch = ''" },
	{ 1,
	  "INSERT INTO tool_calls (id, session_id, turn_id, round, idx, seq, provider_id, "
	  "requested, name, args, safe, state, created_at_ms) VALUES ('c', 's', '', 0, 1, 0, "
	  "'p', 'exec', 'exec', '{\"command\":\"ls\"}', 1, 'done', 5)",
	  "SELECT count(*) FROM exec_audit WHERE command = 'ls'" },
	{ 1,
	  "INSERT INTO outbox (session_id, channel, address, kind, text, state, created_at_ms) "
	  "VALUES ('s', 'test', '1:2', 'reply', 'hi', 'done', 6)",
	  "SELECT count(*) FROM outbox WHERE text = 'hi'" },
	{ 1, "INSERT INTO heartbeats (part, beat_at_ms) VALUES ('daemon', 9)",
	  "SELECT count(*) FROM heartbeats WHERE beat_at_ms = 9 AND trouble = ''" },
	{ 2,
	  "INSERT INTO system_rows (what, key, ready_at_ms, created_at_ms) VALUES ('fold', "
	  "'s', "
	  "5, 5)",
	  "SELECT count(*) FROM system_rows WHERE key = 's'" },
	{ 6,
	  "INSERT INTO jobs (source, channel, address, prompt, kind, expr, zone, next_at_ms, "
	  "created_at_ms, updated_at_ms) VALUES ('chat', 'test', '1:2', 'water', 'daily', "
	  "'17:00', 'UTC', 99, 5, 5)",
	  "SELECT count(*) FROM cron_job WHERE prompt = 'water'" },
	{ 7,
	  "INSERT INTO memory (kind, subject, content, source, created_at, updated_at) VALUES "
	  "('fact', 'door', 'the zephyr door', 'chat', '2026-01-01T00:00:00.000Z', "
	  "'2026-01-01T00:00:00.000Z')",
	  "SELECT count(*) FROM memory_fts WHERE memory_fts MATCH 'zephyr'" },
};

/* As the release that knew this schema made it. */
static void build(struct world *w, int64_t version)
{
	size_t n;
	const struct migration *m = schema_migrations(&n);
	struct buf b = buf_in(&w->a, 1 << 20);

	(void)unlink(w->cfg.dsn.p);
	(void)unlink(arena_cat(&w->a, w->cfg.dsn, S("-wal")).p);
	(void)unlink(arena_cat(&w->a, w->cfg.dsn, S("-shm")).p);
	buf_add(&b, S("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; BEGIN;"));
	for (size_t i = 0; i < n && m[i].version <= version; i++) {
		buf_add(&b, str_of(m[i].sql));
		buf_fmt(&b, ";INSERT INTO schema_migrations VALUES (%lld, '%s', 1);",
			(long long)m[i].version, m[i].name);
	}
	for (size_t i = 0; i < COUNT(samples); i++)
		if (samples[i].since <= version)
			buf_fmt(&b, "%s;", samples[i].put);
	buf_fmt(&b, "COMMIT; PRAGMA user_version = %lld; PRAGMA application_id = %d",
		(long long)version, SCHEMA_APPLICATION_ID);
	world_sql(w, buf_str(&b).p);
}

static str schema_of(struct world *w)
{
	return world_text(w, "SELECT group_concat(type || ' ' || name || ' ' || "
			     "coalesce(sql, ''), char(10)) FROM (SELECT * FROM sqlite_schema "
			     "ORDER BY type, name)");
}

static void every_earlier_schema_becomes_what_a_new_one_is(void **state)
{
	struct world *w = *state;

	world_reopen(w, STORE_DAEMON);
	str fresh = schema_of(w);
	for (int64_t v = 1; v < schema_version(); v++) {
		store_close(w->s);
		w->s = NULL;
		build(w, v);
		/* Reading never changes a file, and says what to do. */
		assert_int_equal(E_INVAL, store_open(&w->s, &w->cfg, STORE_READ, NULL, &w->e));
		assert_true(str_has(str_of(w->e.msg), S("older gantry")));
		assert_int_equal(v, world_i64(w, "PRAGMA user_version"));
		w->s = world_open(w, STORE_DAEMON);
		if (!str_eq(fresh, schema_of(w)))
			fail_msg("from schema %lld:\n%.*s", (long long)v, STRF(schema_of(w)));
		assert_int_equal(schema_version(), world_i64(w, "PRAGMA user_version"));
		assert_int_equal(schema_version(),
				 world_i64(w, "SELECT count(*) FROM schema_migrations"));
		for (size_t i = 0; i < COUNT(samples); i++)
			if (samples[i].since <= v && world_i64(w, samples[i].look) != 1)
				fail_msg("from schema %lld: %s", (long long)v, samples[i].look);
	}
}

static void what_waited_in_an_earlier_schema_is_answered(void **state)
{
	struct world *w = *state;

	for (int64_t v = 1; v < schema_version(); v++) {
		store_close(w->s);
		w->s = NULL;
		build(w, v);
		w->s = world_open(w, STORE_DAEMON);
		struct turn t = world_claim(w);
		assert_true(str_eq(t.rows[0].text, S("waiting")));
		assert_true(str_eq(t.session.summary, S("so far")));
		world_finish(w, &t);
		world_check(w);
	}
}

/* The last migration meets a table that is in its way. */
static void an_upgrade_that_fails_changes_nothing(void **state)
{
	struct world *w = *state;
	struct store *s = NULL;

	store_close(w->s);
	w->s = NULL;
	build(w, 1);
	world_sql(w, "CREATE TABLE consolidated (x)");
	str before = schema_of(w);
	assert_int_not_equal(OK, store_open(&s, &w->cfg, STORE_DAEMON, NULL, &w->e));
	assert_true(str_has(str_of(w->e.msg), S("migration")));
	assert_int_equal(1, world_i64(w, "PRAGMA user_version"));
	assert_true(str_eq(before, schema_of(w)));
	world_sql(w, "DROP TABLE consolidated");
	w->s = world_open(w, STORE_DAEMON);
}

/* A database that a later gantry brought up is refused by this one, whoever opens it. */
static void a_downgrade_is_refused(void **state)
{
	static const enum store_mode modes[] = { STORE_DAEMON, STORE_CLI, STORE_READ };
	struct world *w = *state;
	struct store *s = NULL;

	store_close(w->s);
	w->s = NULL;
	world_sql(w, arena_fmt(&w->a, "CREATE TABLE tomorrow (x); PRAGMA user_version = %lld",
			       (long long)schema_version() + 1)
			     .p);
	str before = schema_of(w);
	for (size_t i = 0; i < COUNT(modes); i++) {
		assert_int_equal(E_INVAL, store_open(&s, &w->cfg, modes[i], NULL, &w->e));
		assert_true(str_has(str_of(w->e.msg), S("newer gantry")));
	}
	assert_true(str_eq(before, schema_of(w)));
	assert_int_equal(schema_version() + 1, world_i64(w, "PRAGMA user_version"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(every_earlier_schema_becomes_what_a_new_one_is),
		T(what_waited_in_an_earlier_schema_is_answered),
		T(an_upgrade_that_fails_changes_nothing),
		T(a_downgrade_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
