/*
 * Lines of the log that the owner is told, in the first chat of the allow-list: for whoever
 * runs this where nobody looks at a log.  Nothing of it has to arrive, and what goes wrong in
 * telling is not told.
 */
#include "chan/telegram_internal.h"
#include "chan/telegram_show.h"

#include "os/clock.h"
#include "os/log.h"

#define GATHER_MS 1000 /* trouble seldom comes alone */
#define EVERY_MS 60000

int telegram_keep_log(const struct telegram_cfg *cfg, int *fd, struct err *e)
{
	str level = cfg->error_reporting;

	*fd = -1;
	if (level.n == 0 || str_eq(level, S("off")))
		return OK;
	return log_keep(str_eq(level, S("warn")) ? LOG_WARN : LOG_ERROR, fd, e);
}

int telegram_report_start(struct telegram *t, struct err *e)
{
	t->report = (struct telegram_report){ .fd = -1 };
	return telegram_keep_log(t->opt.cfg, &t->report.fd, e);
}

int telegram_report_wait(struct telegram *t, const struct bell *b, int64_t until_ms)
{
	struct telegram_report *r = &t->report;
	struct pollfd p[] = { { .fd = b->fd, .events = POLLIN },
			      { .fd = r->seen ? -1 : r->fd, .events = POLLIN } };
	int rc = wait_fds(p, COUNT(p), until_ms, &t->stop, NULL);

	if (rc == OK && p[1].revents) {
		int64_t soon = clock_mono_ms() + GATHER_MS;
		r->seen = true;
		r->due_at_ms = soon > r->next_at_ms ? soon : r->next_at_ms;
	}
	return rc;
}

bool telegram_report_due(const struct telegram_report *r, int64_t now_ms, int64_t held_ms,
			 int64_t *until_ms)
{
	int64_t due = r->due_at_ms > held_ms ? r->due_at_ms : held_ms;

	if (!r->seen)
		return false;
	if (due <= now_ms)
		return true;
	if (due < *until_ms)
		*until_ms = due;
	return false;
}

void telegram_report_tell(struct telegram *t, struct arena *a)
{
	unsigned left_out;
	str lines = log_kept(a, &left_out);
	str more = left_out ? arena_fmt(a, "and %u more in the log\n", left_out) : S("");

	t->report.seen = false;
	t->report.next_at_ms = clock_mono_ms() + EVERY_MS;
	if (lines.n == 0 || telegram_owner_chat(t) == 0)
		return;
	log_keep_none(true);
	telegram_show_notice(
		t, telegram_owner_chat(t), 0,
		arena_fmt(a, "\u26a0\ufe0f From my log:\n%.*s%.*s", STRF(lines), STRF(more)),
		a);
	log_keep_none(false);
}
