/*
 * The version of the running kernel.
 */
#include "os/kernel.h"

#include "base/str.h"

#include <sys/utsname.h>

#define MAJOR 5
#define MINOR 6

/* The number that *rest begins with. */
static bool number(str *rest, int64_t *out)
{
	size_t n = 0;

	while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
		n++;
	bool found = str_i64(str_sub(*rest, 0, n), out);
	*rest = str_sub(*rest, n, rest->n);
	return found;
}

bool kernel_older(const char *release, int64_t major, int64_t minor)
{
	str rest = str_of(release);
	int64_t x, y = 0;

	if (!number(&rest, &x))
		return false;
	if (str_starts(rest, S("."))) {
		rest = str_sub(rest, 1, rest.n);
		if (!number(&rest, &y))
			return false;
	}
	return x < major || (x == major && y < minor);
}

int kernel_check(struct err *e)
{
	struct utsname u;

	if (uname(&u) != 0 || !kernel_older(u.release, MAJOR, MINOR))
		return OK;
	return err_set(e, E_DENIED, "Linux %d.%d or newer is needed; this is %s", MAJOR, MINOR,
		       u.release);
}
