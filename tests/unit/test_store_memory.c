/*
 * What is remembered: rows, finding them, forgetting them everywhere, and the indexes under
 * whatever a foreign shell does.
 */
#include "store_world.h"

#include "base/buf.h"
#include "store/memory_forget.h"
#include "store/model_call.h"

#include <string.h>

static int64_t add_as(struct world *w, const char *kind, const char *subject,
		      const char *content, const char *source)
{
	struct memory m = { .kind = str_of(kind),
			    .subject = str_of(subject),
			    .content = str_of(content),
			    .source = str_of(source) };
	struct tx tx = world_begin(w);
	int64_t id = 0;
	bool known;

	ok(w, store_memory_add(&tx, &m, &id, &known, &w->e));
	world_commit(w, &tx);
	return id;
}

static int64_t add(struct world *w, const char *subject, const char *content)
{
	return add_as(w, "fact", subject, content, "chat");
}

/* The ids that a query finds, best first: " 3 1 ". */
static const char *found(struct world *w, str query)
{
	struct buf b = buf_in(&w->a, 1 << 16);
	struct memory *v;
	size_t n;

	ok(w, store_memory_search(w->s, query, 30, &w->a, &v, &n, &w->e));
	buf_addc(&b, ' ');
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%lld ", (long long)v[i].id);
	return buf_str(&b).p;
}

static size_t forget(struct world *w, int64_t id, str session)
{
	struct tx tx = world_begin(w);
	struct memory *gone;
	size_t n = 0;

	ok(w, store_memory_forget(&tx, &id, 1, session, &w->a, &gone, &n, &w->e));
	world_commit(w, &tx);
	return n;
}

/* --- adding --------------------------------------------------------------------------- */

static void a_statement_is_stored_once_and_kinds_decide_how_long(void **state)
{
	struct world *w = *state;
	struct memory m = { .kind = S(" Episode "),
			    .subject = S("  trip "),
			    .content = S("went\n to  Rome"),
			    .source = S("chat") };
	struct tx tx = world_begin(w);
	int64_t id, again;
	bool known;

	ok(w, store_memory_add(&tx, &m, &id, &known, &w->e));
	assert_false(known);
	m.content = S("Went to ROME.");
	/* Also before the commit. */
	ok(w, store_memory_add(&tx, &m, &again, &known, &w->e));
	assert_true(known);
	assert_int_equal(again, id);
	m.kind = S("fact");
	ok(w, store_memory_add(&tx, &m, &again, &known, &w->e));
	assert_false(known); /* another kind is another statement */
	world_commit(w, &tx);
	assert_string_equal(
		world_text(w, "SELECT kind || '|' || subject || '|' || content || '|' || "
			      "source || '|' || confidence FROM memory WHERE id = 1")
			.p,
		"episode|trip|went to Rome|chat|1.0");
	assert_int_equal(world_i64(w,
				   "SELECT unixepoch(expires_at) - unixepoch(updated_at) FROM "
				   "memory WHERE id = 1"),
			 30 * 86400);
	assert_int_equal(
		world_i64(w, "SELECT count(*) FROM memory WHERE length(created_at) = 24 AND "
			     "created_at LIKE '____-__-__T__:__:__.___Z'"),
		2);
	assert_int_equal(world_i64(w, "SELECT expires_at IS NULL FROM memory WHERE id = 2"), 1);
}

