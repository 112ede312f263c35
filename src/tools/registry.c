/*
 * The built-in tools: one row each, and the source that makes tool specs of them.
 */
#include "tools/builtin.h"

#include "store/memory.h"

#include <stdarg.h>
#include <stdio.h>

#define TIMEOUT_MS 60000
#define OBJECT_MAX ((size_t)16 << 20)

static const struct tool *const registry[] = {
	&tool_read_file,    &tool_write_file,    &tool_edit_file,         &tool_list_dir,
	&tool_exec,         &tool_cron_schedule, &tool_cron_list,         &tool_cron_cancel,
	&tool_memory_store, &tool_memory_recall, &tool_memory_forget,     &tool_web_fetch,
	&tool_watch_add,    &tool_watch_list,    &tool_watch_cancel,      &tool_self_note,
	&tool_tools_enable, &tool_mcp_resources, &tool_mcp_read_resource,
};

static void list(const struct tool_source *self, struct arena *a,
		 void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	const struct tool_env *env = self->arg;

	(void)a;
	for (size_t i = 0; i < COUNT(registry); i++) {
		const struct tool *t = registry[i];
		const struct tool_spec spec = {
			.name = str_of(t->name),
			.title = str_of(t->title),
			.description = str_of(t->description),
			.schema = str_of(t->schema),
			.safe = t->safe,
			.shell = t->shell,
			.own_cap = true,
			.source = self,
			.impl = t,
		};
		if (t->enabled(env->opt))
			add(arg, &spec);
	}
}

static int call(const struct tool_source *self, const struct tool_spec *spec, str args,
		const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		const struct cancel *c, struct err *e)
{
	const struct tool *t = spec->impl;
	SCOPED(cancel_done) struct cancel limit = { .fd = -1 };
	struct json *object;

	struct tool_env env = *(const struct tool_env *)self->arg;

	env.ctx = ctx;
	if (args.n > OBJECT_MAX)
		return tool_fail(out, a, "the arguments are longer than %zu bytes", OBJECT_MAX);
	int rc = json_read(&object, a, args, e);
	if (rc == OK)
		rc = cancel_init(&limit, c, t->own_time ? 0 : TIMEOUT_MS, e);
	return rc < 0 ? rc : t->run(&env, object, a, out, &limit, e);
}

static str preview(const struct tool_source *self, const struct tool_spec *spec, str args,
		   size_t max, struct arena *a)
{
	const struct tool *t = spec->impl;
	struct json *object;

	if (!t->preview || args.n > OBJECT_MAX || json_read(&object, a, args, NULL) < 0)
		return S("");
	return t->preview(self->arg, object, max, a);
}

void tools_builtin_source(struct tool_source *out, const struct tool_env *env)
{
	/* Sources are read-only to their users; so is what arg points to. */
	union {
		const struct tool_env *in;
		void *out;
	} arg = { .in = env };

	*out = (struct tool_source){
		.name = "builtin",
		.list = list,
		.call = call,
		.preview = preview,
		.arg = arg.out,
	};
}

bool tools_fs_enabled(const struct tools_opt *opt)
{
	return opt->fs && opt->fs->enabled && (opt->fs->roots.n || opt->workspace.n);
}

bool tools_memory_enabled(const struct tools_opt *opt)
{
	return opt->store && opt->memory && opt->memory->enabled &&
	       memory_server(opt->memory).n == 0;
}

str tool_memories(struct arena *a, const struct memory *list, size_t n)
{
	struct buf b = buf_in(a, 1u << 20);

	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%sid=%lld %.*s", i ? "\n" : "", (long long)list[i].id,
			STRF(memory_line(a, &list[i])));
	return buf_str(&b);
}

int tool_fail(struct tool_result *out, struct arena *a, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	*out = (struct tool_result){
		.text = arena_fmt(a, "error: %s", text),
		.failed = true,
		.not_run = true,
	};
	return OK;
}

bool tool_arg_i64(const struct json *args, const char *key, int64_t def, int64_t *out)
{
	const struct json *v = json_get(args, key);

	*out = def;
	if (!v || json_is(v, JSON_NULL))
		return true;
	if (json_is(v, JSON_STRING))
		return str_i64(str_trim(v->s), out);
	*out = json_i64(args, key, 0);
	/* The default comes back only for what is no integer. */
	return *out == json_i64(args, key, 1);
}
