/*
 * chan/telegram_report: the log, as far as the owner wants to hear of it
 * (channels.telegram.error_reporting): lines go to the first user of the allow-list, gathered
 * for a moment, at most one message a minute.
 *
 * Threads  all of it is of the thread that shows what works.
 */
#ifndef CHAN_TELEGRAM_REPORT_H
#define CHAN_TELEGRAM_REPORT_H

#include "base/arena.h"
#include "base/err.h"
#include "os/wait.h"

struct telegram;

struct telegram_report {
	int fd; /* readable when there are lines; -1 none are told */
	bool seen; /* some wait to be told */
	int64_t due_at_ms, next_at_ms; /* monotonic */
};

/* Before that thread starts. */
int telegram_report_start(struct telegram *t, struct err *e) MUSTUSE;

/* Wait as wait_fd() for the bell, and for lines. */
int telegram_report_wait(struct telegram *t, const struct bell *b, int64_t until_ms) MUSTUSE;

/* Is it time to tell?  Else *until_ms is no later than that.  held_ms: not before. */
bool telegram_report_due(const struct telegram_report *r, int64_t now_ms, int64_t held_ms,
			 int64_t *until_ms);

void telegram_report_tell(struct telegram *t, struct arena *a);

#endif