static void what_cannot_be_kept_is_said_and_harms_nothing(void **state)
{
	static const struct {
		const char *kind, *subject, *content, *says;
	} rows[] = {
		{ "", "a", "b", "kind must be" },
		{ "note", "a", "b", "kind must be" },
		{ "fact", " \n", "b", "subject is empty" },
		{ "fact", "a", "", "content is empty" },
		{ "fact", "201", "b", "subject is longer than 200" },
		{ "fact", "a", "2001", "content is longer than 2000" },
	};
	struct world *w = *state;
	struct tx tx = world_begin(w);
	char *long_text = memset(arena_alloc(&w->a, 1, 3000), 'x', 2001);

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct memory m = { .kind = str_of(rows[i].kind), .source = S("chat") };
		int64_t id, n;
		bool known, big = str_i64(str_of(rows[i].subject), &n);
		m.subject = big ? (str){ long_text, (size_t)n } : str_of(rows[i].subject);
		big = str_i64(str_of(rows[i].content), &n);
		m.content = big ? (str){ long_text, (size_t)n } : str_of(rows[i].content);
		assert_int_equal(store_memory_add(&tx, &m, &id, &known, &w->e), E_INVAL);
		assert_non_null(strstr(w->e.msg, rows[i].says));
	}
	/* The transaction goes on. */
	struct memory m = { .kind = S("fact"), .subject = S("a"), .content = S("b\xff") };
	int64_t id;
	bool known;
	ok(w, store_memory_add(&tx, &m, &id, &known, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory"), 1);
}

/* --- finding -------------------------------------------------------------------------- */

static void any_text_is_a_query(void **state)
{
	struct world *w = *state;
	struct buf big = buf_in(&w->a, 1 << 20);
	const struct {
		str query;
		const char *ids;
	} rows[] = {
		{ S("POL-358"), " 1 " },
		{ S("TO"
		    "DO: fix"),
		  " 2 " },
		{ S("don't"), " 3 " },
		{ S("\"unbalanced"), " " },
		{ S("a AND"), " " },
		{ S("NEAR("), " " },
		{ S("*"), " " },
		{ S("foo^"), " " },
		{ S("("), " " },
		{ S("\xf0\x9f\x99\x82"), " " },
		{ S(""), " " },
		{ S("subject:ticket"), " 1 " }, /* two words, no column */
		{ S("-agents"), " 3 " },
		{ S("agents\0ticket"), " 3 1 " },
		{ S("\xff\xfe agents"), " 3 " },
		{ S("' OR 1=1 --"), " " },
		/* A mark of N'Ko, which SQLite takes for the end of a word. */
		{ S("agents\xdf\xb1x"), " 3 " },
	};

	(void)add(w, "work", "ticket POL-358 is open");
	(void)add(w, "work",
		  "TO"
		  "DO: fix the error:timeout");
	(void)add(w, "work", "don't use agents");
	for (size_t i = 0; i < COUNT(rows); i++)
		if (strcmp(found(w, rows[i].query), rows[i].ids) != 0)
			fail_msg("%.*s: %s", STRF(rows[i].query), found(w, rows[i].query));
	for (int i = 0; i < 50000; i++)
		buf_add(&big, S("x "));
	assert_string_equal(found(w, buf_str(&big)), " ");
}

static void sentences_find_rows_by_their_rare_words(void **state)
{
	struct world *w = *state;

	(void)add(w, "mom", "prefers calls over texts"); /* 1 */
	(void)add(w, "dad", "calls every Sunday"); /* 2 */
	(void)add(w, "chris", "coaching tone, no fluff"); /* 3 */
	for (int i = 0; i < 30; i++)
		(void)add(w, "chris", arena_fmt(&w->a, "likes thing number %d", i).p);
	assert_string_equal(found(w, S("does mom prefer texts?")), " 1 ");
	assert_true(str_starts(str_of(found(w, S("hello chris, what tone?"))), S(" 3 ")));
	assert_string_equal(found(w, S("When did dad call?")), " 2 1 ");
	/* In scripts without blanks too, and single characters. */
	(void)add(w, "\xe7\x8c\xab",
		  "\xe3\x83\x9f\xe3\x82\xb1\xe3\x81\xaf\xe4\xb8\x89\xe6\xad\xb3");
	int64_t id = world_i64(w, "SELECT max(id) FROM memory");
	const char *want = arena_fmt(&w->a, " %lld ", (long long)id).p;
	assert_string_equal(found(w, S("\xe7\x8c\xab")), want);
	assert_string_equal(found(w, S("\xe3\x83\x9f\xe3\x82\xb1\xe3\x81\xae\xe5\xb9\xb4")),
			    want);
}

static void what_expired_or_was_superseded_is_not_found(void **state)
{
	struct world *w = *state;
	int64_t old = add(w, "mom", "lives in Bonn"), new = add(w, "mom", "lives in Köln");
	struct memory *v;
	size_t n;

	(void)add_as(w, "episode", "mom", "visited Köln", "chat");
	ok(w, store_memory_get(w->s, &old, 1, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	struct tx tx = world_begin(w);
	ok(w, store_memory_supersede(&tx, v, new, &w->e));
	/* Only what was read, only once, only by what is there. */
	assert_int_equal(store_memory_supersede(&tx, v, new, &w->e), E_NOENT);
	world_commit(w, &tx);
	assert_string_equal(found(w, S("Bonn")), " ");
	assert_string_equal(found(w, S("koln")),
			    " 2 3 "); /* what happened says a little less */
	world_sql(w, "UPDATE memory SET expires_at = '2020-01-01T00:00:00+02:00' WHERE id = 3");
	assert_string_equal(found(w, S("koln")), " 2 ");
	/* What no one can read as a time does not expire. */
	world_sql(w, "UPDATE memory SET expires_at = 'some day' WHERE id = 3");
	assert_string_equal(found(w, S("visited")), " 3 ");
	ok(w, store_memory_get(w->s, &new, 1, &w->a, &v, &n, &w->e));
	world_sql(w, "UPDATE memory SET content = 'lives in Essen' WHERE id = 2");
	tx = world_begin(w);
	assert_int_equal(store_memory_supersede(&tx, v, 3, &w->e), E_NOENT);
	v->content = S("lives in Essen");
	assert_int_equal(store_memory_supersede(&tx, v, 99, &w->e), E_NOENT);
	assert_int_equal(store_memory_supersede(&tx, v, 2, &w->e), E_NOENT);
	assert_int_equal(store_memory_supersede(&tx, v, 1, &w->e), E_NOENT);
	store_rollback(&tx);
	/* Kept, not deleted. */
	struct memory_filter all = { .inactive = true, .oldest_first = true };
	ok(w, store_memory_list(w->s, &all, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 3);
	assert_int_equal(v[0].superseded_by, 2);
	assert_false(v[0].active);
}

static void lists_are_by_kind_and_place(void **state)
{
	struct world *w = *state;
	struct memory *v;
	size_t n;

	(void)add_as(w, "preference", "a", "one", "chat");
	(void)add_as(w, "episode", "b", "two", "chat");
	(void)add_as(w, "person", "c", "three", "chat");
	world_sql(w, "INSERT INTO memory (kind, subject, content, source, created_at, "
		     "updated_at) VALUES ('odd', 'd', 'four', 'me', '2001', '2001')");
	const struct {
		struct memory_filter f;
		const char *ids;
	} rows[] = {
		{ { .oldest_first = true }, "1234" },
		{ { .kinds = MEMORY_DURABLE, .oldest_first = true }, "13" },
		{ { .kinds = MEMORY_EPISODE }, "2" },
		{ { .after_id = 1, .oldest_first = true, .limit = 2 }, "23" },
		{ { .limit = 1, .kinds = MEMORY_DURABLE }, "3" },
	};
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct buf b = buf_in(&w->a, 100);
		ok(w, store_memory_list(w->s, &rows[i].f, &w->a, &v, &n, &w->e));
		for (size_t k = 0; k < n; k++)
			buf_fmt(&b, "%lld", (long long)v[k].id);
		assert_string_equal(buf_str(&b).p, rows[i].ids);
	}
}

/* --- the indexes ---------------------------------------------------------------------- */

static void sound(struct world *w, bool stale)
{
	struct memory_health h;

	ok(w, store_memory_check(w->s, NULL, &h, &w->e));
	assert_int_equal(h.stale, stale);
	world_sql(w, "INSERT INTO memory_fts (memory_fts, rank) VALUES ('integrity-check', 1)");
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory_pending"), 0);
}

static void the_indexes_follow_whoever_writes(void **state)
{
	struct world *w = *state;

	world_sql(w, "INSERT INTO memory (kind, subject, content, source, created_at, "
		     "updated_at) VALUES ('fact', 's', 'alpha beta \xe7\x8c\xab', 'operator', "
		     "'2026', "
		     "'2026')");
	assert_string_equal(found(w, S("alpha")), " 1 ");
	/* The second index does not have it yet: such rows are looked at one by one. */
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory_pending"), 1);
	assert_string_equal(found(w, S("\xe7\x8c\xab")), " 1 ");
	world_sql(w, "UPDATE memory SET content = 'gamma' WHERE id = 1");
	assert_string_equal(found(w, S("alpha")), " ");
	assert_string_equal(found(w, S("\xe7\x8c\xab")), " ");
	assert_string_equal(found(w, S("gamma")), " 1 ");
	world_sql(w, "UPDATE memory SET id = 7 WHERE id = 1");
	assert_string_equal(found(w, S("gamma")), " 7 ");
	sound(w, false);
	/* Replacing, where triggers see it, and where they do not. */
	world_sql(w, "PRAGMA recursive_triggers = ON; INSERT OR REPLACE INTO memory VALUES (7, "
		     "'fact', 's', 'delta', 'operator', 1.0, '2026', '2026', NULL, NULL)");
	assert_string_equal(found(w, S("gamma")), " ");
	sound(w, false);
	world_sql(w,
		  "PRAGMA recursive_triggers = OFF; INSERT OR REPLACE INTO memory VALUES (7, "
		  "'fact', 's', '\xe7\x8a\xac epsilon', 'operator', 1.0, '2026', '2026', NULL, "
		  "NULL)");
	assert_string_equal(found(w, S("delta")), " "); /* stale, but what is read decides */
	sound(w, true);
	assert_string_equal(found(w, S("epsilon")), " 7 ");
	assert_string_equal(found(w, S("\xe7\x8a\xac")), " 7 ");
	world_sql(w, "DELETE FROM memory WHERE id = 7");
	assert_string_equal(found(w, S("epsilon")), " ");
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory_grams"), 0);
	sound(w, false);
	/* An id is not used twice. */
	assert_int_equal(add(w, "a", "b"), 8);
}

static void every_change_counts_and_additions_by_a_chat_are_told_apart(void **state)
{
	struct world *w = *state;
	int64_t rev[8], added[8];

	ok(w, store_memory_rev(w->s, &rev[0], &added[0], &w->e));
	int64_t id = add(w, "a", "b");
	ok(w, store_memory_rev(w->s, &rev[1], &added[1], &w->e));
	(void)add(w, "a", "b");
	ok(w, store_memory_rev(w->s, &rev[2], &added[2], &w->e));
	(void)add_as(w, "fact", "c", "d", "operator");
	ok(w, store_memory_rev(w->s, &rev[3], &added[3], &w->e));
	world_sql(w, "UPDATE memory SET confidence = 0.5 WHERE id = 1");
	ok(w, store_memory_rev(w->s, &rev[4], &added[4], &w->e));
	(void)forget(w, id, S(""));
	ok(w, store_memory_rev(w->s, &rev[5], &added[5], &w->e));
	for (int i = 1; i < 6; i++) {
		assert_true(rev[i] > rev[i - 1]);
		bool same = rev[i] - added[i] == rev[i - 1] - added[i - 1];
		assert_int_equal(same, i < 3);
	}
}

static void what_expired_long_ago_is_deleted_at_last(void **state)
{
	struct world *w = *state;
	struct memory_health h;

	(void)add_as(w, "episode", "trip", "went to Rome", "chat");
	(void)add_as(w, "episode", "trip", "went to Bonn", "chat");
	(void)add_as(w, "fact", "trip", "Rome is far", "chat");
	world_sql(w, "UPDATE memory SET expires_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', "
		     "iif(id = 1, '-31 days', '-29 days')) WHERE id < 3");
	ok(w, store_memory_check(w->s, NULL, &h, &w->e));
	assert_int_equal(h.purged, 1);
	assert_int_equal(h.rows, 2);
	assert_int_equal(h.active, 1);
	assert_int_equal(world_i64(w, "SELECT min(id) FROM memory"), 2);
}

static void much_that_expired_long_ago_is_deleted_in_batches(void **state)
{
	struct world *w = *state;
	int64_t n = 0;

	world_sql(w, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
		     "WHERE i < 1203) INSERT INTO memory (kind, subject, content, source, "
		     "created_at, updated_at, expires_at) SELECT 'episode', 'e', 'row ' || i, "
		     "'chat', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', "
		     "iif(i < 1203, '2020-02-01T00:00:00Z', NULL) FROM n");
	ok(w, store_memory_purge(w->s, NULL, &n, &w->e));
	assert_int_equal(n, 1202);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory"), 1);
	ok(w, store_memory_purge(w->s, NULL, &n, &w->e));
	assert_int_equal(n, 0);
}

/* --- forgetting ----------------------------------------------------------------------- */

static int64_t holding(struct world *w, const char *word)
{
	return world_i64(
		w,
		arena_fmt(
			&w->a,
			"SELECT (SELECT count(*) FROM memory WHERE content LIKE '%%%s%%') + "
			"(SELECT count(*) FROM memory_fts WHERE memory_fts MATCH '%s') + "
			"(SELECT count(*) FROM turn_messages WHERE role <> 'user' AND (wire "
			"|| content LIKE '%%%s%%')) + "
			"(SELECT count(*) FROM turn_messages WHERE context LIKE '%%%s%%') + "
			"(SELECT count(*) FROM tool_calls WHERE args LIKE '%%%s%%') + "
			"(SELECT count(*) FROM sessions WHERE summary LIKE '%%%s%%') + "
			"(SELECT count(*) FROM memory_snapshots WHERE content LIKE '%%%s%%') + "
			"(SELECT count(*) FROM request_parts WHERE content LIKE '%%%s%%')",
			word, word, word, word, word, word, word, word)
			.p);
}

/* A turn in which the row was stored, recalled, shown and recorded. */
static str everywhere(struct world *w, int64_t id, int64_t other)
{
	(void)world_add(w, "1", "remember it");
	struct turn t = world_claim(w);
	struct call calls[2] = { world_call(1, 1, CALL_DONE, true),
				 world_call(1, 2, CALL_DONE, true) };
	calls[0].requested = calls[0].name = S("memory_store");
	calls[0].args = S("{\"kind\":\"fact\",\"subject\":\"safe\",\"content\":\"the code is "
			  "zanzibar\"}");
	calls[0].result =
		arena_fmt(&w->a, "stored id=%lld kind=fact subject=zanzibar", (long long)id);
	calls[1].requested = calls[1].name = S("memory_recall");
	calls[1].result =
		arena_fmt(&w->a,
			  "id=%lld0 (fact) a: stays\nid=%lld (fact) safe: the code is "
			  "zanzibar\nid=%lld (fact) b: stays too",
			  (long long)id, (long long)id, (long long)other);
	struct turn_step step = {
		.round = 1,
		.wire = S(
			"{\"role\":\"assistant\",\"content\":\"on it\",\"tool_calls\":[{\"id\":"
			"\"p1\",\"type\":\"function\",\"function\":{\"name\":\"memory_store\","
			"\"arguments\":\"{\\\"kind\\\":\\\"fact\\\",\\\"subject\\\":"
			"\\\"safe\\\","
			"\\\"content\\\":\\\"the code is "
			"zanzibar\\\"}\"}},{\"id\":\"p2\",\"type\":"
			"\"function\",\"function\":{\"name\":\"memory_recall\",\"arguments\":"
			"\"{}\"}}]}"),
		.text = S("on it"),
		.calls = calls,
		.calls_n = 2
	};
	struct tx tx = world_begin(w);
	ok(w, store_turn_step(&tx, t.id, &step, &w->e));
	ok(w, store_message_context(&tx, t.id,
				    S("\nnow\n\n[memory]\n- (fact) b: stays too\n- (fact) "
				      "safe: the code is zanzibar\n- (fact) c: last"),
				    &w->e));
	ok(w, store_memory_used(&tx, t.id, (int64_t[]){ other, id }, 2, &w->e));
	struct memory_snapshot snap = {
		.epoch = 1,
		.ids = arena_fmt(&w->a, " %lld ", (long long)id),
		.text = S("\n- (fact) safe: the code is zanzibar"),
	};
	ok(w, store_memory_snapshot_set(&tx, t.session.id, &snap, &w->e));
	struct model_row row = { .round = 1,
				 .issuer = S("x|m"),
				 .params = S("{}"),
				 .system = S("You\n\n[memory]\n- (fact) safe: the code is "
					     "zanzibar\n- (fact) b: stays too"),
				 .tools = S("[]") };
	ok(w, store_model_call(&tx, t.id, &row, &w->e));
	world_commit(w, &tx);
	world_sql(w,
		  "UPDATE sessions SET summary = 'They planned a trip. The code of the safe is "
		  "zanzibar; nobody else knows. Mom called.'");
	world_finish(w, &t);
	return t.session.id;
}

static void a_forgotten_row_is_nowhere(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "safe", "the code is zanzibar");
	int64_t other = add(w, "b", "stays too");

	(void)everywhere(w, id, other);
	assert_true(holding(w, "zanzibar") >= 9);
	assert_int_equal(forget(w, id, S("")), 1);
	assert_int_equal(holding(w, "zanzibar"), 0);
	/* And nothing else is gone. */
	assert_string_equal(
		world_text(w, "SELECT context FROM turn_messages WHERE role = 'user'").p,
		"[context]\nnow\n\n[memory]\n- (fact) b: stays too\n- (forgotten)\n- (fact) c: "
		"last");
	assert_string_equal(
		world_text(w, "SELECT content FROM turn_messages WHERE tool_name = "
			      "'memory_recall'")
			.p,
		"id=10 (fact) a: stays\nid=1 (forgotten)\nid=2 (fact) b: stays too");
	assert_string_equal(
		world_text(w, "SELECT json_extract(wire, '$.content') FROM "
			      "turn_messages WHERE tool_name = 'memory_recall'")
			.p,
		"id=10 (fact) a: stays\nid=1 (forgotten)\nid=2 (fact) b: stays too");
	assert_string_equal(world_text(w, "SELECT summary FROM sessions").p,
			    "They planned a trip. nobody else knows. Mom called.");
	assert_string_equal(world_text(w,
				       "SELECT content FROM request_parts WHERE content LIKE "
				       "'You%'")
				    .p,
			    "You\n\n[memory]\n- (forgotten)\n- (fact) b: stays too");
	assert_string_equal(
		world_text(w, "SELECT json_extract(json_extract(wire, "
			      "'$.tool_calls[0].function.arguments'), '$.content') FROM "
			      "turn_messages WHERE role = 'assistant' AND round = 1")
			.p,
		"(forgotten)");
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory_uses"), 1);
	assert_int_equal(forget(w, id, S("")), 0);
	sound(w, false);
}

static str unsaid(struct world *w, str text)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	str out;

	ok(w, store_memory_unsaid(&tx, text, &w->a, &out, &w->e));
	return out;
}

static int64_t tombstones(struct world *w)
{
	return world_i64(w, "SELECT count(*) FROM memory_tombstones");
}

static void settle(struct world *w)
{
	struct tx tx = world_begin(w);

	ok(w, store_memory_settle(&tx, &w->e));
	world_commit(w, &tx);
}

#define SAID S("Mom called. The code is zanzibar.")

static void whoever_forgot_it_no_summary_says_it_again(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "safe", "the code is zanzibar");
	int64_t other = add(w, "b", "stays too");

	(void)everywhere(w, id, other);
	assert_true(str_eq(unsaid(w, SAID), SAID));
	assert_int_equal(forget(w, id, S("")), 1);
	assert_true(str_eq(unsaid(w, SAID), S("Mom called.")));
	/* With other numbers a sentence says something else. */
	int64_t phone = add(w, "mom", "mom has the phone number 4711");
	assert_int_equal(forget(w, phone, S("")), 1);
	assert_true(str_eq(unsaid(w, S("Mom has the phone number 4712.")),
			   S("Mom has the phone number 4712.")));
	assert_true(str_eq(unsaid(w, S("The number of mom's phone is 4711.")), S("")));
	/* Most of its words are enough. */
	int64_t calls = add(w, "mom", "mom prefers calls over texts");
	assert_int_equal(forget(w, calls, S("")), 1);
	assert_true(str_eq(unsaid(w, S("Mom prefers calls over mails.")), S("")));
	/* Until it is remembered anew, by its words or by its id. */
	int64_t anew = add(w, "safe", "the code is zanzibar");
	assert_true(str_eq(unsaid(w, SAID), SAID));
	assert_int_equal(forget(w, anew, S("")), 1);
	assert_int_equal(tombstones(w), 4);
	world_sql(w, "INSERT INTO memory (id, kind, subject, content, source, created_at, "
		     "updated_at) VALUES (1, 'fact', 'safe', 'another', 'operator', '2026', "
		     "'2026')");
	assert_int_equal(tombstones(w), 3);
}

