/*
 * os/tty: the terminal as the kernel knows it.
 */
#ifndef OS_TTY_H
#define OS_TTY_H

#include "base/err.h"

#include <termios.h>

struct tty_mode {
	struct termios t;
};

bool tty_is(int fd);

/* The mode as it is, for tty_restore(); false where there is no terminal. */
bool tty_keep(int fd, struct tty_mode *saved);

/* Bytes as they are typed, without echo, signals or flow control; output is left alone.
 * *saved is the mode before, for tty_restore(), which is safe in any thread and thrice. */
int tty_raw(int fd, struct tty_mode *saved, struct err *e) MUSTUSE;
/* Whole lines as always, without echo; *saved as above. */
int tty_quiet(int fd, struct tty_mode *saved, struct err *e) MUSTUSE;
void tty_restore(int fd, const struct tty_mode *saved);

/* 80 columns and 24 rows when the terminal does not say. */
void tty_size(int fd, size_t *columns, size_t *rows);

/* Drop what was typed and not yet read, whatever fd is. */
void tty_drop_input(int fd);

#endif
