/*
 * The rows of memory: reading, adding, superseding, importing, forgetting and its undoing, and
 * the snapshots of sessions.  Searching, the indexes and what forgetting does elsewhere have
 * files of their own.
 */
#include "store/memory_rows.h"

#include "base/date.h"
#include "base/utf.h"
#include "text/terms.h"

#define EPISODE_MS (INT64_C(30) * 86400000) /* what happened fades, what holds does not */
#define SAME_MAX 20 /* rows looked at for one that says the same */

static const struct {
	const char *name;
	unsigned bit;
	int64_t ttl_ms; /* 0: for ever */
} kinds[] = {
	{ "preference", MEMORY_PREFERENCE, 0 },
	{ "person", MEMORY_PERSON, 0 },
	{ "fact", MEMORY_FACT, 0 },
	{ "insight", MEMORY_INSIGHT, 0 },
	{ "episode", MEMORY_EPISODE, EPISODE_MS },
};

unsigned memory_kind(str name)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (str_ieq(str_trim(name), str_of(kinds[i].name)))
			return kinds[i].bit;
	return 0;
}

str memory_kind_name(unsigned kind)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].bit == kind)
			return str_of(kinds[i].name);
	return S("");
}

/* White space folded: one line. */
static str fold(struct arena *a, str s)
{
	char *p = arena_alloc(a, 1, s.n + 1);
	size_t n = 0;

	s = str_trim(s);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool blank = c <= ' ' || c == 0x7f;
		if (blank && n && p[n - 1] == ' ')
			continue;
		p[n++] = blank ? ' ' : (char)c;
	}
	return str_trim((str){ p, n });
}

str memory_line(struct arena *a, const struct memory *m)
{
	return arena_fmt(a, "(%.*s) %.*s: %.*s", STRF(fold(a, m->kind)),
			 STRF(fold(a, m->subject)), STRF(fold(a, m->content)));
}

int64_t memory_now_s(void)
{
	return clock_now_ms() / 1000;
}

void memory_read(struct memory *out, int64_t *updated_s, const struct rows *r, struct arena *a)
{
	*out = (struct memory){
		.id = rows_i64(r, 0),
		.kind = rows_text(r, 1, a),
		.subject = rows_text(r, 2, a),
		.content = rows_text(r, 3, a),
		.source = rows_text(r, 4, a),
		.confidence = sqlite3_column_double(r->st, 5),
		.created_at = rows_text(r, 6, a),
		.updated_at = rows_text(r, 7, a),
		.expires_at = rows_text(r, 8, a),
		.superseded_by = rows_i64(r, 9),
		.active = rows_i64(r, 10) != 0,
	};
	if (updated_s)
		*updated_s = rows_i64(r, 11);
}

/* Rows of a running query with MEMORY_COLUMNS. */
static int collect(struct rows *r, struct arena *a, struct memory **out, size_t *n,
		   struct err *e)
{
	struct memory *list = NULL;
	size_t used = 0;
	int rc;

	while ((rc = rows_next(r, e)) > 0) {
		list = LIST_ROOM(a, list, used);
		memory_read(&list[used++], NULL, r, a);
	}
	if (rc < 0)
		return rc;
	*out = list;
	*n = used;
	return OK;
}

static int load(struct db *db, int64_t id, struct arena *a, struct memory *out, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, "SELECT " MEMORY_COLUMNS " FROM memory WHERE id = ?2",
			  DB_ARGS(db_i64(memory_now_s()), db_i64(id)), e);

	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, E_NOENT, "no memory with id %lld", (long long)id);
	memory_read(out, NULL, &r, a);
	return OK;
}

#define LISTED                                                                                 \
	"SELECT " MEMORY_COLUMNS " FROM memory WHERE id > ?2 AND (?3 OR (superseded_by IS "    \
	"NULL AND coalesce(unixepoch(expires_at), ?1 + 1) > ?1)) AND (?4 = 0 OR kind IN "      \
	"(iif(?4 & 1, 'preference', ''), iif(?4 & 2, 'person', ''), iif(?4 & 4, 'fact', ''), " \
	"iif(?4 & 8, 'insight', ''), iif(?4 & 16, 'episode', ''))) "

