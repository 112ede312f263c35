/*
 * Errors as values.  Nothing here allocates, logs or keeps state.
 */
#include "base/err.h"

#include "base/utf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What was cut off ends with a whole character. */
static void end_whole(struct err *e)
{
	e->msg[utf_whole((str){ e->msg, strlen(e->msg) }).n] = '\0';
}

static void vset(struct err *e, int code, const char *fmt, va_list ap)
{
	e->code = code;
	(void)vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	end_whole(e);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	vset(e, code, fmt, ap);
	va_end(ap);
	return code;
}

static int code_of(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
	case ESRCH:
		return E_NOENT;
	case EACCES:
	case EPERM:
	case EROFS:
		return E_DENIED;
	case ENOSPC:
	case EDQUOT:
		return E_FULL;
	case EINVAL:
	case ENAMETOOLONG:
	case ELOOP:
	case EISDIR:
		return E_INVAL;
	case EAGAIN:
	case EBUSY:
		return E_BUSY;
	case ETIMEDOUT:
		return E_TIMEOUT;
	case E2BIG:
	case EFBIG:
		return E_LIMIT;
	default:
		return E_IO;
	}
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int errnum = errno, code = code_of(errnum);
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	vset(e, code, fmt, ap);
	va_end(ap);
	size_t n = strlen(e->msg);
	errno = errnum; /* %m is the one spelling that every C library of ours agrees on */
	(void)snprintf(e->msg + n, sizeof e->msg - n, ": %m");
	end_whole(e);
	return code;
}

int err_wrap(struct err *e, int code, const char *fmt, ...)
{
	char old[sizeof e->msg];
	va_list ap;

	if (!e)
		return code;
	memcpy(old, e->msg, sizeof old);
	va_start(ap, fmt);
	vset(e, code, fmt, ap);
	va_end(ap);
	size_t n = strlen(e->msg);
	(void)snprintf(e->msg + n, sizeof e->msg - n, ": %s", old);
	end_whole(e);
	return code;
}

const char *err_word(int code)
{
	static const char *const words[] = {
		"ok",     "invalid", "not_found", "io",   "protocol", "limit",
		"denied", "timeout", "canceled",  "busy", "full",     "corrupt",
	};
	size_t i = (size_t)-code;

	return code <= 0 && i < COUNT(words) ? words[i] : "unknown";
}
