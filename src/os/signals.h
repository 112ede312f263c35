/*
 * os/signals: signals as a descriptor.
 */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include "base/err.h"

/* Block SIGINT, SIGTERM, SIGHUP, SIGWINCH in this thread and those started later, ignore SIGPIPE,
 * and return a signalfd in *fd.  Before the first thread. */
int signals_open(int *fd, struct err *e) MUSTUSE;

/* The next pending signal number, 0 when there is none. */
int signals_next(int fd);

#endif
