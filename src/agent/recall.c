/*
 * Hydration.  Everything that goes into a prompt is a row first: the snapshot in its own table,
 * what a message is about in its context block, so that a resumed turn asks what it asked before.
 */
#include "agent/recall.h"

#include "os/clock.h"
#include "os/log.h"
#include "store/memory_forget.h"
#include "text/json.h"
#include "text/text.h"

#define ROWS_MAX 30
#define DURABLE_MAX 20 /* a third is left for what a message is about */
#define KIND_SHARE 5 /* of each kind, before any gets more */
#define COLD_MS 3600000 /* no provider keeps a prefix that long */
#define WEAK 0.2 /* of the best hit: what is less is there by chance */
#define SERVER_MS 5000
#define SERVER_LINE 500

/* Is our own memory on? */
static bool recall_on(const struct agent *ag)
{
	const struct memory_cfg *m = &ag->opt.cfg->memory;

	return m->enabled && memory_server(m).n == 0;
}

static bool holds(str ids, int64_t id, struct arena *a)
{
	return str_has(ids, arena_fmt(a, " %lld ", (long long)id));
}

/* The rows of each kind, the first of them before any kind has more than its share. */
static int durable(struct store *s, struct arena *a, struct memory_snapshot *out, struct err *e)
{
	static const unsigned kinds[] = { MEMORY_PREFERENCE, MEMORY_PERSON, MEMORY_FACT,
					  MEMORY_INSIGHT };
	struct buf ids = buf_in(a, 4096), text = buf_in(a, 1u << 20);
	struct memory *v[COUNT(kinds)];
	size_t n[COUNT(kinds)], take[COUNT(kinds)], left = DURABLE_MAX;

	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct memory_filter f = { .kinds = kinds[i], .limit = DURABLE_MAX };
		int rc = store_memory_list(s, &f, a, &v[i], &n[i], e);
		if (rc < 0)
			return rc;
		take[i] = n[i] < KIND_SHARE ? n[i] : KIND_SHARE;
		left -= take[i];
	}
	buf_addc(&ids, ' ');
	for (size_t i = 0; i < COUNT(kinds); i++) {
		size_t more = n[i] - take[i] < left ? n[i] - take[i] : left;
		left -= more;
		for (size_t k = 0; k < take[i] + more; k++) {
			buf_fmt(&ids, "%lld ", (long long)v[i][k].id);
			buf_fmt(&text, "\n- %.*s", STRF(memory_line(a, &v[i][k])));
		}
	}
	out->ids = buf_str(&ids);
	out->text = buf_str(&text);
	return OK;
}

/* The session's snapshot as it is to be used now; a row. */
static int snapshot(struct agent *ag, struct tx *tx, const struct turn *t, struct arena *a,
		    struct memory_snapshot *out, struct err *e)
{
	struct store *s = ag->opt.store;
	int64_t rev, added, now = clock_now_ms();
	int64_t hash = (int64_t)str_hash(STR_HASH, t->session.summary);
	int rc = store_memory_rev(s, &rev, &added, e);

	if (rc < 0)
		return rc;
	rc = store_memory_snapshot_get(s, t->session.id, a, out, e);
	if (rc < 0 && rc != E_NOENT)
		return rc;
	if (rc == E_NOENT || out->epoch != t->epoch || out->rev != rev - added ||
	    out->summary_hash != hash || now - out->used_at_ms > COLD_MS) {
		*out = (struct memory_snapshot){ .epoch = t->epoch,
						 .rev = rev - added,
						 .summary_hash = hash };
		if ((rc = store_memory_settle(tx, e)) < 0 || (rc = durable(s, a, out, e)) < 0)
			return rc;
	}
	out->used_at_ms = now;
	return store_memory_snapshot_set(tx, t->session.id, out, e);
}

static size_t rows_of(str ids)
{
	size_t n = 0;

	for (size_t i = 1; i < ids.n; i++)
		n += ids.p[i] == ' ';
	return n;
}

