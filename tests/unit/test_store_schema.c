/*
 * The schema: what docs/database.md says is what a new database has; and with a long past
 * every step of a turn does the same work as with none.
 */
#include "store_world.h"

#include "base/buf.h"
#include "os/file.h"
#include "store/internal.h"
#include "store/model_call.h"
#include "store/tally.h"
#include "store/trace.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Statements without white space that does not matter, each on a line. */
static str squeeze(struct world *w, str sql)
{
	struct buf b = buf_in(&w->a, 1 << 20);
	bool gap = false;

	for (size_t i = 0; i < sql.n; i++) {
		char c = sql.p[i];
		if (isspace((unsigned char)c)) {
			gap = b.n > 0 && b.p[b.n - 1] != '\n';
			continue;
		}
		if (gap && c != ';')
			buf_addc(&b, ' ');
		gap = false;
		buf_addc(&b, c == ';' ? '\n' : c);
	}
	return buf_str(&b);
}

/* The sql blocks of the page, from the first CREATE on. */
static str documented(struct world *w)
{
	struct buf b = buf_in(&w->a, 1 << 20);
	str page, line;
	bool inside = false;

	ok(w, file_read(&page, &w->a, "docs/database.md", 1 << 20, &w->e));
	while (page.n > 0) {
		line = str_cut(&page, '\n');
		if (str_starts(line, S("```"))) {
			inside = str_eq(line, S("```sql"));
			continue;
		}
		if (inside) {
			buf_add(&b, line);
			buf_addc(&b, '\n');
		}
	}
	return buf_str(&b);
}

static void the_page_has_the_schema_that_is_made(void **state)
{
	struct world *w = *state;
	str made =
		world_text(w, "SELECT group_concat(sql, '; ') || ';' FROM (SELECT sql FROM "
			      "sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE "
			      "'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'memory\\_fts\\_%' "
			      "ESCAPE '\\' AND name NOT LIKE 'memory\\_grams\\_%' "
			      "ESCAPE '\\' ORDER BY rowid)");
	str rest_made = squeeze(w, made), rest_page = squeeze(w, documented(w));

	while (rest_made.n > 0 || rest_page.n > 0) {
		str a = str_cut(&rest_made, '\n'), b = str_cut(&rest_page, '\n');
		if (!str_eq(a, b))
			fail_msg("docs/database.md differs:\nmade: %.*s\npage: %.*s", STRF(a),
				 STRF(b));
	}
}

static void every_table_is_explained(void **state)
{
	struct world *w = *state;
	str page, names = world_text(w, "SELECT group_concat(name, ' ') FROM sqlite_schema "
					"WHERE type IN ('table', 'view') "
					"AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
					"AND name NOT LIKE 'memory\\_fts\\_%' ESCAPE '\\' "
					"AND name NOT LIKE 'memory\\_grams\\_%' ESCAPE '\\'");

	ok(w, file_read(&page, &w->a, "docs/database.md", 1 << 20, &w->e));
	while (names.n > 0) {
		str name = str_cut(&names, ' ');
		if (!str_has(page, arena_fmt(&w->a, "**`%.*s`**", STRF(name))))
			fail_msg("docs/database.md does not explain %.*s", STRF(name));
	}
}

/* --- plans ----------------------------------------------------------------------------------- */

/* Indexes that hold unfinished work only, so that walking them is fine. */
static const char *const short_indexes[] = {
	"turns_active",      "turns_ready",    "turns_running",    "inbox_ready",
	"outbox_pending",    "outbox_replies", "outbox_sending",   "sessions_updated",
	"system_rows_ready", "jobs_due",       "job_runs_started", "job_runs_unsettled"
};

/* Tables that stay short, or whose rows are all asked for. */
static const char *const short_tables[] = { "CONSTANT",
					    "schema_migrations",
					    "sqlite_master",
					    "heartbeats",
					    "w" /* outbox_waits */,
					    "system_rows",
					    "spend_holds",
					    "jobs",
					    "j" };

static bool is_short(str detail)
{
	for (size_t i = 0; i < COUNT(short_indexes); i++)
		if (str_has(detail, str_of(short_indexes[i])))
			return true;
	str rest = str_sub(detail, 5, detail.n); /* behind "SCAN " */
	str name = str_cut(&rest, ' ');
	for (size_t i = 0; i < COUNT(short_tables); i++)
		if (str_eq(name, str_of(short_tables[i])))
			return true;
	return false;
}

static int check_plan(struct world *w, sqlite3 *h, const char *sql)
{
	str explain = arena_fmt(&w->a, "EXPLAIN QUERY PLAN %s", sql);
	sqlite3_stmt *st;
	int scans = 0;

	assert_int_equal(SQLITE_OK, sqlite3_prepare_v2(h, explain.p, -1, &st, NULL));
	while (sqlite3_step(st) == SQLITE_ROW) {
		str detail = str_of((const char *)sqlite3_column_text(st, 3));
		if (!str_starts(detail, S("SCAN ")) || is_short(detail))
			continue;
		print_error("%.*s\n  in %s\n", STRF(detail), sql);
		scans++;
	}
	(void)sqlite3_finalize(st);
	return scans;
}