static void what_is_kept_of_it_goes_with_the_last_turn_that_may_say_it(void **state)
{
	static const char *const ends[] = {
		"UPDATE sessions SET epoch = epoch + 1",
		"UPDATE sessions SET folded_seq = 1000",
	};
	struct world *w = *state;
	int64_t id = add(w, "safe", "the code is zanzibar"), n = 0;
	int64_t other = add(w, "b", "stays too");
	str session = everywhere(w, id, other);

	/* Only what was said before counts. */
	assert_int_equal(forget(w, id, session), 1);
	world_sql(w, "UPDATE sessions SET folded_seq = 1");
	assert_int_equal(tombstones(w), 1);
	world_sql(w, "CREATE TABLE kept AS SELECT * FROM memory_tombstones");
	for (size_t i = 0; i < COUNT(ends); i++) {
		world_sql(w, ends[i]);
		assert_int_equal(tombstones(w), 0);
		world_sql(w, "UPDATE sessions SET epoch = 1, folded_seq = 0; "
			     "INSERT INTO memory_tombstones SELECT * FROM kept");
	}
	/* Retention takes messages away without a word to anybody. */
	world_sql(w, "DELETE FROM turn_messages");
	assert_int_equal(tombstones(w), 1);
	ok(w, store_memory_purge(w->s, NULL, &n, &w->e));
	assert_int_equal(tombstones(w), 0);
	world_sql(w, "INSERT INTO memory_tombstones SELECT * FROM kept; DELETE FROM sessions");
	assert_int_equal(tombstones(w), 0);
	/* Nobody ever spoke of this one. */
	assert_int_equal(forget(w, other, S("")), 1);
	assert_int_equal(tombstones(w), 0);
}

