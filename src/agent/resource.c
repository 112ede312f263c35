/*
 * Changes of resources.  The message and the end of its system row are one commit; what the
 * resource holds now is not fetched, that is the model's business.
 */
#include "agent/resource.h"

#include "agent/internal.h"
#include "store/resource.h"
#include "text/json.h"
#include "text/text.h"

#define ASK_MS 30000
#define LABEL_MAX 80

/* The row's subscription; *gone: there is none any more, and the row is over. */
static int read_row(struct agent *ag, const struct system_row *row, struct arena *a,
		    struct resource_watch *w, bool *gone, struct err *e)
{
	int64_t id = 0;
	int rc = str_i64(row->key, &id) ? store_resource_get(ag->opt.store, id, a, w, e)
					: E_NOENT;

	*gone = rc == E_NOENT || (rc == OK && !ag->opt.cfg->mcp.resources);
	return rc == E_NOENT ? OK : rc;
}

static str text_about(const struct resource_watch *v, size_t n, struct arena *a)
{
	struct buf uris = buf_in(a, 1u << 20);

	for (size_t i = 0; i < n; i++)
		buf_fmt(&uris, "%s%.*s", i ? ", " : "", STRF(text_line(a, v[i].uri, 2000)));
	return arena_fmt(
		a,
		"[resource] Tool server %.*s says that its resource%s %.*s, to which this chat "
		"is subscribed, ha%s changed. Nobody typed this. Read %s with "
		"mcp_read_resource where that is needed, and tell the user what is worth "
		"telling; when nothing is, begin your answer with a line that says [silent].",
		STRF(v[0].server), n > 1 ? "s" : "", STRF(buf_str(&uris)), n > 1 ? "ve" : "s",
		n > 1 ? "them" : "it");
}

static int tell(struct tx *tx, const struct resource_watch *w, struct arena *a, struct err *e)
{
	struct buf meta = buf_in(a, 4096);
	struct resource_watch *v;
	size_t n;
	int rc = store_resource_gather(tx, w, a, &v, &n, e);

	if (rc < 0)
		return rc;
	buf_addc(&meta, '{');
	buf_json_member(&meta, "label",
			arena_fmt(a, "📄 %.*s:",
				  STRF(text_line(a, n > 1 ? w->server : w->uri, LABEL_MAX))));
	buf_addc(&meta, '}');
	return store_resource_tell(tx, v, n, text_about(v, n, a), buf_str(&meta), e);
}

/* The end of the row, with the message or without; or it is put off. */
static int done(struct agent *ag, const struct system_row *row, const struct resource_watch *w,
		struct arena *a, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t at_ms = 0;
	int rc = store_begin(&tx, ag->opt.store, NULL, e);

	if (rc == OK && w)
		rc = store_resource_when(&tx, w, &at_ms, e);
	if (rc == OK && at_ms)
		rc = store_system_put_off(&tx, row->id, at_ms, e);
	if (rc == OK && !at_ms && w)
		rc = tell(&tx, w, a, e);
	if (rc == OK && !at_ms)
		rc = store_system_done(&tx, row->id, e);
	return rc == OK ? store_commit(&tx, e) : rc;
}

int resource_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
		 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct resource_watch w;
	bool gone;
	int rc = read_row(ag, row, &a, &w, &gone, e);

	(void)c;
	return rc < 0 ? rc : done(ag, row, gone ? NULL : &w, &a, e);
}

int resource_again(struct agent *ag, const struct system_row *row, const struct cancel *c,
		   struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf params = buf_in(&a, 16384);
	const struct json *result;
	struct resource_watch w;
	bool gone;
	int rc = read_row(ag, row, &a, &w, &gone, e);

	if (rc < 0 || gone || !ag->opt.host)
		return rc < 0 ? rc : done(ag, row, NULL, &a, e);
	buf_addc(&params, '{');
	buf_json_member(&params, "uri", w.uri);
	buf_addc(&params, '}');
	const struct mcp_request q = { .server = w.server,
				       .method = "resources/subscribe",
				       .params = buf_str(&params),
				       .timeout_ms = ASK_MS };
	if ((rc = mcp_host_request(ag->opt.host, &q, &a, &result, c, e)) < 0)
		return rc;
	return done(ag, row, NULL, &a, e);
}
