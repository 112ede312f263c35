/*
 * Base64, one way: three bytes become four characters.
 */
#include "text/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

str base64_of(struct arena *a, str bytes)
{
	size_t n = (bytes.n + 2) / 3 * 4, at = 0;
	char *out = arena_alloc(a, 1, n + 1);

	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		unsigned v = (unsigned)(unsigned char)bytes.p[i] << 16;
		if (left > 1)
			v |= (unsigned)(unsigned char)bytes.p[i + 1] << 8;
		if (left > 2)
			v |= (unsigned char)bytes.p[i + 2];
		out[at++] = digits[v >> 18];
		out[at++] = digits[v >> 12 & 63];
		out[at++] = left > 1 ? digits[v >> 6 & 63] : '=';
		out[at++] = left > 2 ? digits[v & 63] : '=';
	}
	return (str){ out, n };
}

str base64url_of(struct arena *a, str bytes)
{
	str out = base64_of(a, bytes);
	char *p = (char *)(uintptr_t)out.p;

	while (out.n && out.p[out.n - 1] == '=')
		p[--out.n] = 0;
	for (size_t i = 0; i < out.n; i++)
		p[i] = p[i] == '+' ? '-' : p[i] == '/' ? '_' : p[i];
	return out;
}