int store_memory_list(struct store *s, const struct memory_filter *f, struct arena *a,
		      struct memory **out, size_t *n, struct err *e)
{
	static const char by_id[] = LISTED "ORDER BY id LIMIT ?5";
	static const char by_time[] = LISTED "ORDER BY updated_at DESC, id DESC LIMIT ?5";
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = reader_begin(&reader, s, e);

	if (rc == OK)
		rc = db_query(&r, reader.db, f->oldest_first ? by_id : by_time,
			      DB_ARGS(db_i64(memory_now_s()), db_i64(f->after_id),
				      db_i64(f->inactive), db_i64(f->kinds),
				      db_i64(f->limit > 0 ? f->limit : -1)),
			      e);
	return rc < 0 ? rc : collect(&r, a, out, n, e);
}

static int load_all(struct db *db, const int64_t *ids, size_t ids_n, struct arena *a,
		    struct memory **out, size_t *n, struct err *e)
{
	struct memory *list = NEWN(a, struct memory, ids_n + 1);
	size_t used = 0;

	for (size_t i = 0; i < ids_n; i++) {
		int rc = load(db, ids[i], a, &list[used], e);
		if (rc < 0 && rc != E_NOENT)
			return rc;
		used += rc == OK;
	}
	*out = list;
	*n = used;
	return OK;
}

int store_memory_get(struct store *s, const int64_t *ids, size_t ids_n, struct arena *a,
		     struct memory **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : load_all(r.db, ids, ids_n, a, out, n, e);
}

int store_memory_search(struct store *s, str query, int64_t limit, struct arena *a,
			struct memory **out, size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : memory_search(r.db, query, limit, a, out, n, e);
}

/* in as it is stored, or what is wrong with it. */
static int prepare(struct memory *out, const struct memory *in, struct arena *a, struct err *e)
{
	unsigned kind = memory_kind(in->kind);

	*out = *in;
	out->kind = memory_kind_name(kind);
	out->subject = fold(a, utf_repair(a, in->subject));
	out->content = fold(a, utf_repair(a, in->content));
	if (!kind)
		return err_set(e, E_INVAL,
			       "kind must be fact, preference, person, episode or insight");
	if (out->subject.n == 0 || out->content.n == 0)
		return err_set(e, E_INVAL, "%s is empty",
			       out->subject.n ? "content" : "subject");
	if (utf_count(out->subject) > MEMORY_SUBJECT_MAX)
		return err_set(e, E_INVAL,
			       "subject is longer than %d characters; name whom or what it is "
			       "about, and put the rest into content",
			       MEMORY_SUBJECT_MAX);
	if (utf_count(out->content) > MEMORY_CONTENT_MAX)
		return err_set(e, E_INVAL,
			       "content is longer than %d characters; store single statements",
			       MEMORY_CONTENT_MAX);
	return OK;
}

/* An active row of the kind that says the same; *id 0 none. */
static int find_same(struct db *db, const struct memory *m, struct arena *a, int64_t *id,
		     struct err *e)
{
	str text = arena_fmt(a, "%.*s %.*s", STRF(m->subject), STRF(m->content));
	struct memory *hits;
	size_t n;
	int rc = memory_search(db, text, SAME_MAX, a, &hits, &n, e);

	*id = 0;
	for (size_t i = 0; rc == OK && i < n && !*id; i++)
		if (memory_kind(hits[i].kind) == memory_kind(m->kind) &&
		    terms_same(a, hits[i].subject, m->subject) &&
		    terms_same(a, hits[i].content, m->content))
			*id = hits[i].id;
	return rc;
}

static str expiry(struct arena *a, str kind, int64_t now_ms)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].ttl_ms && str_eq(kind, str_of(kinds[i].name)))
			return date_rfc3339(a, now_ms + kinds[i].ttl_ms);
	return S("");
}

