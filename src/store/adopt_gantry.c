/*
 * What ai-gantry keeps of conversations and memory: session, session_message and memory.  Its sessions are named CHANNEL:CHAT:USER[:THREAD]; ours are chats, so that what several
 * people said in one group is one conversation, in the order of the rows.
 */
#include "store/adopt_past.h"

#include "base/date.h"
#include "base/map.h"
#include "base/utf.h"
#include "store/memory.h"
#include "text/json.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (4 << 20)
#define SESSIONS_MAX 100000

/* --- which one ------------------------------------------------------------------------------- */

int adopt_gantry_schema(str *schema, struct db *db, struct err *e)
{
	bool sessions = false, memory = false, beat = false, later = false;
	int rc = foreign_has(&sessions, db, "session_message",
			     "id session_id role content created_at", e);

	*schema = S("");
	if (rc == OK && sessions)
		rc = foreign_has(&sessions, db, "session", "id summary updated_at", e);
	if (rc == OK)
		rc = foreign_has(&memory, db, "memory",
				 "id kind subject content created_at updated_at", e);
	if (rc == OK)
		rc = foreign_has(&beat, db, "heartbeat", "id updated_at version", e);
	if (rc < 0 || (!sessions && !(memory && beat)))
		return rc;
	rc = foreign_has(&later, db, "memory", "consolidate_attempts", e);
	if (rc == OK && !later)
		rc = foreign_has(&later, db, "session_pref", "", e);
	*schema = later ? S("0.1.x") : S("0.0.x");
	return rc;
}

/* --- addresses ------------------------------------------------------------------------------- */

/* "telegram:-100:7:3" is thread 3 of the chat -100 of Telegram.  What has another form keeps its
 * whole name, so that it can be read. */
void adopt_place(struct arena *a, str id, str *channel, str *address)
{
	str rest = id, first = str_cut(&rest, ':'), chat = str_cut(&rest, ':');
	int64_t n = 0;

	str_cut(&rest, ':'); /* the user */
	*channel = first;
	*address = chat;
	if (str_eq(id, S("stdio"))) {
		*address = S("local");
	} else if (str_eq(first, S("telegram")) ? !str_i64(chat, &n) : chat.n == 0) {
		*channel = S("ai-gantry");
		*address = id;
	} else if (rest.n && (!str_eq(first, S("telegram")) || (str_i64(rest, &n) && n > 0))) {
		*address = arena_fmt(a, "%.*s:%.*s", STRF(chat), STRF(rest));
	}
}

/* --- conversations --------------------------------------------------------------------------- */

static const struct foreign_col session_cols[] = {
	{ "id", FOREIGN_TEXT, NULL, 300 },
	{ "summary", FOREIGN_MAYBE_TEXT, "''", 65536 },
	{ "updated_at", FOREIGN_TIME, NULL, 64 },
};
static const struct foreign_table session_table = {
	"session", "session", ADOPT_SESSIONS, session_cols, COUNT(session_cols),
};
static const struct foreign_col message_cols[] = {
	{ "id", FOREIGN_INT, NULL, 0 },
	{ "role", FOREIGN_TEXT, NULL, 100 },
	{ "content", FOREIGN_TEXT, NULL, TEXT_MAX },
	{ "created_at", FOREIGN_TIME, NULL, 64 },
};
static const struct foreign_table message_table = {
	"session_message", "message", ADOPT_MESSAGES, message_cols, COUNT(message_cols),
};

struct chat {
	str id, channel, address, summary;
	int64_t updated_at_ms;
};

static int by_place(const void *x, const void *y)
{
	const struct chat *a = x, *b = y;
	int d = str_cmp(a->channel, b->channel);

	if (d == 0)
		d = str_cmp(a->address, b->address);
	return d ? d : str_cmp(a->id, b->id);
}