static void what_a_foreign_shell_deleted_is_nowhere_at_the_next_prompt(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "safe", "the code is zanzibar");
	int64_t other = add(w, "b", "stays too");

	(void)everywhere(w, id, other);
	world_sql(w, "DELETE FROM memory WHERE id = 1");
	assert_true(holding(w, "zanzibar") > 0);
	assert_true(str_eq(unsaid(w, SAID), S("Mom called.")));
	settle(w);
	assert_int_equal(holding(w, "zanzibar"), 0);
	assert_int_equal(tombstones(w), 1);
	/* The other ways to it. */
	world_sql(w, "DELETE FROM memory WHERE id = 2");
	assert_true(holding(w, "stays too") > 0);
	ok(w, store_memory_settle_now(w->s, NULL, &w->e));
	assert_int_equal(holding(w, "stays too"), 0);
	sound(w, false);
}

static void what_faded_was_not_forgotten(void **state)
{
	struct world *w = *state;
	int64_t n = 0, id = add(w, "safe", "the code is zanzibar");
	int64_t other = add(w, "b", "stays too");

	(void)everywhere(w, id, other);
	world_sql(w, "UPDATE memory SET expires_at = '2020-01-01T00:00:00Z'");
	ok(w, store_memory_purge(w->s, NULL, &n, &w->e));
	assert_int_equal(n, 2);
	assert_int_equal(tombstones(w), 0);
	assert_true(holding(w, "zanzibar") > 0);
	assert_true(str_eq(unsaid(w, SAID), SAID));
}

