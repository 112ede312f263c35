/*
 * watch_add, watch_list, watch_cancel: have a tool asked from time to time, and be woken only for
 * what is new.  The looking itself is in agent/watch.
 */
#include "os/clock.h"
#include "sched/when.h"
#include "store/watch.h"
#include "tools/builtin.h"

#define INTERVAL_MIN_MS INT64_C(60000)
#define INTERVAL_MAX_MS (INT64_C(7) * 86400000)
#define INTERVAL_MS (INT64_C(15) * 60000)
#define ARGS_MAX 8192

static bool enabled(const struct tools_opt *opt)
{
	return opt->watch && opt->watch->enabled && opt->store;
}

/* A duration, or a number of seconds. */
static bool interval_of(str s, int64_t *ms)
{
	int64_t seconds;

	s = str_trim(s);
	*ms = INTERVAL_MS;
	if (s.n == 0)
		return true;
	if (str_i64(s, &seconds))
		*ms = seconds > 0 && seconds < INTERVAL_MAX_MS ? seconds * 1000 : 0;
	else if (!when_duration(s, ms))
		return false;
	return *ms >= INTERVAL_MIN_MS && *ms <= INTERVAL_MAX_MS;
}

struct add {
	struct watch watch;
	int64_t max;
	struct arena *a;
};

static int add_effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	struct add *x = arg;
	int64_t id = 0;
	int rc = store_watch_add(tx, &x->watch, x->max, &id, e);

	if (rc == E_LIMIT)
		return tool_fail(out, x->a, "%s", e->msg);
	if (rc == OK)
		out->text = arena_fmt(
			x->a,
			"watching id=%lld: %.*s every %.*s; what is there now counts as known",
			(long long)id, STRF(x->watch.tool),
			STRF(when_duration_text(x->a, x->watch.interval_ms)));
	return rc;
}

/* What is no object becomes {}. */
static str args_of(const struct json *args, struct arena *a)
{
	const struct json *v = json_get(args, "args");
	struct json *inner;
	struct buf b = buf_in(a, ARGS_MAX);

	if (json_is(v, JSON_STRING) && json_read(&inner, a, v->s, NULL) == OK)
		v = inner;
	if (!json_is(v, JSON_OBJECT))
		return S("{}");
	json_write(&b, v);
	return b.full ? S("") : buf_str(&b);
}

static int add(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct add *x = NEW(a, struct add);
	str tool = str_trim(json_str(args, "tool"));

	(void)c;
	(void)e;
	if (!tools_in_a_chat(env))
		return tool_fail(out, a, "there is no chat here that news could go to");
	if (!str_has(tool, S("__")))
		return tool_fail(out, a, "tool must be a tool of a server, as SERVER__TOOL");
	*x = (struct add){
		.watch = { .channel = arena_dup(a, env->ctx->channel),
			   .address = arena_dup(a, env->ctx->address),
			   .sender = arena_dup(a, env->ctx->requester),
			   .tool = tool,
			   .args = args_of(args, a),
			   .label = str_trim(json_str(args, "label")) },
		.max = env->opt->watch->max,
		.a = a,
	};
	if (!x->watch.args.n)
		return tool_fail(out, a, "args have more than %d bytes", ARGS_MAX);
	if (json_is(json_get(args, "interval"), JSON_INT))
		x->watch.interval_ms = json_i64(args, "interval", 0) * 1000;
	else if (!interval_of(json_str(args, "interval"), &x->watch.interval_ms))
		x->watch.interval_ms = 0;
	if (x->watch.interval_ms < INTERVAL_MIN_MS || x->watch.interval_ms > INTERVAL_MAX_MS)
		return tool_fail(out, a,
				 "interval must be a duration from 1m to 7 days, such as 15m");
	*out = (struct tool_result){ .text = S("watching"),
				     .effect = add_effect,
				     .effect_arg = x };
	return OK;
}

const struct tool tool_watch_add = {
	.name = "watch_add",
	.title = "Watch",
	.description =
		"Have a tool called from time to time, without you, and be woken only when its "
		"list has new items. The tool must answer with a JSON list whose items have "
		"ids "
		"or links. What is there at first counts as known.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"tool\":{\"type\":\"string\",\"description\":\"SERVER__TOOL\"},"
		  "\"args\":{\"type\":\"object\",\"description\":\"its arguments\"},"
		  "\"interval\":{\"type\":\"string\",\"description\":\"15m (default), 1h, ...; "
		  "1m to 7 days\"},"
		  "\"label\":{\"type\":\"string\",\"description\":\"what it is, for people\"}},"
		  "\"required\":[\"tool\"],\"additionalProperties\":false}",
	.safe = true, /* its effect is one commit with its result */
	.enabled = enabled,
	.run = add,
};

static int list(const struct tool_env *env, const struct json *args, struct arena *a,
		struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, 1u << 20);
	struct watch *v;
	size_t n;

	(void)args;
	(void)c;
	if (!tools_in_a_chat(env))
		return tool_fail(out, a, "there is no chat here");
	int rc = store_watch_list(env->opt->store, env->ctx->channel, env->ctx->address, a, &v,
				  &n, e);
	for (size_t i = 0; rc == OK && i < n && i < 100; i++)
		buf_fmt(&b, "#%lld  %.*s  %.*s %.*s  every %.*s%s%.*s\n", (long long)v[i].id,
			STRF(v[i].label), STRF(v[i].tool), STRF(v[i].args),
			STRF(when_duration_text(a, v[i].interval_ms)),
			v[i].last_error.n ? "  last look failed: " : "", STRF(v[i].last_error));
	if (rc == OK)
		*out = (struct tool_result){ .text = n ? buf_str(&b) : S("no active watches") };
	return rc;
}

const struct tool tool_watch_list = {
	.name = "watch_list",
	.title = "List watches",
	.description = "List what is watched for this chat, with the ids.",
	.schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
	.safe = true,
	.enabled = enabled,
	.run = list,
};

static int cancel(const struct tool_env *env, const struct json *args, struct arena *a,
		  struct tool_result *out, const struct cancel *c, struct err *e)
{
	(void)c;
	(void)e;
	return tool_cancel_in_chat(
		env, args, a, out,
		&(struct tool_cancel){ "watch", "watch_list", store_watch_cancel });
}

const struct tool tool_watch_cancel = {
	.name = "watch_cancel",
	.title = "Cancel a watch",
	.description = "Stop watching something in this chat, by its id from watch_list.",
	.schema = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":[\"integer\","
		  "\"string\"]}},\"required\":[\"id\"],\"additionalProperties\":false}",
	.safe = true,
	.enabled = enabled,
	.run = cancel,
};
