/*
 * os/notify: telling the service manager how we are (sd_notify(3)), by datagrams to the socket it
 * names.  Without one, and on any error, nothing happens: it is for them, not for us.
 *
 * Threads  any.
 * Blocks   never: what the manager does not take in time is dropped.
 */
#ifndef OS_NOTIFY_H
#define OS_NOTIFY_H

#include "base/str.h"

struct notify {
	char path[108]; /* of the socket; a leading NUL: abstract.  n 0: there is none */
	unsigned n;
	int64_t watchdog_ms; /* within this it has to be fed, 0: never */
};

/* From the values of NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, "" when unset; what makes no
 * sense counts as unset.  pid is ours. */
void notify_init(struct notify *n, str socket, str watchdog_usec, str watchdog_pid,
		 int64_t pid);

/* Send one message of lines, "READY=1\nSTATUS=...". */
void notify_send(const struct notify *n, str message);

#endif
