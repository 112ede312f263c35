/*
 * iconv(3) over a whole text.  The result of a set is never more than three times as long
 * as its bytes, so one room is made for it; a byte that is none becomes one U+FFFD.
 */
#include "os/iconv.h"

#include "base/buf.h"
#include "base/utf.h"

#include <errno.h>
#include <iconv.h>
#include <string.h>

#define ROOM 4096

/* What one C library calls so another knows by a plainer name only: musl has no code pages of the
 * East under theirs.  The plain set lacks a few characters of the page. */
static const struct {
	const char *name, *plain;
} plainer[] = {
	{ "CP932", "SHIFT_JIS" },
	{ "CP949", "EUC-KR" },
	{ "BIG5-HKSCS", "BIG5" },
};

static iconv_t converter_open(const char *name)
{
	iconv_t cd = iconv_open("UTF-8", name);

	for (size_t i = 0; cd == (iconv_t)-1 && i < COUNT(plainer); i++)
		if (strcmp(name, plainer[i].name) == 0)
			cd = iconv_open("UTF-8", plainer[i].plain);
	return cd;
}

static void converter_drop(iconv_t *cd)
{
	iconv_close(*cd);
}

int iconv_decode(struct arena *a, const char *name, str bytes, str *out, struct err *e)
{
	iconv_t opened = converter_open(name);

	if (opened == (iconv_t)-1)
		return err_set(e, E_NOENT, "this system cannot read %s", name);
	SCOPED(converter_drop) iconv_t cd = opened;
	struct buf b = buf_in(a, bytes.n * 4 + ROOM);
	/* iconv() does not write to its input, it only says so. */
	char *in = arena_alloc(a, 1, bytes.n + 1);
	size_t left = bytes.n;

	for (size_t i = 0; i < bytes.n; i++)
		in[i] = bytes.p[i];
	/* In some sets the last character waits for what may be put onto it. */
	for (bool last = false; !last;) {
		last = left == 0;
		char *to = buf_room(&b, ROOM);
		size_t room = ROOM;
		if (!to)
			break;
		size_t n = last ? iconv(cd, NULL, NULL, &to, &room)
				: iconv(cd, &in, &left, &to, &room);
		int why = errno;
		buf_filled(&b, ROOM - room);
		if (last || n != (size_t)-1 || why == E2BIG)
			continue;
		buf_add(&b, S("\xef\xbf\xbd"));
		in++;
		left--;
	}
	*out = utf_repair(a, buf_str(&b));
	return OK;
}