static void a_turn_that_is_over_names_what_it_forgot_by_ids_alone(void **state)
{
	static const char listed[] = "forgot 2; tell the user what went, undo brings it back:\n"
				     "id=1 (fact) mom id=7\nid=22 (fact) the divorce";
	static const char back[] = "brought back 1:\nid=3 (fact) dad: stays";
	struct world *w = *state;

	(void)world_add(w, "1", "forget it");
	struct turn t = world_claim(w);
	struct call calls[2] = { world_call(1, 1, CALL_DONE, true),
				 world_call(1, 2, CALL_DONE, true) };
	for (int i = 0; i < 2; i++)
		calls[i].requested = calls[i].name = S("memory_forget");
	calls[0].args = S("{\"query\":\"mom divorce\"}");
	calls[0].result = str_of(listed);
	calls[1].args = S("{\"undo\":true}");
	calls[1].result = str_of(back);
	struct turn_step step = {
		.round = 1,
		.wire = S("{\"role\":\"assistant\",\"content\":\"on it\",\"tool_calls\":["
			  "{\"id\":\"p1\",\"type\":\"function\",\"function\":{\"name\":"
			  "\"memory_forget\",\"arguments\":\"{\\\"query\\\":\\\"mom "
			  "divorce\\\"}\"}},{\"id\":\"p2\",\"type\":\"function\",\"function\":"
			  "{\"name\":\"memory_forget\",\"arguments\":\"{\\\"undo\\\":true}\"}}"
			  "]}"),
		.text = S("on it"),
		.calls = calls,
		.calls_n = 2
	};
	struct tx tx = world_begin(w);
	ok(w, store_turn_step(&tx, t.id, &step, &w->e));
	ok(w, store_memory_hush(&tx, t.id, &w->e));
	ok(w, store_memory_hush(&tx, t.id, &w->e)); /* a second time changes nothing */
	world_commit(w, &tx);
	assert_int_equal(holding(w, "mom"), 0);
	assert_int_equal(holding(w, "divorce"), 0);
	assert_string_equal(
		world_text(w, "SELECT content FROM turn_messages WHERE idx = 1").p,
		"forgot 2; tell the user what went, undo brings it back:\nid=1 (forgotten)\n"
		"id=22 (forgotten)");
	assert_string_equal(world_text(w, "SELECT content FROM turn_messages WHERE idx = 2").p,
			    back);
	assert_string_equal(
		world_text(w, "SELECT json_extract(wire, '$.tool_calls[1].function.arguments') "
			      "FROM turn_messages WHERE role = 'assistant'")
			.p,
		"{\"undo\":true}");
	world_finish(w, &t);
}