static int check_plans(struct world *w, sqlite3 *h, int *seen)
{
	sqlite3_stmt *list[DB_STATEMENTS];
	int n = 0, scans = 0;

	for (sqlite3_stmt *st = sqlite3_next_stmt(h, NULL); st; st = sqlite3_next_stmt(h, st))
		list[n++] = st;
	for (int i = 0; i < n; i++) {
		str sql = str_of(sqlite3_sql(list[i]));
		/* The full-text engine's own, which nobody else may prepare. */
		if (!str_has(sql, S("'main'.'memory_")))
			scans += check_plan(w, h, sql.p);
	}
	*seen += n;
	return scans;
}

/* A turn with two calls, its delivery, and all that is read on the way. */
static void whole_turn(struct world *w)
{
	struct call calls[] = { world_call(1, 1, CALL_RUNNING, false),
				world_call(1, 2, CALL_PLANNED, false) };
	struct model_row model = { .round = 1,
				   .issuer = S("http://m|m1"),
				   .params = S("{}"),
				   .system = S("sys"),
				   .tools = S("[]") };
	struct inbox_new in = { .channel = S("test"),
				.address = S("big"),
				.dedupe = arena_fmt(&w->a, "e%lld",
						    (long long)store_commits(w->s)),
				.kind = S("message"),
				.text = S("go") };
	struct outbox_row row;
	struct piece piece;
	struct message *m;
	struct call *c;
	size_t n, calls_n;
	int64_t id, wake;
	bool canceled;

	struct tx tx = world_begin(w);
	ok(w, store_inbox_add(&tx, &in, &id, &w->e));
	world_commit(w, &tx);
	struct turn t = world_claim(w);
	ok(w, store_inbox_ready(w->s, t.session.id, &id, &w->e));
	ok(w, store_history(w->s, &t.session, 20, &w->a, &m, &n, &w->e));
	world_step(w, &t, 1, calls, 2);
	ok(w, store_turn_canceled(w->s, t.id, &canceled, &w->e));
	tx = world_begin(w);
	ok(w, store_call_start(&tx, t.id, &calls[1], &w->e));
	for (int i = 0; i < 2; i++) {
		calls[i].state = CALL_DONE;
		ok(w, store_call_finish(&tx, t.id, &calls[i], &w->e));
	}
	ok(w, store_model_call(&tx, t.id, &model, &w->e));
	world_commit(w, &tx);
	ok(w, store_turn_load(w->s, t.id, &w->a, &m, &n, &c, &calls_n, &w->e));
	tx = world_begin(w);
	struct outbox_new out = { .session_id = t.session.id,
				  .turn_id = t.id,
				  .channel = S("test"),
				  .address = S("big"),
				  .kind = S("reply"),
				  .text = S("a") };
	ok(w, store_outbox_add(&tx, &out, &id, &w->e));
	ok(w, store_collapse(&tx, t.session.id, 1, m[0].seq - 100, &w->e));
	world_commit(w, &tx);
	world_finish(w, &t);
	tx = world_begin(w);
	ok(w, store_outbox_next(&tx, S("test"), S(""), &w->a, &row, &wake, &w->e));
	ok(w, store_outbox_split(&tx, row.id,
				 &(struct piece_new){ S("send"), S("a"), S("a"), S("") }, 1,
				 &w->e));
	ok(w, store_piece_begin(&tx, row.id, &w->a, &piece, &w->e));
	ok(w, store_piece_end(&tx, piece.id, PIECE_SENT, S("1"), S(""), 0, &w->e));
	assert_int_equal(E_NOENT,
			 store_outbox_next(&tx, S("test"), S(""), &w->a, &row, &wake, &w->e));
	world_commit(w, &tx);
}

static void rest_of_the_api(struct world *w)
{
	const struct tally_opt month = { .parts = TALLY_DAYS,
					 .since_ms = clock_now_ms() - 3600000,
					 .until_ms = clock_now_ms(),
					 .zone = &zone_utc,
					 .unit = TALLY_MONTH };
	struct control_effect effect;
	struct session *list;
	struct turn_found found;
	struct tally tally;
	struct usage usage;
	size_t n;
	int64_t i;
	struct tx tx = world_begin(w);

	ok(w,
	   store_control(&tx, CONTROL_STOP, S("test"), S("big"), S(""), &w->a, &effect, &w->e));
	world_commit(w, &tx);
	ok(w, store_session_list(w->s, 50, &w->a, &list, &n, &w->e));
	ok(w, store_usage(w->s, 1000000, &usage, &w->e));
	ok(w, store_outbox_pending(w->s, S(""), &i, &w->e));
	ok(w, store_inbox_ready(w->s, S(""), &i, &w->e));
	ok(w, store_inbox_open(w->s, &i, &w->e));
	ok(w, store_recover(w->s, NULL, &i, &w->e));
	ok(w, store_tally(w->s, &month, &w->a, &tally, &w->e));
	assert_int_equal(E_INVAL, store_turn_find(w->s, S(""), &w->a, &found, &w->e));
}

