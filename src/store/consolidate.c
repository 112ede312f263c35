/*
 * What consolidation has read, in a table of its own: the table memory has the columns people
 * know and no others.  A row that was changed since (another mark) is new again.
 */
#include "store/consolidate.h"
#include "store/rows.h"

#define MONTH_MS (30LL * 24 * 3600 * 1000)

#define ACTIVE                                                                                 \
	"m.kind = 'episode' AND m.superseded_by IS NULL AND (m.expires_at IS NULL "            \
	"OR unixepoch(m.expires_at) > ?1) "

struct list {
	struct consolidate_item *v;
	size_t n;
};

static str source_of(const struct consolidate_item *item)
{
	return item->summary ? S("summary") : S("episode");
}

static str mark_of(struct arena *a, str summary)
{
	return arena_fmt(a, "%016llx", (unsigned long long)str_hash(STR_HASH, summary));
}

static int episodes_of(struct list *l, struct db *db, int64_t limit, struct arena *a,
		       struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, db,
		"SELECT m.id, m.updated_at, m.subject || ': ' || m.content FROM memory m "
		"WHERE " ACTIVE "AND NOT EXISTS (SELECT 1 FROM consolidated c "
		"WHERE c.source = 'episode' AND c.key = CAST(m.id AS TEXT) "
		"AND c.mark = m.updated_at AND (c.done = 1 OR c.attempts >= ?2)) "
		"ORDER BY m.id LIMIT ?3",
		DB_ARGS(db_i64(clock_now_ms() / 1000), db_i64(CONSOLIDATE_ATTEMPTS),
			db_i64(limit)),
		e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		l->v = LIST_ROOM(a, l->v, l->n);
		l->v[l->n++] = (struct consolidate_item){
			.key = arena_fmt(a, "%lld", (long long)rows_i64(&r, 0)),
			.mark = rows_text(&r, 1, a),
			.text = rows_text(&r, 2, a),
		};
		rc = OK;
	}
	return rc;
}

static int was_read(bool *out, struct db *db, const struct consolidate_item *item,
		    struct err *e)
{
	int64_t n = 0;
	int rc = db_number(db,
			   "SELECT count(*) FROM consolidated WHERE source = ?1 AND key = ?2 "
			   "AND mark = ?3 AND (done = 1 OR attempts >= ?4)",
			   DB_ARGS(db_text(source_of(item)), db_text(item->key),
				   db_text(item->mark), db_i64(CONSOLIDATE_ATTEMPTS)),
			   &n, e);

	*out = n > 0;
	return rc;
}

static int summaries_of(struct list *l, struct db *db, int64_t limit, struct arena *a,
			struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int64_t found = 0;
	int rc = db_query(&r, db,
			  "SELECT id, summary FROM sessions WHERE summary <> '' "
			  "AND updated_at_ms > ?1 ORDER BY updated_at_ms DESC",
			  DB_ARGS(db_i64(clock_now_ms() - MONTH_MS)), e);

	while (rc == OK && found < limit && (rc = rows_next(&r, e)) > 0) {
		struct consolidate_item item = { .summary = true, .key = rows_text(&r, 0, a) };
		bool known = false;
		item.text = rows_text(&r, 1, a);
		item.mark = mark_of(a, item.text);
		rc = was_read(&known, db, &item, e);
		if (rc < 0 || known)
			continue;
		l->v = LIST_ROOM(a, l->v, l->n);
		l->v[l->n++] = item;
		found++;
	}
	return rc < 0 ? rc : OK;
}

int store_consolidate_next(struct store *s, int64_t episodes, int64_t summaries,
			   struct arena *a, struct consolidate_item **out, size_t *n,
			   struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	struct list l = { 0 };
	int rc = reader_begin(&r, s, e);

	if (rc == OK)
		rc = episodes_of(&l, r.db, episodes, a, e);
	if (rc == OK)
		rc = summaries_of(&l, r.db, summaries, a, e);
	if (rc < 0)
		return rc;
	*out = l.v;
	*n = l.n;
	return OK;
}

int store_consolidate_same(struct tx *tx, const struct consolidate_item *item, bool *same,
			   struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = item->summary
			 ? db_query(&r, tx_db(tx), "SELECT summary FROM sessions WHERE id = ?1",
				    DB_ARGS(db_text(item->key)), e)
			 : db_query(&r, tx_db(tx),
				    "SELECT m.updated_at, m.subject || ': ' || m.content "
				    "FROM memory m WHERE " ACTIVE
				    "AND m.id = CAST(?2 AS INTEGER)",
				    DB_ARGS(db_i64(clock_now_ms() / 1000), db_text(item->key)),
				    e);

	*same = false;
	if (rc == OK)
		rc = rows_next(&r, e);
	if (rc <= 0)
		return rc;
	*same = item->summary ? str_eq(rows_peek(&r, 0), item->text)
			      : str_eq(rows_text(&r, 0, &a), item->mark) &&
					str_eq(rows_text(&r, 1, &a), item->text);
	return OK;
}

static int note(struct tx *tx, const struct consolidate_item *item, bool done, struct err *e)
{
	return db_run(
		tx_db(tx),
		"INSERT INTO consolidated (source, key, mark, done, attempts, at_ms) "
		"VALUES (?1, ?2, ?3, ?4, 1, ?5) ON CONFLICT (source, key) DO UPDATE SET "
		"attempts = iif(mark = excluded.mark, attempts + 1, 1), mark = excluded.mark, "
		"done = excluded.done, at_ms = excluded.at_ms",
		DB_ARGS(db_text(source_of(item)), db_text(item->key), db_text(item->mark),
			db_i64(done), db_i64(clock_now_ms())),
		NULL, e);
}

int store_consolidate_done(struct tx *tx, const struct consolidate_item *item, struct err *e)
{
	return note(tx, item, true, e);
}

int store_consolidate_failed(struct tx *tx, const struct consolidate_item *item, struct err *e)
{
	return note(tx, item, false, e);
}

int store_consolidate_prune(struct tx *tx, struct err *e)
{
	return db_run(tx_db(tx),
		      "DELETE FROM consolidated WHERE CASE source WHEN 'episode' THEN "
		      "NOT EXISTS (SELECT 1 FROM memory WHERE id = CAST(key AS INTEGER)) ELSE "
		      "NOT EXISTS (SELECT 1 FROM sessions WHERE id = key) END",
		      DB_NO_ARGS, NULL, e);
}
