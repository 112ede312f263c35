/*
 * The toolset: what the sources offer, put together and sorted.
 */
#include "config/confine.h"
#include "os/http.h"
#include "tools/builtin.h"
#include "tools/dynamic.h"
#include "tools/gate.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Handles of its own: no connection of the model's is used for a page. */
static int open_web(struct http_pool **out, const struct tools_opt *opt, struct err *e)
{
	struct http_opt web = {
		.ca_file = opt->http ? opt->http->ca_file.p : NULL,
		.user_agent = "gantry",
	};

	return http_pool_open(out, &web, e);
}

int tools_open(struct tools **out, const struct tools_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct http_pool *web = NULL;
	int rc = tools_fs_enabled(opt) ? beneath_supported(e) : OK;

	if (rc == OK && opt->web && opt->web->enabled)
		rc = open_web(&web, opt, e);
	if (rc < 0)
		return rc;
	struct tools *t = NEW(&a, struct tools);
	t->opt = *opt;
	t->env.opt = &t->opt;
	t->env.web = web;
	t->env.tools = t;
	t->env.files = (struct beneath){
		.roots = &t->opt.workspace,
		.n = t->opt.workspace.n > 0,
		.home = opt->home,
		.own_file = opt->own_file,
		.own_arg = opt->own_arg,
		.own_path = opt->own_path.n ? arena_cstr(&a, opt->own_path) : NULL,
	};
	if (opt->fs && opt->fs->roots.n) {
		t->env.files.roots = opt->fs->roots.v;
		t->env.files.n = opt->fs->roots.n;
	}
	tools_builtin_source(&t->builtin, &t->env);
	if ((rc = tools_policy(&t->policy, opt, e)) < 0) {
		http_pool_close(web);
		arena_free(&a);
		return rc;
	}
	t->arena = a;
	tools_hide(t, opt->secrets, opt->secrets_n);
	*out = t;
	return OK;
}

void tools_hide(struct tools *t, const str *secrets, size_t n)
{
	struct str_list *list = NEW(&t->arena, struct str_list);

	*list = str_list_copy(&t->arena, (struct str_list){ secrets, n });
	atomic_store(&t->secrets, list);
}

void tools_close(struct tools *t)
{
	if (!t)
		return;
	policy_close(t->policy);
	http_pool_close(t->env.web);
	/* t lives in its own arena. */
	struct arena a = t->arena;
	arena_free(&a);
}

struct list {
	const struct memory_cfg *memory;
	struct arena *a;
	struct tool_spec *v;
	size_t n, room;
};

static void add(void *arg, const struct tool_spec *spec)
{
	struct list *l = arg;

	if (l->n == l->room) {
		size_t more = l->room ? l->room * 2 : 32;
		l->v = arena_grow(l->a, l->v, l->room * sizeof *l->v, more * sizeof *l->v);
		l->room = more;
	}
	struct tool_spec *s = &l->v[l->n++];
	*s = *spec;
	/* A server that is to remember does it under the names of our own tools. */
	if (l->memory && l->memory->enabled && s->server.n &&
	    str_eq(s->server, memory_server(l->memory)) &&
	    (str_eq(s->tool, S("memory_store")) || str_eq(s->tool, S("memory_recall")) ||
	     str_eq(s->tool, S("memory_forget"))))
		s->name = s->tool;
}

/* By name; of two with one name ours comes first. */
static int by_name(const void *x, const void *y)
{
	const struct tool_spec *s = x, *t = y;
	int c = str_cmp(s->name, t->name);

	return c ? c : str_cmp(s->server, t->server);
}

void tools_snapshot(const struct tools *t, struct arena *a, struct toolset *out)
{
	struct list l = { .a = a, .memory = t->opt.memory };
	size_t n = 0;

	t->builtin.list(&t->builtin, a, add, &l);
	if (t->opt.mcp)
		t->opt.mcp->list(t->opt.mcp, a, add, &l);
	if (l.n > 1)
		qsort(l.v, l.n, sizeof *l.v, by_name);
	for (size_t i = 0; i < l.n; i++)
		if (n == 0 || !str_eq(l.v[i].name, l.v[n - 1].name))
			l.v[n++] = l.v[i];
	*out = (struct toolset){ .v = l.v, .n = n };
	for (size_t i = 0; t->opt.dynamic && i < n; i++)
		if (str_eq(l.v[i].name, str_of(tool_tools_enable.name)))
			l.v[i].description = dynamic_index(out, a);
}

str tools_sandbox_text(const struct tools *t, struct arena *a)
{
	return tool_exec.enabled(&t->opt)
		       ? config_sandbox_text(a, &t->opt.exec->sandbox, t->opt.box)
		       : S("");
}

int64_t toolset_tokens(const struct toolset *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n; i++)
		if (!set->off || !set->off[i])
			n += set->v[i].name.n + set->v[i].description.n + set->v[i].schema.n;
	return (int64_t)(n / 4);
}