static int insert(struct tx *tx, const struct memory *m, int64_t *id, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct db *db = tx_db(tx);
	/* A REAL is bound as text; the column's affinity makes a number of it. */
	str confidence = arena_fmt(&a, "%.17g", m->confidence);
	int rc = db_run(db,
			"INSERT INTO memory (id, kind, subject, content, source, confidence, "
			"created_at, updated_at, expires_at, superseded_by) VALUES (?1, ?2, "
			"?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
			DB_ARGS(db_when(m->id > 0, db_i64(m->id)), db_text(m->kind),
				db_text(m->subject), db_text(m->content), db_text(m->source),
				db_text(confidence), db_text(m->created_at),
				db_text(m->updated_at),
				db_when(m->expires_at.n > 0, db_text(m->expires_at)),
				db_when(m->superseded_by > 0, db_i64(m->superseded_by))),
			NULL, e);

	/* Read before the triggers' own insertions count: they restore it at their end. */
	*id = sqlite3_last_insert_rowid(db->h);
	return rc < 0 ? rc : memory_index(tx, NULL, e);
}

/* What a chat added is in the chat: prompts stay as they are for it. */
static int count_added(struct tx *tx, str source, struct err *e)
{
	if (!str_eq(source, S("chat")))
		return OK;
	return db_run(tx_db(tx), "UPDATE memory_state SET added = added + 1", DB_NO_ARGS, NULL,
		      e);
}

static int refresh(struct tx *tx, int64_t id, str now, str expires, struct err *e)
{
	return db_run(
		tx_db(tx), "UPDATE memory SET updated_at = ?2, expires_at = ?3 WHERE id = ?1",
		DB_ARGS(db_i64(id), db_text(now), db_when(expires.n > 0, db_text(expires))),
		NULL, e);
}

int store_memory_add(struct tx *tx, const struct memory *in, int64_t *id, bool *known,
		     struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t now = clock_now_ms(), same = 0;
	struct memory m;
	int rc = prepare(&m, in, &a, e);

	if (rc == OK)
		rc = find_same(tx_db(tx), &m, &a, &same, e);
	if (rc < 0)
		return rc;
	m.id = 0;
	m.confidence = 1.0;
	m.created_at = m.updated_at = date_rfc3339(&a, now);
	m.expires_at = expiry(&a, m.kind, now);
	m.superseded_by = 0;
	*known = same != 0;
	*id = same;
	rc = same ? refresh(tx, same, m.updated_at, m.expires_at, e) : insert(tx, &m, id, e);
	return rc < 0 ? rc : count_added(tx, m.source, e);
}

int store_memory_load(struct tx *tx, int64_t id, struct arena *a, struct memory *out,
		      struct err *e)
{
	return load(tx_db(tx), id, a, out, e);
}

int store_memory_supersede(struct tx *tx, const struct memory *old, int64_t by, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t changed = 0;
	int rc = db_run(
		tx_db(tx),
		"UPDATE memory SET superseded_by = ?2, updated_at = ?3 WHERE id = ?1 AND id <> "
		"?2 "
		"AND superseded_by IS NULL AND kind = ?4 AND subject = ?5 AND content = ?6 "
		"AND updated_at = ?7 AND EXISTS (SELECT 1 FROM memory WHERE id = ?2 "
		"AND superseded_by IS NULL)",
		DB_ARGS(db_i64(old->id), db_i64(by), db_text(date_rfc3339(&a, clock_now_ms())),
			db_text(old->kind), db_text(old->subject), db_text(old->content),
			db_text(old->updated_at)),
		&changed, e);

	if (rc == OK && changed == 0)
		return err_set(e, E_NOENT, "memory %lld is not what it was",
			       (long long)old->id);
	return rc;
}

static bool is_time(struct tx *tx, str text, struct err *e)
{
	int64_t n = 0;

	return db_number(tx_db(tx), "SELECT unixepoch(?1) IS NOT NULL", DB_ARGS(db_text(text)),
			 &n, e) == OK &&
	       n;
}