int recall_message(struct agent *ag, struct tx *tx, const struct turn *t, str said,
		   struct arena *a, struct recall *out, struct err *e)
{
	struct buf b = buf_in(a, 1u << 20);
	struct memory_snapshot snap;
	struct memory *hits;
	size_t n, used = 0;
	int rc;

	*out = (struct recall){ 0 };
	if (!recall_on(ag))
		return OK;
	if ((rc = snapshot(ag, tx, t, a, &snap, e)) < 0 ||
	    (rc = store_memory_search(ag->opt.store, said, ROWS_MAX + DURABLE_MAX, a, &hits, &n,
				      e)) < 0)
		return rc;
	int64_t *ids = NEWN(a, int64_t, n + 1);
	size_t room = ROWS_MAX - rows_of(snap.ids);
	for (size_t i = 0; i < n && used < room; i++) {
		if (hits[i].score < WEAK * hits[0].score || holds(snap.ids, hits[i].id, a))
			continue;
		buf_fmt(&b, "%s\n- %.*s", used ? "" : "\n\n[memory]",
			STRF(memory_line(a, &hits[i])));
		ids[used++] = hits[i].id;
	}
	*out = (struct recall){ .block = buf_str(&b), .ids = ids, .n = used };
	return OK;
}

int recall_snapshot(struct run *r, str *lines, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct memory_snapshot snap;
	int rc;

	*lines = S("");
	if (!recall_on(r->ag))
		return OK;
	rc = store_memory_snapshot_get(r->ag->opt.store, r->t->session.id, r->a, &snap, e);
	if (rc == OK && snap.epoch == r->t->epoch) {
		*lines = snap.text;
		return OK;
	}
	/* Something of it was forgotten since the turn began. */
	if ((rc < 0 && rc != E_NOENT) ||
	    (rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = snapshot(r->ag, &tx, r->t, r->a, &snap, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	*lines = snap.text;
	return OK;
}

/* What the server answered as a block. */
static str block_of(struct arena *a, str text)
{
	struct buf b = buf_in(a, 1u << 20);
	size_t n = 0;

	for (str rest = text; rest.n && n < ROWS_MAX;) {
		str line = text_line(a, str_trim(str_cut(&rest, '\n')), SERVER_LINE);
		if (line.n == 0)
			continue;
		buf_fmt(&b, "%s\n- %.*s", n++ ? "" : "\n\n[memory]", STRF(line));
	}
	return buf_str(&b);
}

static int ask_server(struct run *r, str said, str *block, struct err *e)
{
	SCOPED(cancel_done) struct cancel limit = { .fd = -1 };
	struct buf args = buf_in(r->a, 1u << 20);
	struct mcp_result result = { 0 };

	buf_addc(&args, '{');
	buf_json_member(&args, "query", said.n ? said : S("*"));
	buf_addc(&args, '}');
	struct mcp_call call = { .server = memory_server(&r->snap->cfg->memory),
				 .tool = S("memory_recall"),
				 .args = buf_str(&args) };
	int rc = cancel_init(&limit, r->token, SERVER_MS, e);
	if (rc == OK)
		rc = mcp_host_call(r->ag->opt.host, &call, r->a, &result, &limit, e);
	*block = rc == OK && !result.failed && !str_starts(result.text, S("no memories"))
			 ? block_of(r->a, result.text)
			 : S("");
	return rc;
}

int recall_from_server(struct run *r, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct memory_cfg *m = &r->snap->cfg->memory;
	struct err why = { 0 };
	str block = S("");

	if (!m->enabled || memory_server(m).n == 0 || r->t->resumed || !r->ag->opt.host)
		return OK;
	int rc = ask_server(r, run_text_of(r->a, r->t->rows, r->t->rows_n), &block, &why);
	if (rc < 0 && cancel_reason(r->token) != CANCEL_NONE)
		return cancel_check(r->token, e);
	if (rc < 0)
		log_warn("memory.server", "server=%.*s err=%.*s", STRF(memory_server(m)),
			 STRF(log_q(r->a, str_of(why.msg))));
	if (block.n == 0)
		return OK;
	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_message_context(&tx, r->t->id, block, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}
