/*
 * The fixture of the store's tests.
 */
#include "store_world.h"

#include "os/clock.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void assert_ok(struct world *w, int rc, const char *file, int line)
{
	if (rc != OK) {
		print_error("%s: %s\n", err_word(rc), w->e.msg);
		_fail(file, line);
	}
}

int world_setup_closed(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	(void)snprintf(w->dir, sizeof w->dir, "/tmp/gantry-store-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	w->cfg.dsn = str_of(world_path(w, "gantry.db"));
	w->cfg.data_dir = str_of(w->dir);
	*state = w;
	return 0;
}

int world_setup(void **state)
{
	struct world *w;

	(void)world_setup_closed(state);
	w = *state;
	w->s = world_open(w, STORE_DAEMON);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

int world_teardown(void **state)
{
	struct world *w = *state;

	store_close(w->s);
	(void)nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	arena_free(&w->a);
	free(w);
	return 0;
}

struct store *world_open(struct world *w, enum store_mode mode)
{
	struct store *s = NULL;

	ok(w, store_open(&s, &w->cfg, mode, NULL, &w->e));
	return s;
}

void world_reopen(struct world *w, enum store_mode mode)
{
	store_close(w->s);
	w->s = NULL;
	w->s = world_open(w, mode);
}

const char *world_path(struct world *w, const char *name)
{
	return arena_fmt(&w->a, "%s/%s", w->dir, name).p;
}

static sqlite3 *raw(struct world *w)
{
	sqlite3 *h;

	assert_int_equal(sqlite3_open(w->cfg.dsn.p, &h), SQLITE_OK);
	(void)sqlite3_busy_timeout(h, 10000);
	(void)sqlite3_db_config(h, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return h;
}

str world_text(struct world *w, const char *sql)
{
	sqlite3 *h = raw(w);
	sqlite3_stmt *st;
	str out = S("");

	if (sqlite3_prepare_v2(h, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %.2000s", sqlite3_errmsg(h), sql);
	if (sqlite3_step(st) == SQLITE_ROW)
		out = arena_dup(&w->a, str_of((const char *)sqlite3_column_text(st, 0)));
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(h);
	return out;
}

int64_t world_i64(struct world *w, const char *sql)
{
	int64_t n;

	if (!str_i64(world_text(w, sql), &n))
		fail_msg("no number: %s", sql);
	return n;
}

void world_sql(struct world *w, const char *sql)
{
	sqlite3 *h = raw(w);

	if (sqlite3_exec(h, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %.2000s", sqlite3_errmsg(h), sql);
	(void)sqlite3_close(h);
}

struct tx world_begin(struct world *w)
{
	struct tx tx = { 0 };

	ok(w, store_begin(&tx, w->s, NULL, &w->e));
	return tx;
}

void world_commit(struct world *w, struct tx *tx)
{
	ok(w, store_commit(tx, &w->e));
}

int64_t world_add_owned(struct world *w, const char *address, const char *text, str owner)
{
	struct tx tx = world_begin(w);
	struct inbox_new row = {
		.channel = S("test"),
		.address = str_of(address),
		.kind = owner.n ? S("cli") : S("message"),
		.owner = owner,
		.sender = S("ada"),
		.text = str_of(text),
	};
	int64_t id;

	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

int64_t world_add(struct world *w, const char *address, const char *text)
{
	return world_add_owned(w, address, text, S(""));
}

static str wire_of(struct world *w, const char *role, str text)
{
	return arena_fmt(&w->a, "{\"role\":\"%s\",\"content\":\"%.*s\"}", role, STRF(text));
}

struct turn world_claim_in(struct world *w, struct store *s, str only)
{
	struct tx tx = { 0 };
	struct turn t;

	ok(w, store_begin(&tx, s, NULL, &w->e));
	ok(w, store_turn_claim(&tx, only, &w->a, &t, &w->e));
	if (!t.resumed)
		ok(w, store_message_user(&tx, t.id, wire_of(w, "user", t.rows[0].text),
					 t.rows[0].text, S("[context]"), &w->e));
	ok(w, store_commit(&tx, &w->e));
	return t;
}

struct turn world_claim(struct world *w)
{
	return world_claim_in(w, w->s, S(""));
}

bool world_idle(struct world *w)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	struct turn t;
	int rc = store_turn_claim(&tx, S(""), &w->a, &t, &w->e);

	assert_true(rc == OK || rc == E_NOENT);
	return rc == E_NOENT;
}

struct call world_call(int64_t round, int64_t index, enum call_state state, bool safe)
{
	struct call c = {
		.round = round,
		.index = index,
		.provider_id = S("call_p"),
		.requested = S("read_file"),
		.name = S("read_file"),
		.args = S("{\"path\":\"x\"}"),
		.state = state,
		.safe = safe,
		.decision = S("allow"),
		.decider = S("policy"),
		.requester = S("ada"),
		.result = state > CALL_RUNNING ? S("result") : S(""),
	};

	id_new(c.id);
	return c;
}

void world_step(struct world *w, const struct turn *t, int64_t round, const struct call *calls,
		size_t n)
{
	struct tx tx = world_begin(w);
	struct turn_step step = {
		.round = round,
		.wire = S("{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_p\","
			  "\"type\":\"function\",\"function\":{\"name\":\"read_file\","
			  "\"arguments\":\"{}\"}}]}"),
		.issuer = S("http://m|m1"),
		.calls = calls,
		.calls_n = n,
	};

	ok(w, store_turn_step(&tx, t->id, &step, &w->e));
	world_commit(w, &tx);
}

int world_finish_as(struct world *w, const struct turn *t, struct turn_finish f)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	int rc = store_turn_finish(&tx, t, &f, &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

void world_finish(struct world *w, const struct turn *t)
{
	ok(w, world_finish_as(w, t,
			      (struct turn_finish){
				      .end = TURN_DONE,
				      .history = HISTORY_FULL,
				      .final_wire = wire_of(w, "assistant", S("answer")),
				      .final_text = S("answer"),
				      .issuer = S("http://m|m1"),
				      .round = 99,
			      }));
}

void world_turn(struct world *w, const char *address, const char *text, size_t n)
{
	struct call calls[8];

	(void)world_add(w, address, text);
	struct turn t = world_claim(w);
	for (size_t i = 0; i < n; i++)
		calls[i] = world_call(1, (int64_t)i + 1, CALL_DONE, false);
	if (n)
		world_step(w, &t, 1, calls, n);
	world_finish(w, &t);
}

void world_check(struct world *w)
{
	assert_int_equal(
		0,
		world_i64(w,
			  "SELECT count(*) FROM (SELECT seq - min(seq) OVER "
			  "(PARTITION BY m.session_id) + 1 AS seq, "
			  "row_number() OVER (PARTITION BY m.session_id ORDER BY m.seq) AS n "
			  "FROM turn_messages m JOIN turns t ON t.id = m.turn_id "
			  "WHERE t.state NOT IN ('ready','running','parked')) "
			  "WHERE seq <> n"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM tool_calls c JOIN turns t "
					 "ON t.id = c.turn_id LEFT JOIN turn_messages m "
					 "ON m.turn_id = c.turn_id AND m.round = c.round "
					 "AND m.idx = c.idx WHERE m.id IS NULL AND (t.state "
					 "NOT IN ('ready','running','parked') OR "
					 "c.state NOT IN ('planned','running'))"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM inbox i JOIN turns t "
					 "ON t.id = i.turn_id WHERE (i.state = 'claimed') <> "
					 "(t.state IN ('ready','running','parked'))"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM turns WHERE "
					 "(state = 'running') <> (owner <> '')"));
	assert_true(str_eq(world_text(w, "PRAGMA integrity_check"), S("ok")));
	assert_true(str_eq(world_text(w, "PRAGMA foreign_key_check"), S("")));
}
