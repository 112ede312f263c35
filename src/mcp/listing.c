/*
 * Lists of tools.  What a server leaves out gets its default here, once, so that nobody
 * after this has to ask.
 */
#include "mcp/listing.h"

#include "base/utf.h"

#include "text/sha256.h"

#define TOOLS_MAX 4096
#define BYTES_MAX ((size_t)32 << 20)
#define NAME_MAX_BYTES 256
#define PRINT_DIGITS 32
#define NO_SCHEMA "{\"type\":\"object\",\"properties\":{}}"

void mcp_listing_done(struct mcp_listing *l)
{
	arena_free(&l->a);
	*l = (struct mcp_listing){ 0 };
}

static str schema_text(struct arena *a, const struct json *schema, str none)
{
	struct buf b = buf_in(a, BYTES_MAX);

	if (!json_is(schema, JSON_OBJECT))
		return none;
	json_write(&b, schema);
	return b.full ? none : buf_str(&b);
}

/* A hash that nobody can find a second text for: what was allowed by somebody
 * is bound to it. */
static str print_of(struct arena *a, const struct mcp_tool *t)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	const char flags[] = { t->read_only ? 'r' : '-', t->destructive ? 'd' : '-',
			       t->idempotent ? 'i' : '-' };
	const str parts[] = { t->tool,   t->title,  t->description,
			      t->schema, t->output, { flags, sizeof flags } };
	struct buf b = buf_in(&tmp, 2 * BYTES_MAX);

	for (size_t i = 0; i < COUNT(parts); i++) {
		buf_fmt(&b, "%zu:", parts[i].n);
		buf_add(&b, parts[i]);
	}
	return arena_dup(a, str_sub(sha256_hex(&tmp, buf_str(&b)), 0, PRINT_DIGITS));
}

/* The picture is never fetched. */
static str icon_text(struct arena *a, const struct json *icons)
{
	const struct json *icon = json_at(icons, 0);
	str kind = utf_head(json_str(icon, "mimeType"), 40);
	str size = utf_head(json_text(json_at(json_get(icon, "sizes"), 0)), 20);

	if (!json_is(icons, JSON_ARRAY) || !json_is(icon, JSON_OBJECT))
		return S("");
	return arena_fmt(a, "%.*s%s%.*s", STRF(kind.n ? kind : S("picture")), size.n ? " " : "",
			 STRF(size));
}

static void add_tool(struct mcp_listing *l, const struct json *v)
{
	const struct json *hints = json_get(v, "annotations");
	str name = arena_dup(&l->a, json_str(v, "name"));
	str title = json_str(v, "title");
	struct mcp_tool *t;

	if (!name.n || name.n > NAME_MAX_BYTES || map_get(&l->seen, name)) {
		l->dropped++;
		return;
	}
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;

		l->tools = arena_grow(&l->a, l->tools, l->cap * sizeof(*t), cap * sizeof(*t));
		l->cap = cap;
	}
	t = &l->tools[l->n++];
	t->tool = name;
	t->title = arena_dup(&l->a, title.n ? title : json_str(hints, "title"));
	t->icon = icon_text(&l->a, json_get(v, "icons"));
	t->description = arena_dup(&l->a, json_str(v, "description"));
	t->schema = schema_text(&l->a, json_get(v, "inputSchema"), S(NO_SCHEMA));
	t->output = schema_text(&l->a, json_get(v, "outputSchema"), S(""));
	t->read_only = json_bool(hints, "readOnlyHint", false);
	t->destructive = !t->read_only && json_bool(hints, "destructiveHint", true);
	t->idempotent = json_bool(hints, "idempotentHint", false);
	t->as_task = str_is(json_str(json_get(v, "execution"), "taskSupport"), "required");
	t->print = print_of(&l->a, t);
	(void)map_set(&l->seen, &l->a, name, &l->seen);
}

int mcp_listing_add(struct mcp_listing *l, const struct json *result, struct err *e)
{
	const struct json *tools = json_get(result, "tools");

	if (!json_is(tools, JSON_ARRAY))
		return err_set(e, E_PROTO, "the answer to tools/list has no array \"tools\"");
	for (const struct json *v = tools->child; v; v = v->next) {
		if (l->n == TOOLS_MAX)
			return err_set(e, E_LIMIT, "more than %d tools", TOOLS_MAX);
		if (l->a.used > BYTES_MAX)
			return err_set(e, E_LIMIT, "the list of tools is over %zu MiB",
				       BYTES_MAX >> 20);
		add_tool(l, v);
	}
	return OK;
}

str mcp_listing_text(const struct mcp_listing *l, struct arena *a)
{
	struct buf b = buf_in(a, 4 * BYTES_MAX);

	buf_add(&b, S("{\"tools\":["));
	for (size_t i = 0; i < l->n; i++) {
		const struct mcp_tool *t = &l->tools[i];

		buf_add(&b, i ? S(",{") : S("{"));
		buf_json_member(&b, "name", t->tool);
		if (t->title.n)
			buf_json_member(&b, "title", t->title);
		if (t->description.n)
			buf_json_member(&b, "description", t->description);
		buf_json_key(&b, "inputSchema");
		buf_add(&b, t->schema);
		if (t->output.n) {
			buf_json_key(&b, "outputSchema");
			buf_add(&b, t->output);
		}
		if (t->as_task)
			buf_add(&b, S(",\"execution\":{\"taskSupport\":\"required\"}"));
		buf_fmt(&b,
			",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":%s,"
			"\"idempotentHint\":%s}}",
			t->read_only ? "true" : "false", t->destructive ? "true" : "false",
			t->idempotent ? "true" : "false");
	}
	buf_add(&b, S("]}"));
	return buf_str(&b);
}
