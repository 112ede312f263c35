/*
 * os/signals: signals as a descriptor.
 */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include "base/err.h"

/* From now on a write past the limit of file sizes (ulimit -f) fails instead of ending the
 * process without a word.  Not passed on to children. */
int signals_spare(struct err *e) MUSTUSE;

/* Block SIGINT, SIGTERM, SIGHUP, SIGWINCH in this thread and those started later, ignore
 * SIGPIPE, and return a signalfd in *fd.  Before the first thread. */
int signals_open(int *fd, struct err *e) MUSTUSE;

/* From now on SIGINT and SIGTERM act as by default in this thread: the stop has begun, and a
 * second one ends the process at once. */
void signals_default(void);

/* The next pending signal number, 0 when there is none. */
int signals_next(int fd);

#endif