static void what_it_superseded_is_forgotten_with_it(void **state)
{
	struct world *w = *state;
	int64_t ids[3] = { add(w, "x", "one"), add(w, "x", "two"), add(w, "x", "three") };
	struct memory *v;
	size_t n;

	for (int i = 0; i < 2; i++) {
		ok(w, store_memory_get(w->s, &ids[i], 1, &w->a, &v, &n, &w->e));
		struct tx tx = world_begin(w);
		ok(w, store_memory_supersede(&tx, v, ids[i + 1], &w->e));
		world_commit(w, &tx);
	}
	assert_int_equal(forget(w, ids[2], S("")), 3);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory"), 0);
}

static void forgetting_can_be_undone_until_the_epoch_ends(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "safe", "the code is zanzibar");
	int64_t other = add_as(w, "person", "mom", "zanzibar born", "operator");
	str session = everywhere(w, id, other);
	struct memory *back;
	size_t n;

	assert_int_equal(forget(w, id, session), 1);
	assert_int_equal(forget(w, other, session), 1);
	for (int i = 0; i < 3; i++) {
		struct tx tx = world_begin(w);
		ok(w, store_memory_unforget(&tx, session, &w->a, &back, &n, &w->e));
		world_commit(w, &tx);
		assert_int_equal(n, i < 2);
		if (i == 0) {
			assert_int_equal(back[0].id, other);
			assert_string_equal(back[0].source.p, "operator");
		}
	}
	assert_string_equal(found(w, S("zanzibar")), " 2 1 ");
	assert_int_equal(forget(w, id, session), 1);
	world_sql(w, "UPDATE sessions SET epoch = epoch + 1");
	struct tx tx = world_begin(w);
	ok(w, store_memory_unforget(&tx, session, &w->a, &back, &n, &w->e));
	world_commit(w, &tx);
	assert_int_equal(n, 0);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory_forgotten"), 0);
	sound(w, false);
}

