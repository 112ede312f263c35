/*
 * Subscriptions to resources.  What the server was asked for is its process's; what a chat wants
 * is here, so a start asks again.
 */
#include "store/resource.h"

#include "store/rows.h"
#include "store/system.h"

#define GATHER_MS 2000 /* changes that come together are told together */
#define PAUSE_MS 60000

#define COLUMNS "r.id, r.channel, r.address, r.sender, r.server, r.uri"

static void read_resource_watch(void *one, const struct rows *r, struct arena *a)
{
	*(struct resource_watch *)one = (struct resource_watch){
		.id = rows_i64(r, 0),
		.channel = rows_text(r, 1, a),
		.address = rows_text(r, 2, a),
		.sender = rows_text(r, 3, a),
		.server = rows_text(r, 4, a),
		.uri = rows_text(r, 5, a),
	};
}

/* How many there are beside w: of its server, or with "" of all. */
static int count_others(struct tx *tx, const struct resource_watch *w, str server, int64_t *n,
			struct err *e)
{
	return db_number(tx_db(tx),
			 "SELECT count(*) FROM resource_watches WHERE (?5 = '' OR server = ?5) "
			 "AND NOT (server = ?1 AND uri = ?2 AND channel = ?3 AND address = ?4)",
			 DB_ARGS(db_text(w->server), db_text(w->uri), db_text(w->channel),
				 db_text(w->address), db_text(server)),
			 n, e);
}

int store_resource_add(struct tx *tx, const struct resource_watch *w, int64_t max, int64_t each,
		       struct err *e)
{
	int64_t n = 0;
	int rc = count_others(tx, w, w->server, &n, e);

	if (rc == OK && n >= each)
		return err_set(e, E_LIMIT,
			       "%lld resources of this server are subscribed to already, and "
			       "no more may be",
			       (long long)n);
	if (rc == OK)
		rc = count_others(tx, w, S(""), &n, e);
	if (rc == OK && n >= max)
		return err_set(e, E_LIMIT,
			       "%lld resources are subscribed to already, and no more may be",
			       (long long)n);
	if (rc < 0)
		return rc;
	return db_run(tx_db(tx),
		      "INSERT INTO resource_watches (channel, address, sender, server, uri, "
		      "created_at_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
		      DB_ARGS(db_text(w->channel), db_text(w->address), db_text(w->sender),
			      db_text(w->server), db_text(w->uri), db_i64(clock_now_ms())),
		      NULL, e);
}

int store_resource_remove(struct tx *tx, const struct resource_watch *w, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(tx_db(tx),
			"DELETE FROM resource_watches WHERE server = ?1 AND uri = ?2 "
			"AND channel = ?3 AND address = ?4",
			DB_ARGS(db_text(w->server), db_text(w->uri), db_text(w->channel),
				db_text(w->address)),
			&n, e);

	return rc == OK && n == 0 ? err_set(e, E_NOENT, "no such subscription") : rc;
}

static int read_all(struct store *s, const char *sql, const struct db_arg *args, size_t args_n,
		    struct arena *a, struct resource_watch **out, size_t *n, struct err *e)
{
	const struct list_of q = { sizeof **out, read_resource_watch, sql, args, args_n };

	return list_read(s, &q, a, out, n, e);
}

int store_resource_list(struct store *s, str channel, str address, struct arena *a,
			struct resource_watch **out, size_t *n, struct err *e)
{
	return read_all(s,
			"SELECT " COLUMNS " FROM resource_watches r WHERE ?2 = '' "
			"OR (r.channel = ?1 AND r.address = ?2) ORDER BY r.id",
			DB_ARGS(db_text(channel), db_text(address)), a, out, n, e);
}

int store_resource_get(struct store *s, int64_t id, struct arena *a, struct resource_watch *out,
		       struct err *e)
{
	struct resource_watch *list;
	size_t n;
	int rc = read_all(s, "SELECT " COLUMNS " FROM resource_watches r WHERE r.id = ?1",
			  DB_ARGS(db_i64(id)), a, &list, &n, e);

	if (rc == OK && n == 0)
		return err_set(e, E_NOENT, "no such subscription");
	if (rc == OK)
		*out = list[0];
	return rc;
}

struct due {
	int64_t id, told_at_ms;
};

static int add_rows(struct tx *tx, const char *what, const struct due *v, size_t n,
		    int64_t at_ms, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++) {
		int64_t at = at_ms ? at_ms + GATHER_MS : 0;
		if (at && at < v[i].told_at_ms + PAUSE_MS && v[i].told_at_ms <= at_ms)
			at = v[i].told_at_ms + PAUSE_MS;
		const struct system_new row = {
			.what = str_of(what),
			.key = arena_fmt(&a, "%lld", (long long)v[i].id),
			.ready_at_ms = at,
		};
		rc = store_system_add(tx, &row, e);
	}
	return rc;
}

