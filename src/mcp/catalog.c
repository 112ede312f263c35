/*
 * The catalogue: filtered, named, sorted, and with a number that says whether anything in it
 * has changed.
 */
#include "mcp/catalog.h"

#include "mcp/names.h"

#include <stdlib.h>

static int by_origin(const void *x, const void *y)
{
	const struct mcp_tool *p = x, *q = y;
	int d = str_cmp(p->server, q->server);

	return d ? d : str_cmp(p->tool, q->tool);
}

static int by_name(const void *x, const void *y)
{
	return str_cmp(((const struct mcp_tool *)x)->name, ((const struct mcp_tool *)y)->name);
}

/* 0xFF is in no text: it keeps "a", "b" apart from "ab", "". */
static uint64_t mix(uint64_t h, str s)
{
	return str_hash(str_hash(h, s), S("\xff"));
}

static uint64_t rev_of(const struct mcp_tool *tools, size_t n)
{
	uint64_t h = STR_HASH;

	for (size_t i = 0; i < n; i++) {
		const struct mcp_tool *t = &tools[i];
		char flags[4] = { t->read_only ? 'r' : '-', t->destructive ? 'd' : '-',
				  t->idempotent ? 'i' : '-', t->trusted ? 't' : '-' };
		str parts[] = { t->name, t->server, t->tool, t->print, { flags, 4 } };

		for (size_t k = 0; k < COUNT(parts); k++)
			h = mix(h, parts[k]);
	}
	return h;
}

static void copy_tool(struct arena *a, struct mcp_tool *to, const struct mcp_tool *from)
{
	*to = *from;
	to->name = arena_dup(a, from->name);
	to->server = arena_dup(a, from->server);
	to->tool = arena_dup(a, from->tool);
	to->title = arena_dup(a, from->title);
	to->icon = arena_dup(a, from->icon);
	to->description = arena_dup(a, from->description);
	to->schema = arena_dup(a, from->schema);
	to->print = arena_dup(a, from->print);
	to->output = S("");
}

/* The tools that are let through, in the order of server and own name. */
static size_t collect(struct arena *a, struct mcp_source *v, size_t n, struct mcp_tool *tools)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		v[i].published = 0;
		v[i].tokens = 0;
		for (size_t t = 0; t < v[i].listing->n; t++) {
			const struct mcp_tool *from = &v[i].listing->tools[t];

			if (!mcp_names_pass(&v[i].cfg->tools, &v[i].cfg->exclude, from->tool))
				continue;
			copy_tool(a, &tools[k], from);
			tools[k].server = arena_dup(a, v[i].cfg->name);
			tools[k].trusted = v[i].cfg->trusted;
			k++;
		}
	}
	qsort(tools, k, sizeof(*tools), by_origin);
	return k;
}

static struct mcp_source *source_of(struct mcp_source *v, size_t n, str server)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(v[i].cfg->name, server))
			return &v[i];
	return NULL;
}

void mcp_catalog_build(struct arena *a, struct mcp_source *v, size_t n, struct mcp_catalog *out)
{
	struct mcp_named *named;
	struct mcp_tool *tools;
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += v[i].listing->n;
	tools = NEWN(a, struct mcp_tool, total);
	total = collect(a, v, n, tools);
	named = NEWN(a, struct mcp_named, total);
	for (size_t i = 0; i < total; i++) {
		const struct mcp_server_cfg *cfg = source_of(v, n, tools[i].server)->cfg;

		named[i] = (struct mcp_named){ .server = tools[i].server,
					       .tool = tools[i].tool,
					       .prefix = cfg->tools_prefix.n ? cfg->tools_prefix
									     : cfg->name };
	}
	mcp_names(a, named, total);
	for (size_t i = 0; i < total; i++) {
		struct mcp_source *s = source_of(v, n, tools[i].server);

		tools[i].name = named[i].name;
		s->published++;
		s->tokens +=
			(int64_t)(tools[i].name.n + tools[i].description.n + tools[i].schema.n);
	}
	for (size_t i = 0; i < n; i++)
		v[i].tokens /= 4;
	qsort(tools, total, sizeof(*tools), by_name);
	*out = (struct mcp_catalog){ tools, total, rev_of(tools, total) };
}

bool mcp_catalog_owner(const struct mcp_catalog *c, str given, str *server)
{
	for (size_t i = 0; i < c->n; i++) {
		str tool = c->tools[i].name;

		if (!str_ieq(str_sub(tool, 0, given.n), given) ||
		    !str_starts(str_sub(tool, given.n, tool.n), S("__")))
			continue;
		*server = c->tools[i].server;
		return true;
	}
	return false;
}

void mcp_catalog_copy(struct arena *a, const struct mcp_catalog *from, struct mcp_catalog *out)
{
	struct mcp_tool *tools = NEWN(a, struct mcp_tool, from->n);

	for (size_t i = 0; i < from->n; i++)
		copy_tool(a, &tools[i], &from->tools[i]);
	*out = (struct mcp_catalog){ tools, from->n, from->rev };
}