static void what_is_there_again_does_not_keep_the_rest_from_coming_back(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "safe", "the code is zanzibar");
	int64_t other = add(w, "mom", "zanzibar born");
	str session = everywhere(w, id, other);
	struct memory *gone, *back;
	size_t n;

	struct tx tx = world_begin(w);
	ok(w, store_memory_forget(&tx, (int64_t[]){ id, other }, 2, session, &w->a, &gone, &n,
				  &w->e));
	world_commit(w, &tx);
	world_sql(w, arena_fmt(&w->a,
			       "INSERT INTO memory (id, kind, subject, content, source, "
			       "created_at, updated_at) VALUES (%lld, 'fact', 'safe', 'mine', "
			       "'operator', '2026', '2026')",
			       (long long)id)
			     .p);
	tx = world_begin(w);
	ok(w, store_memory_unforget(&tx, session, &w->a, &back, &n, &w->e));
	world_commit(w, &tx);
	assert_int_equal(n, 1);
	assert_int_equal(back[0].id, other);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory"), 2);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM memory_forgotten"), 0);
}

static void a_query_takes_only_what_has_all_its_words(void **state)
{
	struct world *w = *state;
	struct memory *v;
	size_t n;

	(void)add(w, "mom", "old address in Bonn");
	(void)add(w, "mom", "new address in Essen");
	(void)add(w, "dad", "old car");
	ok(w, store_memory_match(w->s, S("the old address"), &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	assert_int_equal(v[0].id, 1);
	ok(w, store_memory_match(w->s, S("mom addresses"), &w->a, &v, &n, &w->e));
	assert_int_equal(n, 2);
	ok(w, store_memory_match(w->s, S("?!"), &w->a, &v, &n, &w->e));
	assert_int_equal(n, 0);
}

/* --- importing ------------------------------------------------------------------------ */

static void an_import_brings_rows_back_as_they_were_and_none_twice(void **state)
{
	struct world *w = *state;
	struct memory m = { .id = 12,
			    .kind = S("episode"),
			    .subject = S("a"),
			    .content = S("b c"),
			    .source = S("consolidation"),
			    .confidence = 0.25,
			    .created_at = S("2020-01-01T00:00:00Z"),
			    .updated_at = S("2020-01-02T00:00:00Z"),
			    .expires_at = S("2999-01-01T00:00:00Z") };
	struct tx tx = world_begin(w);
	bool known;

	ok(w, store_memory_import(&tx, &m, &known, &w->e));
	assert_false(known);
	ok(w, store_memory_import(&tx, &m, &known, &w->e));
	assert_true(known);
	m.id = 0;
	ok(w, store_memory_import(&tx, &m, &known, &w->e));
	assert_true(known); /* it says the same */
	m.content = S("d");
	m.source = S("somebody");
	m.created_at = S("never");
	m.expires_at = S("");
	ok(w, store_memory_import(&tx, &m, &known, &w->e));
	assert_false(known);
	m.confidence = 2;
	m.content = S("e");
	assert_int_equal(store_memory_import(&tx, &m, &known, &w->e), E_INVAL);
	m.confidence = 1;
	m.expires_at = S("never");
	assert_int_equal(store_memory_import(&tx, &m, &known, &w->e), E_INVAL);
	world_commit(w, &tx);
	assert_string_equal(
		world_text(w, "SELECT group_concat(id || kind || source || confidence "
			      "|| substr(created_at, 1, 4) || ifnull(expires_at, '-')) "
			      "FROM memory WHERE id = 12")
			.p,
		"12episodeconsolidation0.2520202999-01-01T00:00:00Z");
	assert_string_equal(world_text(w, "SELECT source FROM memory WHERE id = 13").p,
			    "operator");
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_statement_is_stored_once_and_kinds_decide_how_long),
		T(what_cannot_be_kept_is_said_and_harms_nothing),
		T(any_text_is_a_query),
		T(sentences_find_rows_by_their_rare_words),
		T(what_expired_or_was_superseded_is_not_found),
		T(lists_are_by_kind_and_place),
		T(the_indexes_follow_whoever_writes),
		T(every_change_counts_and_additions_by_a_chat_are_told_apart),
		T(much_that_expired_long_ago_is_deleted_in_batches),
		T(what_expired_long_ago_is_deleted_at_last),
		T(a_forgotten_row_is_nowhere),
		T(whoever_forgot_it_no_summary_says_it_again),
		T(what_is_kept_of_it_goes_with_the_last_turn_that_may_say_it),
		T(what_a_foreign_shell_deleted_is_nowhere_at_the_next_prompt),
		T(what_faded_was_not_forgotten),
		T(a_turn_that_is_over_names_what_it_forgot_by_ids_alone),
		T(what_it_superseded_is_forgotten_with_it),
		T(what_is_there_again_does_not_keep_the_rest_from_coming_back),
		T(forgetting_can_be_undone_until_the_epoch_ends),
		T(a_query_takes_only_what_has_all_its_words),
		T(an_import_brings_rows_back_as_they_were_and_none_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
