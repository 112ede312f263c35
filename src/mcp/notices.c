/*
 * Notices of change.  What is kept of one is its method and, of an update, the URI.
 */
#include "mcp/notices.h"

#define DEBOUNCE_MS 100
#define NOTICES_MAX 64
#define URI_MAX 4096
#define UPDATED "notifications/resources/updated"

static const char *const known[] = {
	"notifications/resources/list_changed",
	"notifications/prompts/list_changed",
	UPDATED,
};

void mcp_notices_done(struct mcp_notices *l)
{
	arena_free(&l->a);
	*l = (struct mcp_notices){ 0 };
}

static bool is_there(const struct mcp_notices *l, const char *method, str uri)
{
	for (const struct mcp_notice *n = l->first; n; n = n->next)
		if (str_is(n->method, method) && str_eq(json_str(n->params, "uri"), uri))
			return true;
	return false;
}

static void add(struct mcp_notices *l, const char *method, str uri)
{
	struct mcp_notice *n = NEW(&l->a, struct mcp_notice);

	n->method = str_of(method);
	if (uri.n) {
		struct json *o = NEW(&l->a, struct json), *v = NEW(&l->a, struct json);

		*v = (struct json){ .type = JSON_STRING,
				    .key = S("uri"),
				    .s = arena_dup(&l->a, uri) };
		*o = (struct json){ .type = JSON_OBJECT, .child = v, .n = 1 };
		n->params = o;
	}
	if (!l->first)
		l->tail = &l->first;
	*l->tail = n;
	l->tail = &n->next;
	l->n++;
}

void mcp_notices_add(struct mcp_notices *l, str method, const struct json *params,
		     int64_t now_ms)
{
	const char *what = NULL;
	str uri = { 0 };

	for (size_t i = 0; i < COUNT(known) && !what; i++)
		what = str_is(method, known[i]) ? known[i] : NULL;
	if (!what)
		return;
	if (str_is(method, UPDATED)) {
		uri = json_str(params, "uri");
		if (!uri.n || uri.n > URI_MAX)
			return;
		if (l->n >= NOTICES_MAX && !is_there(l, what, uri)) {
			what = known[0];
			uri = (str){ 0 };
		}
	}
	if (is_there(l, what, uri))
		return;
	if (!l->due_ms)
		l->due_ms = now_ms + DEBOUNCE_MS;
	add(l, what, uri);
}

bool mcp_notices_take(struct mcp_notices *l, int64_t now_ms, struct mcp_notices *out)
{
	if (!l->due_ms || now_ms < l->due_ms)
		return false;
	*out = *l;
	*l = (struct mcp_notices){ 0 };
	return true;
}
