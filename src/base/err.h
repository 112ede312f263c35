/*
 * base/err: how a fallible function says what went wrong.
 *
 * The code is for the caller to branch on, the sentence for a human to read.  Both
 * travel in a struct err that the caller owns; NULL is fine when nobody cares.
 * Secrets never enter msg.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/attr.h"

enum {
	OK = 0,
	E_INVAL = -1, /* the input is wrong; asking again will not help */
	E_NOENT = -2, /* no such thing */
	E_IO = -3, /* the kernel or the network failed */
	E_PROTO = -4, /* the other side broke the protocol */
	E_LIMIT = -5, /* more than the stated limit */
	E_DENIED = -6, /* not permitted */
	E_TIMEOUT = -7, /* the deadline passed */
	E_CANCELED = -8, /* a user or the shutdown cancelled it */
	E_BUSY = -9, /* held by someone else; later it may work */
	E_FULL = -10, /* no room on the disk */
	E_CORRUPT = -11, /* stored data are damaged */
};

struct err {
	int code;
	char msg[256];
};

/* Each stores the code and the sentence (cut to fit) and returns the code. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF(3, 4);

/* From errno: "<sentence>: <what errno means>"; the code is mapped from errno. */
int err_sys(struct err *e, const char *fmt, ...) PRINTF(2, 3);

/* Put "<prefix>: " before the sentence that is there; returns code. */
int err_wrap(struct err *e, int code, const char *fmt, ...) PRINTF(3, 4);

/* "timeout", "denied", ...: the word for a code, for logs and JSON. */
const char *err_word(int code);

#endif