static void no_statement_walks_through_the_past(void **state)
{
	struct world *w = *state;
	int seen = 0;

	whole_turn(w);
	whole_turn(w);
	rest_of_the_api(w);
	assert_int_equal(0, check_plans(w, w->s->writer->h, &seen));
	struct reader r = { 0 };
	ok(w, reader_begin(&r, w->s, &w->e));
	assert_int_equal(0, check_plans(w, r.db->h, &seen));
	reader_end(&r);
	assert_true(seen > 50);
}

static const char long_past[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	"INSERT INTO turns (id, session_id, state, epoch, history, first_seq, prompt_n, "
	"started_at_ms, updated_at_ms) SELECT 'past' || i, (SELECT id FROM sessions), 'done', "
	"1, iif(i % 2, 'full', 'none'), i * 5 + 995, 5, i, i FROM n;"
	"INSERT INTO inbox (session_id, turn_id, channel, address, kind, text, state, "
	"created_at_ms) SELECT session_id, id, 'test', 'big', 'message', 'x', 'done', 1 FROM "
	"turns WHERE id LIKE 'past%';"
	"INSERT INTO turn_messages (session_id, turn_id, seq, round, idx, role, wire, content, "
	"collapsed, created_at_ms) SELECT session_id, id, first_seq + k, iif(k > 3, 2, k > 0), "
	"iif(k IN (2, 3), k - 1, 0), CASE k WHEN 0 THEN 'user' WHEN 2 THEN 'tool' WHEN 3 THEN "
	"'tool' ELSE 'assistant' END, '{}', 'x', first_seq < 100000 AND k IN (0, 2, 3), 1 FROM "
	"turns, (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION "
	"ALL SELECT 4) WHERE id LIKE 'past%';"
	"INSERT INTO tool_calls (id, session_id, turn_id, round, idx, seq, provider_id, "
	"requested, name, args, safe, state, created_at_ms) SELECT turn_id || '-' || idx, "
	"session_id, turn_id, round, idx, seq, 'p', 'n', 'n', '{}', 0, 'done', 1 FROM "
	"turn_messages WHERE role = 'tool' AND turn_id LIKE 'past%';"
	"INSERT INTO outbox (session_id, turn_id, channel, address, kind, text, state, "
	"created_at_ms) SELECT session_id, id, 'test', 'big', 'reply', 'a', 'done', 1 FROM "
	"turns WHERE id LIKE 'past%';"
	"INSERT INTO pieces (outbox_id, idx, method, body, plain, state, updated_at_ms) "
	"SELECT id, 1, 'send', 'a', 'a', 'sent', 1 FROM outbox WHERE turn_id LIKE 'past%';"
	"INSERT INTO inbox_events SELECT 'test', 'past' || id, 9e15 FROM inbox;"
	"UPDATE sessions SET next_seq = 101000";

/* Steps of SQLite's machine since the last time, over all statements. */
static int64_t steps_of(sqlite3 *h)
{
	int64_t sum = 0;

	for (sqlite3_stmt *st = sqlite3_next_stmt(h, NULL); st; st = sqlite3_next_stmt(h, st))
		sum += sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 1);
	return sum;
}

static int64_t steps(struct world *w)
{
	struct reader r = { 0 };

	ok(w, reader_begin(&r, w->s, &w->e));
	int64_t sum = steps_of(r.db->h) + steps_of(w->s->writer->h);
	reader_end(&r);
	return sum;
}

static void a_long_past_makes_no_step_dearer(void **state)
{
	struct world *w = *state;
	int64_t few, many;

	for (int i = 0; i < 20; i++)
		whole_turn(w);
	rest_of_the_api(w);
	(void)steps(w);
	whole_turn(w);
	rest_of_the_api(w);
	few = steps(w);
	world_sql(w, long_past);
	whole_turn(w); /* collapses what the past left whole */
	(void)steps(w);
	whole_turn(w);
	rest_of_the_api(w);
	many = steps(w);
	print_message("machine steps of a turn: %lld with 100000 messages, %lld with 100\n",
		      (long long)many, (long long)few);
	assert_true(many * 10 < few * 12);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(the_page_has_the_schema_that_is_made),
		T(every_table_is_explained),
		T(no_statement_walks_through_the_past),
		T(a_long_past_makes_no_step_dearer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
