/*
 * cron_schedule, cron_list, cron_cancel: schedules as the model makes them, each for the chat it
 * talks in.
 */
#include "config/zones.h"
#include "os/clock.h"
#include "tools/builtin.h"
#include "tools/job_words.h"

#define PROMPT_MAX 8000
#define ECHOED 3

static bool enabled(const struct tools_opt *opt)
{
	return opt->cron && opt->cron->enabled && opt->store;
}

/* --- cron_schedule ---------------------------------------------------------------------- */

struct add {
	struct job job;
	struct sched s;
	const struct zone *z;
	int64_t max, now_ms;
	struct arena *a;
};

static int add_effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	struct add *x = arg;
	int64_t id = 0;
	int rc = store_job_add(tx, &x->job, x->max, &id, e);

	if (rc == E_LIMIT)
		return tool_fail(out, x->a, "%s", e->msg);
	if (rc < 0)
		return rc;
	struct job job = x->job;
	job.id = id;
	out->text = arena_fmt(
		x->a, "scheduled id=%lld (%.*s); next: %.*s; time zone %.*s", (long long)id,
		STRF(job_schedule(&job, x->a)),
		STRF(when_next_words(&x->s, x->a, x->z, x->s.first_at_ms, x->now_ms, ECHOED)),
		STRF(x->job.zone));
	return OK;
}

static int schedule(const struct tool_env *env, const struct json *args, struct arena *a,
		    struct tool_result *out, const struct cancel *c, struct err *e)
{
	str prompt = str_trim(json_str(args, "prompt"));
	struct add *x = NEW(a, struct add);
	struct err why = { 0 };

	(void)c;
	(void)e;
	if (!tools_in_a_chat(env))
		return tool_fail(out, a,
				 "there is no chat here that a scheduled answer could go to");
	if (prompt.n == 0)
		return tool_fail(out, a, "prompt is empty: say what is to be done then");
	if (prompt.n > PROMPT_MAX)
		return tool_fail(out, a, "prompt has more than %d bytes", PROMPT_MAX);
	*x = (struct add){ .a = a, .max = env->opt->cron->max_jobs, .now_ms = clock_now_ms() };
	if (zone_load(&x->z, a, env->opt->cron->zone, NULL, &why) < 0 ||
	    when_parse(&x->s, a, json_str(args, "when"), json_str(args, "repeat"), x->now_ms,
		       x->z, &why) < 0)
		return tool_fail(out, a, "%s", why.msg);
	x->job = (struct job){
		.channel = arena_dup(a, env->ctx->channel),
		.address = arena_dup(a, env->ctx->address),
		.sender = arena_dup(a, env->ctx->requester),
		.prompt = prompt,
		.kind = str_of(sched_kind_word(x->s.kind)),
		.expr = x->s.expr,
		.zone = env->opt->cron->zone,
		.catch_up = true,
		.next_at_ms = x->s.first_at_ms,
	};
	*out = (struct tool_result){ .text = S("scheduled"),
				     .effect = add_effect,
				     .effect_arg = x };
	return OK;
}

const struct tool tool_cron_schedule = {
	.name = "cron_schedule",
	.title = "Schedule",
	.description =
		"Do something later, once or again and again: a reminder, a summary every "
		"morning. At that time you get the prompt as a message and your answer goes to "
		"this chat. Write the prompt so that it can be understood alone. Times are in "
		"the user's time zone.",
	.schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"prompt\":{\"type\":\"string\",\"description\":\"What to do then.\"},"
		"\"when\":{\"type\":\"string\",\"description\":\"in 30m | 17:00 | 5pm | "
		"tomorrow "
		"9am | friday 18:00 | 2026-12-24 18:00 | an RFC 3339 time | every:1h | a cron "
		"expression of five fields\"},"
		"\"repeat\":{\"type\":\"string\",\"description\":\"once (default) | daily | "
		"weekdays | weekly\"}},"
		"\"required\":[\"prompt\",\"when\"],\"additionalProperties\":false}",
	.safe = true, /* its effect is one commit with its result */
	.enabled = enabled,
	.run = schedule,
};

/* Some callers are to see nothing but what they made. */
static bool is_there(const struct tool_env *env, const struct job *job)
{
	return !env->ctx->own_only || str_eq(job->sender, env->ctx->requester);
}

/* --- cron_list ----------------------------------------------------------------------------- */

static int list(const struct tool_env *env, const struct json *args, struct arena *a,
		struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct buf b = buf_in(a, 1u << 20);
	const struct zone *z = zone_load_or_utc(a, env->opt->cron->zone);
	struct job *v;
	size_t n;

	(void)args;
	(void)c;
	if (!tools_in_a_chat(env))
		return tool_fail(out, a, "there is no chat here");
	int rc = store_job_list(env->opt->store, env->ctx->channel, env->ctx->address, false, a,
				&v, &n, e);
	for (size_t i = 0, shown = 0; rc == OK && i < n && shown < 100; i++) {
		if (!is_there(env, &v[i]))
			continue;
		buf_add(&b, job_line(&v[i], z, clock_now_ms(), a));
		shown++;
	}
	if (rc == OK)
		*out = (struct tool_result){ .text = b.n ? buf_str(&b)
							 : S("no active cron jobs") };
	return rc;
}

const struct tool tool_cron_list = {
	.name = "cron_list",
	.title = "List schedules",
	.description = "List what is scheduled for this chat, with the ids.",
	.schema = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
	.safe = true,
	.enabled = enabled,
	.run = list,
};

/* --- cron_cancel --------------------------------------------------------------------------- */

static int cancel(const struct tool_env *env, const struct json *args, struct arena *a,
		  struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct job job;
	int64_t id = 0;

	(void)c;
	(void)e;
	if (tools_in_a_chat(env) && env->ctx->own_only && tool_arg_i64(args, "id", 0, &id) &&
	    store_job_get(env->opt->store, id, a, &job, NULL) == OK && !is_there(env, &job))
		return tool_fail(out, a, "there is no job %lld of yours", (long long)id);
	return tool_cancel_in_chat(
		env, args, a, out,
		&(struct tool_cancel){ "job", "cron_list", store_job_cancel });
}

const struct tool tool_cron_cancel = {
	.name = "cron_cancel",
	.title = "Cancel a schedule",
	.description = "Cancel something scheduled in this chat, by its id from cron_list.",
	.schema = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":[\"integer\","
		  "\"string\"]}},\"required\":[\"id\"],\"additionalProperties\":false}",
	.safe = true,
	.enabled = enabled,
	.run = cancel,
};
