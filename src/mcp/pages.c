/*
 * Pages of tools.
 */
#include "mcp/pages.h"

#include "base/utf.h"
#include "mcp/result.h"

#define PAGES_MAX 200
#define DEBOUNCE_MS 100
#define LIST_PAUSE_MS 1000
#define CURSOR_MAX 16384
#define META_MAX 8192

void mcp_pages_done(struct mcp_pages *p)
{
	mcp_listing_done(&p->listing);
	p->cursor = (str){ 0 };
}

static void ask(struct mcp_pages *p, _Atomic int64_t *ids, str meta, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 8 * CURSOR_MAX + META_MAX);

	if (p->cursor.n || meta.n) {
		buf_add(&b, S("{"));
		if (p->cursor.n)
			buf_json_member(&b, "cursor", p->cursor);
		if (p->cursor.n && meta.n)
			buf_add(&b, S(","));
		buf_add(&b, meta);
		buf_add(&b, S("}"));
	}
	p->id = atomic_fetch_add(ids, 1) + 1;
	mcp_rpc_request(out, p->id, "tools/list", buf_str(&b));
}

void mcp_pages_ask(struct mcp_pages *p, _Atomic int64_t *ids, str meta, int64_t now_ms,
		   struct buf *out)
{
	mcp_pages_done(p);
	p->n = 0;
	p->due_ms = 0;
	p->ttl_ms = 0;
	p->begun_ms = now_ms;
	ask(p, ids, meta, out);
}

static int read_page(struct mcp_pages *p, const struct mcp_msg *m, struct err *e)
{
	if (m->error)
		return err_set(e, E_PROTO, "tools/list was refused: %.*s",
			       STRF(utf_head(mcp_result_reason(m->error), 150)));
	return mcp_listing_add(&p->listing, m->result, e);
}

int mcp_pages_take(struct mcp_pages *p, const struct mcp_msg *m, _Atomic int64_t *ids, str meta,
		   struct buf *out, str *remark, struct err *e)
{
	str next = json_str(m->result, "nextCursor");
	int rc;

	p->id = 0;
	*remark = (str){ 0 };
	if (m->error && json_i64(m->error, "code", 0) == MCP_METHOD_NOT_FOUND) {
		*remark = S("the server has no tools");
		return MCP_PAGES_WHOLE;
	}
	if ((rc = read_page(p, m, e)) < 0) {
		mcp_pages_done(p);
		return rc;
	}
	p->ttl_ms = json_i64(m->result, "ttlMs", 0);
	if (!next.n)
		return MCP_PAGES_WHOLE;
	if (++p->n >= PAGES_MAX || str_eq(next, p->cursor) || next.n > CURSOR_MAX) {
		*remark = S("the list of tools does not end; what it had so far is taken");
		return MCP_PAGES_WHOLE;
	}
	p->cursor = arena_dup(&p->listing.a, next);
	ask(p, ids, meta, out);
	return MCP_PAGES_MORE;
}

void mcp_pages_changed(struct mcp_pages *p, int64_t now_ms)
{
	/* Not at once, since they come in bursts. */
	if (p->due_ms)
		return;
	p->due_ms = now_ms + DEBOUNCE_MS;
	if (p->due_ms < p->begun_ms + LIST_PAUSE_MS)
		p->due_ms = p->begun_ms + LIST_PAUSE_MS;
}
