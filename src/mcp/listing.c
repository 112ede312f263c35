/*
 * Lists of tools.  What a server leaves out gets its default here, once, so that nobody
 * after this has to ask.
 */
#include "mcp/listing.h"

#define TOOLS_MAX 4096
#define BYTES_MAX ((size_t)32 << 20)
#define NAME_MAX_BYTES 256
#define NO_SCHEMA "{\"type\":\"object\",\"properties\":{}}"

void mcp_listing_done(struct mcp_listing *l)
{
	arena_free(&l->a);
	*l = (struct mcp_listing){ 0 };
}

static str schema_text(struct arena *a, const struct json *tool)
{
	const struct json *schema = json_get(tool, "inputSchema");
	struct buf b = buf_in(a, BYTES_MAX);

	if (!json_is(schema, JSON_OBJECT))
		return S(NO_SCHEMA);
	json_write(&b, schema);
	return b.full ? S(NO_SCHEMA) : buf_str(&b);
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
	t->description = arena_dup(&l->a, json_str(v, "description"));
	t->schema = schema_text(&l->a, v);
	t->read_only = json_bool(hints, "readOnlyHint", false);
	t->destructive = !t->read_only && json_bool(hints, "destructiveHint", true);
	t->idempotent = json_bool(hints, "idempotentHint", false);
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
		buf_fmt(&b,
			",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":%s,"
			"\"idempotentHint\":%s}}",
			t->read_only ? "true" : "false", t->destructive ? "true" : "false",
			t->idempotent ? "true" : "false");
	}
	buf_add(&b, S("]}"));
	return buf_str(&b);
}
