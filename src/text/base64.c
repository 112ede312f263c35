/*
 * Base64: three bytes become four characters, and the other way.
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

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

bool base64_read(struct arena *a, str text, str *out)
{
	char *bytes = arena_alloc(a, 1, text.n / 4 * 3 + 4);
	size_t n = 0, digits_n = 0;
	unsigned v = 0;

	while (text.n && (text.p[text.n - 1] == '=' || text.p[text.n - 1] == '\n' ||
			  text.p[text.n - 1] == '\r'))
		text.n--;
	for (size_t i = 0; i < text.n; i++) {
		int d = value_of(text.p[i]);
		if (d < 0 && memchr(" \t\r\n", text.p[i], 4))
			continue;
		if (d < 0)
			return false;
		v = v << 6 | (unsigned)d;
		if (++digits_n % 4 != 1)
			bytes[n++] = (char)(v >> (6 - 2 * ((digits_n - 1) % 4)) & 0xff);
	}
	if (digits_n % 4 == 1)
		return false;
	*out = (str){ bytes, n };
	return true;
}
