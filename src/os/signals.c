/*
 * Signals arrive as records on a descriptor, so that main waits for them as for anything
 * else.  SIGPIPE and SIGXFSZ are ignored: a closed pipe and a file at the limit of its size are
 * errors of the write.
 */
#include "os/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_spare(struct err *e)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	return sigaction(SIGXFSZ, &ignore, NULL) == 0 ? OK : err_sys(e, "signals");
}

int signals_open(int *fd, struct err *e)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < COUNT(wanted); i++)
		(void)sigaddset(&set, wanted[i]);
	if ((errno = pthread_sigmask(SIG_BLOCK, &set, NULL)) != 0 ||
	    sigaction(SIGPIPE, &ignore, NULL) != 0)
		return err_sys(e, "signals");
	int new_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (new_fd < 0)
		return err_sys(e, "signalfd");
	*fd = new_fd;
	return OK;
}

void signals_default(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int signals_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
		return 0;
	return (int)info.ssi_signo;
}
