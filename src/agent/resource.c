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

static int done(struct agent *ag, const struct system_row *row, const struct resource_watch *w,
		str text, str meta, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, ag->opt.store, NULL, e)) < 0 ||
	    (w && (rc = store_resource_tell(&tx, w, text, meta, e)) < 0) ||
	    (rc = store_system_done(&tx, row->id, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

int resource_run(struct agent *ag, const struct system_row *row, const struct cancel *c,
		 struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf meta = buf_in(&a, 4096);
	struct resource_watch w;
	bool gone;
	int rc = read_row(ag, row, &a, &w, &gone, e);

	(void)c;
	if (rc < 0 || gone)
		return rc < 0 ? rc : done(ag, row, NULL, S(""), S(""), e);
	str uri = text_line(&a, w.uri, 2000);
	str text = arena_fmt(
		&a,
		"[resource] Tool server %.*s says that its resource %.*s, to which this chat "
		"is subscribed, has changed. Nobody typed this. Read it with "
		"mcp_read_resource where that is needed, and tell the user what is worth "
		"telling; when nothing is, begin your answer with a line that says [silent].",
		STRF(w.server), STRF(uri));
	buf_addc(&meta, '{');
	buf_json_member(&meta, "label",
			arena_fmt(&a, "📄 %.*s:", STRF(text_line(&a, w.uri, LABEL_MAX))));
	buf_addc(&meta, '}');
	return done(ag, row, &w, text, buf_str(&meta), e);
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
		return rc < 0 ? rc : done(ag, row, NULL, S(""), S(""), e);
	buf_addc(&params, '{');
	buf_json_member(&params, "uri", w.uri);
	buf_addc(&params, '}');
	const struct mcp_request q = { .server = w.server,
				       .method = "resources/subscribe",
				       .params = buf_str(&params),
				       .timeout_ms = ASK_MS };
	if ((rc = mcp_host_request(ag->opt.host, &q, &a, &result, c, e)) < 0)
		return rc;
	return done(ag, row, NULL, S(""), S(""), e);
}