static int read_chats(struct adopt *ad, struct chat **out, size_t *n, struct err *e)
{
	SCOPED(foreign_end) struct foreign_rows f = { 0 };
	struct foreign_query q;
	struct chat *list = NULL;
	size_t used = 0;
	int rc = foreign_prepare(&q, ad, &session_table, "ORDER BY id", e);

	if (rc == OK)
		rc = foreign_open(&f, ad, &q, DB_NO_ARGS, e);
	while (rc == OK && (rc = foreign_next(&f, ad->a, e)) > 0) {
		rc = OK;
		if (used == SESSIONS_MAX) {
			foreign_skip(&f, "it is one too many");
			continue;
		}
		list = LIST_ROOM(ad->a, list, used);
		struct chat *c = &list[used++];
		*c = (struct chat){ .id = f.v[0].s,
				    .summary = f.v[1].s,
				    .updated_at_ms = f.v[2].i };
		adopt_place(ad->a, c->id, &c->channel, &c->address);
	}
	if (rc < 0)
		return rc;
	if (used)
		qsort(list, used, sizeof *list, by_place);
	*out = list;
	*n = used;
	return OK;
}

static int take_message(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	const struct foreign_cell *v = f->v;
	const struct past_message m = {
		.role = v[1].s,
		.text = v[2].s,
		.kind = str_starts(v[2].s, S("[cron]"))    ? "cron"
			: str_starts(v[2].s, S("[watch]")) ? "watch"
							   : "",
		.at_ms = v[3].i,
	};

	(void)a;
	return past_add(to, &m, f, e);
}

static int copy_chat(struct adopt *ad, const struct chat *c, size_t n,
		     const struct foreign_query *q, struct err *e)
{
	struct past p = { 0 };
	struct buf ids = buf_in(ad->a, 16u << 20), summary = buf_in(ad->a, 1u << 20);
	struct session s = { .channel = c->channel, .address = c->address };
	bool known;

	buf_addc(&ids, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&ids, ',');
		buf_json(&ids, c[i].id);
		if (c[i].summary.n && summary.n)
			buf_add(&summary, S("\n\n"));
		buf_add(&summary, c[i].summary);
		if (c[i].updated_at_ms > s.updated_at_ms)
			s.updated_at_ms = c[i].updated_at_ms;
	}
	buf_addc(&ids, ']');
	s.summary = buf_str(&summary);
	s.created_at_ms = s.updated_at_ms;
	int rc = past_begin(&p, ad, &s, &known, e);
	if (rc == OK && known)
		rc = adopt_known(ad,
				 "SELECT count(*) FROM session_message WHERE session_id IN "
				 "(SELECT value FROM json_each(?1))",
				 buf_str(&ids), e);
	else if (rc == OK && (rc = foreign_each(ad, q, DB_ARGS(db_text(buf_str(&ids))),
						take_message, &p, e)) == OK)
		rc = past_end(&p, e);
	return rc;
}

static int copy_chats(struct adopt *ad, struct err *e)
{
	struct foreign_query q;
	struct chat *list;
	size_t n, upto;
	int rc = foreign_prepare(&q, ad, &message_table,
				 "WHERE session_id IN (SELECT value FROM json_each(?1)) "
				 "ORDER BY id",
				 e);

	if (rc < 0 || !q.sql || (rc = read_chats(ad, &list, &n, e)) < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < n; i = upto) {
		for (upto = i + 1; upto < n && str_eq(list[upto].channel, list[i].channel) &&
				   str_eq(list[upto].address, list[i].address);)
			upto++;
		rc = copy_chat(ad, &list[i], upto - i, &q, e);
	}
	return rc < 0 ? rc : adopt_lost(ad, "SELECT count(*) FROM session_message", e);
}

/* --- memory ---------------------------------------------------------------------------------- */