int store_memory_import(struct tx *tx, const struct memory *in, bool *known, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str now = date_rfc3339(&a, clock_now_ms());
	struct memory m, there;
	int64_t id = 0;
	int rc = prepare(&m, in, &a, e);

	if (rc < 0)
		return rc;
	if (!str_eq(m.source, S("chat")) && !str_eq(m.source, S("consolidation")))
		m.source = S("operator");
	if (!(m.confidence >= 0 && m.confidence <= 1))
		return err_set(e, E_INVAL, "confidence is not from 0 to 1");
	m.created_at = is_time(tx, m.created_at, e) ? m.created_at : now;
	m.updated_at = is_time(tx, m.updated_at, e) ? m.updated_at : m.created_at;
	if (m.expires_at.n && !is_time(tx, m.expires_at, e))
		return err_set(e, E_INVAL, "expires_at is no time");
	rc = m.id > 0 ? load(tx_db(tx), m.id, &a, &there, e) : E_NOENT;
	if (rc < 0 && rc != E_NOENT)
		return rc;
	*known = rc == OK;
	if (!*known && m.superseded_by == 0) {
		if ((rc = find_same(tx_db(tx), &m, &a, &id, e)) < 0)
			return rc;
		*known = id != 0;
	}
	return *known ? OK : insert(tx, &m, &id, e);
}

/* With everything it superseded, and what that did. */
static int with_older(struct tx *tx, int64_t id, struct arena *a, struct memory **list,
		      size_t *n, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT " MEMORY_COLUMNS " FROM memory WHERE id IN ("
			  "WITH RECURSIVE old (id) AS (SELECT ?2 UNION SELECT m.id "
			  "FROM memory m JOIN old ON m.superseded_by = old.id) "
			  "SELECT id FROM old) ORDER BY id DESC",
			  DB_ARGS(db_i64(memory_now_s()), db_i64(id)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*list = LIST_ROOM(a, *list, *n);
		memory_read(&(*list)[(*n)++], NULL, &r, a);
		rc = OK;
	}
	return rc;
}

static int keep(struct tx *tx, str session_id, int64_t batch, int64_t id, struct err *e)
{
	if (!session_id.n)
		return OK;
	return db_run(tx_db(tx),
		      "INSERT OR IGNORE INTO memory_forgotten SELECT ?1, ?2, id, kind, "
		      "subject, content, "
		      "source, confidence, created_at, updated_at, expires_at, superseded_by "
		      "FROM memory WHERE id = ?3",
		      DB_ARGS(db_text(session_id), db_i64(batch), db_i64(id)), NULL, e);
}

int store_memory_forget(struct tx *tx, const int64_t *ids, size_t ids_n, str session_id,
			struct arena *a, struct memory **gone, size_t *n, struct err *e)
{
	struct memory *list = NULL;
	int64_t batch = 0;
	size_t used = 0, left = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT coalesce(max(batch), 0) + 1 FROM memory_forgotten "
			   "WHERE session_id = ?1",
			   DB_ARGS(db_text(session_id)), &batch, e);

	for (size_t i = 0; rc == OK && i < ids_n; i++)
		rc = with_older(tx, ids[i], a, &list, &used, e);
	for (size_t i = 0; rc == OK && i < used; i++) {
		int64_t changed = 0;
		if ((rc = keep(tx, session_id, batch, list[i].id, e)) == OK)
			rc = db_run(tx_db(tx), "DELETE FROM memory WHERE id = ?1",
				    DB_ARGS(db_i64(list[i].id)), &changed, e);
		/* Named twice, it goes once. */
		if (rc == OK && changed)
			list[left++] = list[i];
	}
	if (rc == OK && left)
		rc = store_memory_settle(tx, e);
	if (rc < 0)
		return rc;
	*gone = list;
	*n = left;
	return OK;
}

