/*
 * Percent-encoding.  A broken escape stands for itself when it is read, as in browsers.
 */
#include "text/query.h"

void query_encode(struct buf *b, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~')
			buf_addc(b, c);
		else
			buf_fmt(b, "%%%02X", (unsigned)(unsigned char)c);
	}
}

void query_add(struct buf *b, const char *name, str value)
{
	if (b->n && b->p[b->n - 1] != '?' && b->p[b->n - 1] != '&')
		buf_addc(b, '&');
	query_encode(b, str_of(name));
	buf_addc(b, '=');
	query_encode(b, value);
}

static str decode(struct arena *a, str s)
{
	char *out = arena_alloc(a, 1, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int hi = i + 3 <= s.n ? str_hex(s.p[i + 1]) : -1;
		int lo = i + 3 <= s.n ? str_hex(s.p[i + 2]) : -1;

		if (s.p[i] == '%' && hi >= 0 && lo >= 0) {
			out[n++] = (char)(hi * 16 + lo);
			i += 2;
		} else {
			out[n++] = s.p[i] == '+' ? ' ' : s.p[i];
		}
	}
	return (str){ out, n };
}

bool query_get(struct arena *a, str text, const char *name, str *value)
{
	while (text.n) {
		str pair = str_cut(&text, '&'), key = str_cut(&pair, '=');

		if (str_eq(decode(a, key), str_of(name))) {
			*value = decode(a, pair);
			return true;
		}
	}
	return false;
}
