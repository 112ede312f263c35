/*
 * Jobs in words, and the rules about failed runs: a one-shot is tried again three times with
 * growing pauses and then reported; of a job that repeats the first failure in a row is.
 */
#include "tools/job_words.h"

#include "text/json.h"
#include "text/text.h"

#define PROMPT_CHARS 80
#define LATE_MS 120000
#define OVERLAP_WAIT_MS 60000

static const int64_t pauses_ms[] = { 60000, 5 * 60000, 15 * 60000 };

str job_schedule(const struct job *job, struct arena *a)
{
	if (str_eq(job->kind, S("once")))
		return S("once");
	return arena_fmt(a, "%.*s %.*s", STRF(job->kind), STRF(job->expr));
}

static str name_of(const struct job *job, struct arena *a)
{
	return job->config ? job->name : arena_fmt(a, "#%lld", (long long)job->id);
}

/* What stands before its answers. */
static str label(const struct job *job, struct arena *a)
{
	str name = name_of(job, a);

	if (str_eq(job->kind, S("once")))
		return arena_fmt(a, "⏰ Reminder %.*s:", STRF(name));
	return arena_fmt(a, "⏰ Scheduled %.*s (%.*s):", STRF(name), STRF(job_schedule(job, a)));
}

str job_line(const struct job *job, const struct zone *z, int64_t now_ms, struct arena *a)
{
	str next = !job->enabled     ? S("off")
		   : job->running    ? S("running now")
		   : job->next_at_ms ? when_words(a, z, job->next_at_ms, now_ms)
				     : S("over");

	return arena_fmt(a, "%.*s  %.*s  next: %.*s  %.*s\n", STRF(name_of(job, a)),
			 STRF(job_schedule(job, a)), STRF(next),
			 STRF(text_line(a, job->prompt, PROMPT_CHARS)));
}

void job_fire(struct job_fire *out, const struct job *job, const struct zone *z, int64_t at_ms,
	      int64_t now_ms, struct arena *a)
{
	struct buf meta = buf_in(a, 1u << 16);
	bool late = now_ms - at_ms > LATE_MS;

	buf_addc(&meta, '{');
	buf_json_member_i64(&meta, "job", job->id);
	buf_json_member_i64(&meta, "scheduled_at_ms", at_ms);
	buf_json_member(&meta, "label", label(job, a));
	if (job->timeout_ms)
		buf_json_member_i64(&meta, "timeout_ms", job->timeout_ms);
	buf_addc(&meta, '}');
	*out = (struct job_fire){
		.text = arena_fmt(
			a,
			"[cron] Scheduled run of job %.*s (%.*s), due %.*s%s. Nobody typed "
			"this "
			"and nobody can be asked. Your answer goes to the chat; when there is "
			"nothing worth a message, begin it with a line that says [silent].\n\n"
			"%.*s",
			STRF(name_of(job, a)), STRF(job_schedule(job, a)),
			STRF(when_words(a, z, at_ms, now_ms)),
			late ? "; it is late, because the program was not running or asleep"
			     : "",
			STRF(job->prompt)),
		.meta = buf_str(&meta),
		.reason = job->attempt ? arena_fmt(a, "try %d", job->attempt + 1)
			  : late       ? S("late")
				       : S(""),
	};
}

static str failed_words(const struct job *job, const struct job_run *run, struct arena *a)
{
	str why = run->error.n ? run->error : run->reason;

	return arena_fmt(a, "⏰ %.*s failed%s: %.*s\nIt was: %.*s", STRF(name_of(job, a)),
			 job->attempt ? ", also when it was tried again" : "",
			 STRF(text_line(a, why.n ? why : S("it was interrupted"), 300)),
			 STRF(text_line(a, job->prompt, 300)));
}

str job_broken(const struct job *job, str why, struct arena *a)
{
	return arena_fmt(a, "⏰ %.*s is switched off: %.*s\nIt was: %.*s", STRF(name_of(job, a)),
			 STRF(text_line(a, why, 300)), STRF(text_line(a, job->prompt, 300)));
}

static void settle_once(struct job_settle *out, const struct job *job,
			const struct job_run *run, const struct zone *z, int64_t now_ms,
			struct arena *a)
{
	bool error = str_eq(run->state, S("error"));

	if (error && (size_t)run->attempt < COUNT(pauses_ms)) {
		out->retry_at_ms = now_ms + pauses_ms[run->attempt];
		return;
	}
	/* A run begun by hand is not over: its own time comes after that. */
	if (str_eq(run->reason, S("overlap"))) {
		out->retry_at_ms = now_ms + OVERLAP_WAIT_MS;
		return;
	}
	out->over = true;
	if (str_eq(run->reason, S("expired")))
		out->notice = arena_fmt(
			a,
			"⏰ A reminder was due %.*s, but I was not running then, and it is too "
			"late now.\nIt was: %.*s",
			STRF(when_words(a, z, run->scheduled_at_ms, now_ms)),
			STRF(text_line(a, job->prompt, 300)));
	else if (str_starts(run->reason, S("spending.")))
		out->notice =
			arena_fmt(a,
				  "⏰ A reminder was due %.*s, but the limit of %.*s left no "
				  "room for it.\n"
				  "It was: %.*s",
				  STRF(when_words(a, z, run->scheduled_at_ms, now_ms)),
				  STRF(run->reason), STRF(text_line(a, job->prompt, 300)));
	else if (out->failing)
		out->notice = failed_words(job, run, a);
}

void job_settle(struct job_settle *out, const struct job *job, const struct job_run *run,
		const struct zone *z, int64_t now_ms, struct arena *a)
{
	bool stopped = str_eq(run->reason, S("stopped")) || str_eq(run->reason, S("removed"));

	*out = (struct job_settle){
		.failing = str_eq(run->state, S("error")) ||
			   (str_eq(run->state, S("interrupted")) && !stopped),
		.error = text_line(a, run->error, 500),
	};
	if (str_eq(job->kind, S("once")))
		settle_once(out, job, run, z, now_ms, a);
	else if (out->failing && !job->failing)
		out->notice =
			arena_fmt(a, "%.*s\nIt goes on as scheduled (%.*s).",
				  STRF(failed_words(job, run, a)), STRF(job_schedule(job, a)));
}
