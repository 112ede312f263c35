/*
 * os/log: one event, one line, one write to stderr (or a file).
 *
 *	log_info("turn.done", "session=%s rounds=%d ms=%lld", id, rounds, ms);
 *
 * The event is a name from the list in docs/operating.md, the rest key=value pairs; a value
 * with spaces is quoted by the caller with log_q().  Text or JSON lines, UTC times.  The
 * id of the turn the thread works on is added by the sink (the one thread-local of the
 * program).  What is written has passed the redactor that was handed down at start.
 * Debug costs nothing when off.
 *
 * Threads  any.  Blocks only in write(2).
 */
#ifndef OS_LOG_H
#define OS_LOG_H

#include "base/arena.h"
#include "base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_opt {
	enum log_level level;
	bool json;
	const char *file; /* NULL or "": stderr; else appended, 0600 */
	str (*redact)(struct arena *a, str line); /* NULL: none */
};

/* Before the first thread.  May be called again (reload): the new options apply. */
int log_open(const struct log_opt *opt, struct err *e) MUSTUSE;

void log_debug(const char *event, const char *fmt, ...) PRINTF(2, 3);
void log_info(const char *event, const char *fmt, ...) PRINTF(2, 3);
void log_warn(const char *event, const char *fmt, ...) PRINTF(2, 3);
void log_error(const char *event, const char *fmt, ...) PRINTF(2, 3);

/* Set (or with NULL clear) the turn id of this thread. */
void log_turn(const char *turn_id);

/* From now on also keep lines of this level and above, whatever the level of the log is, for
 * somebody who tells them on.  *fd is readable while there are some; it is the log's own. */
int log_keep(enum log_level least, int *fd, struct err *e) MUSTUSE;
/* What was kept since the last time, oldest first, as "LEVEL event pairs" lines, redacted and
 * escaped.  *left_out: how many lines more there was no room for. */
str log_kept(struct arena *a, unsigned *left_out);
/* Whether lines of this thread are left out: what telling them on has to say of itself. */
void log_keep_none(bool none);

/* s as a quoted, escaped, bounded (200 bytes) value for a line. */
str log_q(struct arena *a, str s);

#endif