int store_memory_unforget(struct tx *tx, str session_id, struct arena *a, struct memory **back,
			  size_t *n, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct db *db = tx_db(tx);
	struct memory *list, there;
	size_t used, left = 0;
	int64_t id;
	int rc = db_query(&r, db,
			  "SELECT " MEMORY_COLUMNS " FROM memory_forgotten "
			  "WHERE session_id = ?2 AND batch = (SELECT max(batch) "
			  "FROM memory_forgotten WHERE session_id = ?2) ORDER BY id",
			  DB_ARGS(db_i64(memory_now_s()), db_text(session_id)), e);

	if (rc < 0 || (rc = collect(&r, a, &list, &used, e)) < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < used; i++) {
		rc = load(db, list[i].id, a, &there, NULL);
		if (rc == OK) /* imported meanwhile */
			continue;
		if (rc == E_NOENT && (rc = insert(tx, &list[i], &id, e)) == OK)
			list[left++] = list[i];
	}
	if (rc == OK && used)
		rc = db_run(db,
			    "DELETE FROM memory_forgotten WHERE session_id = ?1 AND batch = "
			    "(SELECT max(batch) FROM memory_forgotten WHERE session_id = ?1)",
			    DB_ARGS(db_text(session_id)), NULL, e);
	if (rc < 0)
		return rc;
	*back = list;
	*n = left;
	return OK;
}

int store_memory_snapshot_get(struct store *s, str session_id, struct arena *a,
			      struct memory_snapshot *out, struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s,
			"SELECT epoch, rev, ids, content, summary_hash, used_at_ms "
			"FROM memory_snapshots WHERE session_id = ?1",
			DB_ARGS(db_text(session_id)), e);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return err_set(e, E_NOENT, "no snapshot");
	*out = (struct memory_snapshot){
		.epoch = rows_i64(&l.r, 0),
		.rev = rows_i64(&l.r, 1),
		.ids = rows_text(&l.r, 2, a),
		.text = rows_text(&l.r, 3, a),
		.summary_hash = rows_i64(&l.r, 4),
		.used_at_ms = rows_i64(&l.r, 5),
	};
	return OK;
}

int store_memory_snapshot_set(struct tx *tx, str session_id, const struct memory_snapshot *in,
			      struct err *e)
{
	return db_run(tx_db(tx),
		      "INSERT INTO memory_snapshots (session_id, epoch, rev, ids, content, "
		      "summary_hash, used_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
		      "ON CONFLICT (session_id) DO UPDATE SET epoch = excluded.epoch, "
		      "rev = excluded.rev, ids = excluded.ids, content = excluded.content, "
		      "summary_hash = excluded.summary_hash, used_at_ms = excluded.used_at_ms",
		      DB_ARGS(db_text(session_id), db_i64(in->epoch), db_i64(in->rev),
			      db_text(in->ids), db_text(in->text), db_i64(in->summary_hash),
			      db_i64(in->used_at_ms)),
		      NULL, e);
}

int store_memory_rev(struct store *s, int64_t *rev, int64_t *added, struct err *e)
{
	SCOPED(glance_end) struct glance l = { 0 };
	int rc = glance(&l, s, "SELECT rev, added FROM memory_state", DB_NO_ARGS, e);

	if (rc < 0)
		return rc;
	*rev = rc ? rows_i64(&l.r, 0) : 0;
	*added = rc ? rows_i64(&l.r, 1) : 0;
	return OK;
}

int store_memory_used(struct tx *tx, str turn_id, const int64_t *ids, size_t n, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = db_run(tx_db(tx),
			    "INSERT INTO memory_uses (memory_id, message_id, line) "
			    "SELECT ?2, max(id), ?3 FROM turn_messages WHERE turn_id = ?1 "
			    "AND role = 'user'",
			    DB_ARGS(db_text(turn_id), db_i64(ids[i]), db_i64((int64_t)i + 1)),
			    NULL, e);
	return rc;
}

int store_message_context(struct tx *tx, str turn_id, str more, struct err *e)
{
	struct turn_row t;
	int rc = turn_row_live(&t, tx, turn_id, e);

	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "UPDATE turn_messages SET context = context || ?2 "
			       "WHERE turn_id = ?1 AND round = 0 AND idx = 0",
			       DB_ARGS(db_text(turn_id), db_text(more)), NULL, e);
}