enum {
	M_ID,
	M_KIND,
	M_SUBJECT,
	M_CONTENT,
	M_SOURCE,
	M_SURE,
	M_MADE,
	M_CHANGED,
	M_ENDS,
	M_BY,
	M_READ
};
static const struct foreign_col memory_cols[] = {
	{ "id", FOREIGN_INT, NULL, 0 },
	{ "kind", FOREIGN_TEXT, NULL, 40 },
	{ "subject", FOREIGN_TEXT, NULL, 65536 },
	{ "content", FOREIGN_TEXT, NULL, 65536 },
	{ "source", FOREIGN_TEXT, "'chat'", 100 },
	{ "confidence", FOREIGN_REAL, "1.0", 0 },
	{ "created_at", FOREIGN_TIME, NULL, 64 },
	{ "updated_at", FOREIGN_TIME, NULL, 64 },
	{ "expires_at", FOREIGN_MAYBE_TIME, "NULL", 64 },
	{ "superseded_by", FOREIGN_MAYBE_INT, "NULL", 0 },
	{ "consolidated", FOREIGN_MAYBE_INT, "0", 0 },
};
static const struct foreign_table memory_table = {
	"memory", "memory", ADOPT_MEMORIES, memory_cols, COUNT(memory_cols),
};

/* Which id a row has now, by the one it had. */
struct ids {
	struct map map;
	struct arena *a;
};

static str id_key(struct arena *a, int64_t id)
{
	return arena_fmt(a, "%lld", (long long)id);
}

static int64_t id_now(const struct ids *ids, int64_t old)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const int64_t *id = map_get(&ids->map, id_key(&a, old));

	return id ? *id : 0;
}

static const char *memory_fault(const struct foreign_cell *v)
{
	if (v[M_ID].i <= 0)
		return "its id is none";
	if (!memory_kind(v[M_KIND].s))
		return "its kind is not known here";
	if (!str_trim(v[M_SUBJECT].s).n || !str_trim(v[M_CONTENT].s).n)
		return "it says nothing";
	if (utf_count(v[M_SUBJECT].s) > MEMORY_SUBJECT_MAX)
		return "its subject is too long";
	return v[M_SURE].d >= 0 && v[M_SURE].d <= 1 ? NULL
						    : "its confidence is not from 0 to 1";
}

/* 0: no such row. */
static int same_memory(struct adopt *ad, const struct foreign_cell *v, str content, str made,
		       int64_t *id, struct err *e)
{
	return db_number(ad->to,
			 "SELECT coalesce(max(id), 0) FROM memory WHERE kind = ?1 AND subject "
			 "= ?2 AND content = ?3 AND created_at = ?4",
			 DB_ARGS(db_text(memory_kind_name(memory_kind(v[M_KIND].s))),
				 db_text(v[M_SUBJECT].s), db_text(content), db_text(made)),
			 id, e);
}

/* A number that is taken, or 0, gives way to the next one. */
static int put_memory(struct adopt *ad, const struct foreign_cell *v, str content, int64_t want,
		      int64_t *id, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t taken = 0;
	str source = v[M_SOURCE].s;
	int rc = db_number(ad->to, "SELECT count(*) FROM memory WHERE id = ?1",
			   DB_ARGS(db_i64(want)), &taken, e);

	if (rc < 0)
		return rc;
	if (!str_eq(source, S("chat")) && !str_eq(source, S("consolidation")))
		source = S("operator");
	rc = db_run(
		ad->to,
		"INSERT INTO memory (id, kind, subject, content, source, confidence, "
		"created_at, updated_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
		"?9)",
		DB_ARGS(db_when(want > 0 && !taken, db_i64(want)),
			db_text(memory_kind_name(memory_kind(v[M_KIND].s))),
			db_text(v[M_SUBJECT].s), db_text(content), db_text(source),
			db_text(arena_fmt(&a, "%.17g", v[M_SURE].d)),
			db_text(date_rfc3339(&a, v[M_MADE].i)),
			db_text(date_rfc3339(&a, v[M_CHANGED].i)),
			db_when(!v[M_ENDS].null, db_text(date_rfc3339(&a, v[M_ENDS].i)))),
		NULL, e);
	*id = sqlite3_last_insert_rowid(ad->to->h);
	return rc;
}

