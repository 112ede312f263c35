/*
 * What the tools that belong to a chat share: is there one, and ending something of it by its
 * number.
 */
#include "tools/builtin.h"

bool tools_in_a_chat(const struct tool_env *env)
{
	return env->ctx && env->ctx->address.n && !str_eq(env->ctx->channel, S("cli")) &&
	       !str_eq(env->ctx->channel, S("cron"));
}

/* An effect's argument. */
struct drop {
	struct tool_cancel how;
	int64_t id;
	str channel, address;
	struct arena *a;
};

static int cancel_effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	struct drop *x = arg;
	int rc = x->how.cancel(tx, x->id, x->channel, x->address, e);

	return rc == E_NOENT ? tool_fail(out, x->a, "this chat has no %s %lld; see %s",
					 x->how.what, (long long)x->id, x->how.list)
			     : rc;
}

int tool_cancel_in_chat(const struct tool_env *env, const struct json *args, struct arena *a,
			struct tool_result *out, const struct tool_cancel *how)
{
	struct drop *x = NEW(a, struct drop);

	if (!tools_in_a_chat(env))
		return tool_fail(out, a, "there is no chat here");
	if (!tool_arg_i64(args, "id", 0, &x->id) || x->id < 1)
		return tool_fail(out, a, "id must be the number of a %s; see %s", how->what,
				 how->list);
	x->how = *how;
	x->channel = arena_dup(a, env->ctx->channel);
	x->address = arena_dup(a, env->ctx->address);
	x->a = a;
	*out = (struct tool_result){ .text = arena_fmt(a, "cancelled %s %lld", how->what,
						       (long long)x->id),
				     .effect = cancel_effect,
				     .effect_arg = x };
	return OK;
}
