/*
 * One datagram a message, on a socket of its own: messages are rare, and an idle descriptor is
 * none.  The credentials of the sender are what the manager trusts, so main must be the process
 * that it started.
 */
#include "os/notify.h"

#include "os/file.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

void notify_init(struct notify *n, str socket, str watchdog_usec, str watchdog_pid, int64_t pid)
{
	int64_t usec = 0, whose = pid;

	*n = (struct notify){ 0 };
	if (socket.n < 2 || socket.n >= sizeof n->path ||
	    (socket.p[0] != '/' && socket.p[0] != '@'))
		return;
	memcpy(n->path, socket.p, socket.n);
	if (socket.p[0] == '@')
		n->path[0] = '\0';
	n->n = (unsigned)socket.n;
	if (!str_i64(watchdog_usec, &usec) || usec < 1000)
		return;
	if (watchdog_pid.n && (!str_i64(watchdog_pid, &whose) || whose != pid))
		return;
	n->watchdog_ms = usec / 1000;
}

void notify_send(const struct notify *n, str message)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	socklen_t to_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n->n);

	if (!n->n)
		return;
	SCOPED(fd_drop) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(to.sun_path, n->path, n->n);
	if (fd >= 0)
		(void)sendto(fd, message.p, message.n, MSG_NOSIGNAL, (struct sockaddr *)&to,
			     to_n);
}
