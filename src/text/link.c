/*
 * Links that a tool server wants a person to open.  A host in letters beyond ASCII is shown as
 * what is really looked up (RFC 3492); what the letters look like is not shown at all.
 */
#include "text/link.h"

#include "base/buf.h"
#include "base/utf.h"

#define LABEL_MAX 63 /* code points of one label, and bytes of it when it is encoded */

/* Parameters of RFC 3492, section 5. */
enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, START = 128 };

static uint32_t adapt(uint32_t delta, uint32_t n, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / DAMP : delta / 2;
	delta += delta / n;
	for (; delta > (BASE - TMIN) * TMAX / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static char digit(uint32_t d)
{
	return (char)(d < 26 ? 'a' + d : '0' + (d - 26));
}

static void add_number(struct buf *b, uint32_t q, uint32_t bias)
{
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
		if (q < t)
			break;
		buf_addc(b, digit(t + (q - t) % (BASE - t)));
		q = (q - t) / (BASE - t);
	}
	buf_addc(b, digit(q));
}

/* A label of n code points, not all of them ASCII. */
static void add_label(struct buf *b, const uint32_t *cp, uint32_t n)
{
	uint32_t at = START, delta = 0, bias = BIAS, done = 0, basic;

	buf_add(b, S("xn--"));
	for (uint32_t i = 0; i < n; i++)
		if (cp[i] < START) {
			buf_addc(b, (char)cp[i]);
			done++;
		}
	basic = done;
	if (basic)
		buf_addc(b, '-');
	while (done < n) {
		uint32_t next = UINT32_MAX;
		for (uint32_t i = 0; i < n; i++)
			if (cp[i] >= at && cp[i] < next)
				next = cp[i];
		delta += (next - at) * (done + 1); /* n is small: no overflow */
		at = next;
		for (uint32_t i = 0; i < n; i++) {
			if (cp[i] < at)
				delta++;
			if (cp[i] != at)
				continue;
			add_number(b, delta, bias);
			bias = adapt(delta, done + 1, done == basic);
			delta = 0;
			done++;
		}
		delta++;
		at++;
	}
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* One label of the host, lower case and ASCII; false when it is too long. */
static bool label(struct buf *b, str s, bool *named)
{
	uint32_t cp[LABEL_MAX], n = 0;
	bool ascii = true;

	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t c = utf_next(str_sub(s, i, s.n), &len);
		if (n == LABEL_MAX)
			return false;
		cp[n++] = c < 0x80 ? (unsigned char)lower((char)c) : c;
		ascii = ascii && c < 0x80;
	}
	if (ascii)
		for (uint32_t i = 0; i < n; i++)
			buf_addc(b, (char)cp[i]);
	else
		add_label(b, cp, n);
	*named |= !ascii;
	return true;
}

/* An address in brackets: its scope may be named, by numbers. */
static bool is_ipv6(str host)
{
	if (host.n < 3 || !str_ends(host, S("]")))
		return false;
	for (size_t i = 1; i + 1 < host.n; i++)
		if (!strchr("0123456789abcdefABCDEF:.%", host.p[i]))
			return false;
	return true;
}

static bool host_of(struct link_seen *out, str host, struct arena *a)
{
	struct buf b = buf_in(a, 4 * LINK_MAX);

	if (str_starts(host, S("["))) {
		out->host = arena_dup(a, host);
		return is_ipv6(host);
	}
	while (host.n) {
		str part = str_cut(&host, '.');
		if (!label(&b, part, &out->named))
			return false;
		if (host.n)
			buf_addc(&b, '.');
	}
	out->host = buf_str(&b);
	return out->host.n > 0;
}

/* Everything beyond ASCII as %XX. */
static void add_encoded(struct buf *b, str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x80)
			buf_addc(b, s.p[i]);
		else
			buf_fmt(b, "%%%02X", (unsigned)(unsigned char)s.p[i]);
}

static bool has_controls(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f || s.p[i] == '\\')
			return true;
	return false;
}

/* Where the port begins, with its colon; the end when there is none. */
static size_t port_at(str rest)
{
	size_t at = rest.n;

	while (at && rest.p[at - 1] >= '0' && rest.p[at - 1] <= '9')
		at--;
	return at && rest.p[at - 1] == ':' ? at - 1 : rest.n;
}

int link_read(struct link_seen *out, str url, struct arena *a, struct err *e)
{
	struct link_seen seen = { 0 };
	size_t colon = str_find(url, S("://")), end = 0, at;
	str scheme = str_sub(url, 0, colon == SIZE_MAX ? 0 : colon), rest, login = { 0 };

	if (url.n > LINK_MAX)
		return err_set(e, E_LIMIT, "its link has more than %d bytes", LINK_MAX);
	if (has_controls(url) || !utf_valid(url))
		return err_set(e, E_INVAL, "its link holds characters that no URL has");
	seen.plain = str_ieq(scheme, S("http"));
	if (!seen.plain && !str_ieq(scheme, S("https")))
		return err_set(e, E_INVAL, "its link is no http or https URL");
	rest = str_sub(url, colon + 3, url.n);
	while (end < rest.n && !strchr("/?#", rest.p[end]))
		end++;
	str path = str_sub(rest, end, rest.n), host = str_sub(rest, 0, end);
	for (at = host.n; at && host.p[at - 1] != '@';)
		at--;
	login = str_sub(host, 0, at);
	host = str_sub(host, at, host.n);
	str port = str_sub(host, port_at(host), host.n);
	seen.login = login.n > 0;
	if (!host_of(&seen, str_sub(host, 0, host.n - port.n), a))
		return err_set(e, E_INVAL, "its link has no host that can be shown");
	struct buf b = buf_in(a, 8 * LINK_MAX);
	buf_add(&b, seen.plain ? S("http://") : S("https://"));
	add_encoded(&b, login);
	buf_add(&b, seen.host);
	buf_add(&b, port);
	add_encoded(&b, path);
	if (b.n > LINK_MAX)
		return err_set(e, E_LIMIT, "its link has more than %d bytes", LINK_MAX);
	seen.url = buf_str(&b);
	*out = seen;
	return OK;
}