/* Those of a server's resource, or with server "" all. */
static int find(struct tx *tx, str server, str uri, struct arena *a, struct due **out,
		size_t *n, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT id, told_at_ms FROM resource_watches WHERE ?1 = '' OR "
			  "(server = ?1 AND uri = ?2)",
			  DB_ARGS(db_text(server), db_text(uri)), e);

	*out = NULL;
	*n = 0;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] = (struct due){ rows_i64(&r, 0), rows_i64(&r, 1) };
		rc = OK;
	}
	return rc;
}

int store_resource_changed(struct tx *tx, str server, str uri, int64_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct due *v;
	size_t count;
	int rc = server.n ? find(tx, server, uri, &a, &v, &count, e) : E_NOENT;

	if (rc < 0)
		return rc;
	*n = (int64_t)count;
	return add_rows(tx, RESOURCE_WHAT, v, count, clock_now_ms(), e);
}

int store_resource_again(struct tx *tx, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct due *v;
	size_t n;
	int rc = find(tx, S(""), S(""), &a, &v, &n, e);

	return rc < 0 ? rc : add_rows(tx, RESOURCE_AGAIN_WHAT, v, n, 0, e);
}

#define SAME "r.channel = ?1 AND r.address = ?2 AND r.server = ?3 AND r.id <> ?4"
/* Does the last message about one wait still? */
#define UNREAD(id) "EXISTS (SELECT 1 FROM inbox i WHERE i.id = " id " AND i.state = 'ready')"

int store_resource_when(struct tx *tx, const struct resource_watch *w, int64_t *at_ms,
			struct err *e)
{
	int64_t now = clock_now_ms();
	int rc = db_number(
		tx_db(tx),
		"SELECT coalesce(max(iif(" UNREAD("r.inbox_id") ", ?5, "
								"r.told_at_ms) + ?6), 0) FROM "
								"resource_watches r WHERE " SAME
								" AND r.told_at_ms <= ?5",
		DB_ARGS(db_text(w->channel), db_text(w->address), db_text(w->server),
			db_i64(w->id), db_i64(now), db_i64(PAUSE_MS)),
		at_ms, e);

	if (rc == OK && *at_ms <= now)
		*at_ms = 0;
	return rc;
}

/* They come behind w, which waits for nothing. */
static int add_others(struct tx *tx, const struct resource_watch *w, struct arena *a,
		      struct resource_watch **out, size_t *n, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, tx_db(tx),
			  "SELECT " COLUMNS " FROM resource_watches r JOIN system_rows s "
			  "ON s.what = '" RESOURCE_WHAT "' AND s.key = CAST(r.id AS TEXT) "
			  "AND s.owner = '' WHERE " SAME " AND EXISTS (SELECT 1 FROM "
			  "resource_watches o WHERE o.id = ?4 AND NOT " UNREAD(
				  "o.inbox_id") ") ORDER BY r.id",
			  DB_ARGS(db_text(w->channel), db_text(w->address), db_text(w->server),
				  db_i64(w->id)),
			  e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		read_resource_watch(&(*out)[(*n)++], &r, a);
		rc = OK;
	}
	return rc;
}

int store_resource_gather(struct tx *tx, const struct resource_watch *w, struct arena *a,
			  struct resource_watch **out, size_t *n, struct err *e)
{
	struct resource_watch *v = NULL;
	size_t v_n = 0;

	v = LIST_ROOM(a, v, v_n);
	v[v_n++] = *w;
	int rc = add_others(tx, w, a, &v, &v_n, e);

	for (size_t i = 1; rc == OK && i < v_n; i++)
		rc = db_run(tx_db(tx),
			    "DELETE FROM system_rows WHERE what = '" RESOURCE_WHAT "' "
			    "AND key = CAST(?1 AS TEXT) AND owner = ''",
			    DB_ARGS(db_i64(v[i].id)), NULL, e);
	*out = v;
	*n = v_n;
	return rc;
}

int store_resource_tell(struct tx *tx, const struct resource_watch *w, size_t n, str text,
			str meta, struct err *e)
{
	const struct inbox_new row = { .channel = w->channel,
				       .address = w->address,
				       .kind = S("watch"),
				       .sender = w->sender,
				       .text = text,
				       .meta = meta };
	int64_t there = 0, inbox = 0;
	int rc = db_number(tx_db(tx),
			   "SELECT count(*) FROM resource_watches r WHERE r.id = ?1 AND NOT "
			   "EXISTS (SELECT 1 FROM inbox i WHERE i.id = r.inbox_id "
			   "AND i.state = 'ready')",
			   DB_ARGS(db_i64(w->id)), &there, e);

	if (rc < 0 || there == 0 || (rc = store_inbox_add(tx, &row, &inbox, e)) < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = db_run(tx_db(tx),
			    "UPDATE resource_watches SET inbox_id = ?2, told_at_ms = ?3 "
			    "WHERE id = ?1",
			    DB_ARGS(db_i64(w[i].id), db_i64(inbox), db_i64(clock_now_ms())),
			    NULL, e);
	return rc;
}