/* What consolidation has read there is not read again here. */
static int put_read(struct adopt *ad, int64_t id, const struct foreign_cell *v, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (v[M_READ].null || v[M_READ].i == 0)
		return OK;
	return db_run(ad->to,
		      "INSERT OR IGNORE INTO consolidated (source, key, mark, done, attempts, "
		      "at_ms) VALUES ('episode', ?1, ?2, 1, 0, ?3)",
		      DB_ARGS(db_text(id_key(&a, id)),
			      db_text(date_rfc3339(&a, v[M_CHANGED].i)), db_i64(ad->now_ms)),
		      NULL, e);
}

/* What is longer than a statement may be here becomes several, of the same subject. */
static int copy_memory(struct foreign_rows *f, struct ids *ids, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct adopt *ad = f->ad;
	str left = str_trim(f->v[M_CONTENT].s);
	int64_t id = 0, part = 0, *kept;
	int rc = same_memory(ad, f->v, utf_head(left, MEMORY_CONTENT_MAX),
			     date_rfc3339(&a, f->v[M_MADE].i), &id, e);

	if (rc == OK && id) {
		ad->report->n[ADOPT_MEMORIES].known++;
		part = id;
	} else if (rc == OK) {
		for (int64_t want = f->v[M_ID].i; rc == OK && left.n; want = 0) {
			str head = utf_head(left, MEMORY_CONTENT_MAX);
			left = str_sub(left, head.n, left.n);
			rc = put_memory(ad, f->v, head, want, &part, e);
			id = id ? id : part;
		}
		if (rc == OK)
			rc = put_read(ad, id, f->v, e);
		ad->report->n[ADOPT_MEMORIES].taken += rc == OK;
	}
	kept = NEW(ids->a, int64_t);
	*kept = id;
	if (map_get(&ids->map, id_key(&a, f->v[M_ID].i)) == NULL)
		(void)map_set(&ids->map, ids->a, id_key(ids->a, f->v[M_ID].i), kept);
	return rc;
}

/* The links, once every row has its number.  One to a row that is gone stays a link. */
static int link_memories(struct adopt *ad, const struct ids *ids, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	bool has;
	int rc = foreign_has(&has, ad->from, "memory", "superseded_by", e);

	if (rc < 0 || !has)
		return rc;
	rc = db_query(&r, ad->from,
		      "SELECT id, superseded_by FROM memory WHERE typeof(superseded_by) = "
		      "'integer' AND typeof(id) = 'integer'",
		      DB_NO_ARGS, e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		int64_t id = id_now(ids, rows_i64(&r, 0)), by = id_now(ids, rows_i64(&r, 1));
		rc = id == 0 ? OK
			     : db_run(ad->to,
				      "UPDATE memory SET superseded_by = ?2 WHERE id = ?1 "
				      "AND superseded_by IS NULL",
				      DB_ARGS(db_i64(id), db_i64(by ? by : id)), NULL, e);
	}
	return rc;
}

static int take_memory(struct foreign_rows *f, void *to, struct arena *a, struct err *e)
{
	const char *fault = memory_fault(f->v);

	(void)a;
	if (!fault && id_now(to, f->v[M_ID].i))
		fault = "its id was there before";
	if (!fault)
		return copy_memory(f, to, e);
	foreign_skip(f, "%s", fault);
	return OK;
}

static int copy_memories(struct adopt *ad, struct err *e)
{
	struct ids ids = { .a = ad->a };
	struct foreign_query q;
	int rc = foreign_prepare(&q, ad, &memory_table, "ORDER BY id", e);

	if (rc == OK)
		rc = foreign_each(ad, &q, DB_NO_ARGS, take_memory, &ids, e);
	return rc < 0 || !q.sql ? rc : link_memories(ad, &ids, e);
}

int adopt_gantry(struct adopt *ad, struct err *e)
{
	int rc = copy_chats(ad, e);

	if (rc == OK)
		rc = copy_memories(ad, e);
	return rc < 0 ? rc : adopt_jobs(ad, e);
}
