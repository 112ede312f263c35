/*
 * Modes, size and queues of a terminal.
 */
#include "os/tty.h"

#include "os/wait.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define DROP_MAX 1024 /* reads: input that never ends is not waited for */

bool tty_is(int fd)
{
	return isatty(fd) == 1;
}

bool tty_keep(int fd, struct tty_mode *saved)
{
	return tcgetattr(fd, &saved->t) == 0;
}

int tty_raw(int fd, struct tty_mode *saved, struct err *e)
{
	struct termios t;

	if (tcgetattr(fd, &saved->t) != 0)
		return err_sys(e, "terminal");
	t = saved->t;
	t.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
	t.c_cflag |= CS8;
	t.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	return tcsetattr(fd, TCSANOW, &t) == 0 ? OK : err_sys(e, "terminal");
}

int tty_quiet(int fd, struct tty_mode *saved, struct err *e)
{
	struct termios t;

	if (tcgetattr(fd, &saved->t) != 0)
		return err_sys(e, "terminal");
	t = saved->t;
	t.c_lflag &= ~(tcflag_t)ECHO;
	t.c_lflag |= ECHONL;
	return tcsetattr(fd, TCSANOW, &t) == 0 ? OK : err_sys(e, "terminal");
}

void tty_restore(int fd, const struct tty_mode *saved)
{
	(void)tcsetattr(fd, TCSANOW, &saved->t);
}

void tty_size(int fd, size_t *columns, size_t *rows)
{
	struct winsize size = { 0 };
	bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;

	*columns = known && size.ws_col ? size.ws_col : 80;
	*rows = known && size.ws_row ? size.ws_row : 24;
}

void tty_drop_input(int fd)
{
	char dropped[1024];

	(void)tcflush(fd, TCIFLUSH);
	for (int i = 0; i < DROP_MAX && wait_fd(fd, POLLIN, 1, NULL, NULL) == OK; i++)
		if (read(fd, dropped, sizeof dropped) <= 0)
			break;
}
