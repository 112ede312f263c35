/*
 * The formats of JSON Schema that people know.  What a user would call right passes: a date with
 * a time needs a zone, an address of mail needs a host, and nothing is looked up.
 */
#include "text/schema_parts.h"

#include "base/date.h"
#include "base/utf.h"

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool letter(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* n digits at i as a number, -1 when they are not there. */
static int digits(str s, size_t i, size_t n)
{
	int v = 0;

	if (i + n > s.n)
		return -1;
	for (; n; n--, i++) {
		if (!digit(s.p[i]))
			return -1;
		v = v * 10 + (s.p[i] - '0');
	}
	return v;
}

static bool is_date(str s)
{
	int y = digits(s, 0, 4), m = digits(s, 5, 2), d = digits(s, 8, 2);

	return s.n == 10 && s.p[4] == '-' && s.p[7] == '-' && y >= 0 && m >= 1 && m <= 12 &&
	       d >= 1 && d <= date_days_in(y, m);
}

static bool is_time(str s)
{
	int h = digits(s, 0, 2), m = digits(s, 3, 2), sec = digits(s, 6, 2), zh, zm;
	size_t i = 8;

	if (s.n < 9 || s.p[2] != ':' || s.p[5] != ':' || h < 0 || h > 23 || m < 0 || m > 59 ||
	    sec < 0 || sec > 60)
		return false;
	if (s.p[i] == '.')
		for (i++; i < s.n && digit(s.p[i]);)
			i++;
	if (i == 9 || i >= s.n)
		return false;
	if (s.p[i] == 'Z' || s.p[i] == 'z')
		return i + 1 == s.n && (sec < 60 || (h == 23 && m == 59));
	zh = digits(s, i + 1, 2);
	zm = digits(s, i + 4, 2);
	if ((s.p[i] != '+' && s.p[i] != '-') || i + 6 != s.n || s.p[i + 3] != ':' || zh < 0 ||
	    zh > 23 || zm < 0 || zm > 59)
		return false;
	int utc = h * 60 + m - (s.p[i] == '+' ? 1 : -1) * (zh * 60 + zm);
	return sec < 60 || (utc + 2880) % 1440 == 1439; /* leap seconds end a day */
}

static bool is_date_time(str s)
{
	return s.n > 11 && (s.p[10] == 'T' || s.p[10] == 't') && is_date(str_sub(s, 0, 10)) &&
	       is_time(str_sub(s, 11, s.n));
}

/* P1Y2M3DT4H5M6S, in this order, or P4W. */
static bool is_duration(str s)
{
	static const char date[] = "YMD", time[] = "HMS";
	const char *units = date;
	bool any = false;

	if (s.n < 3 || s.p[0] != 'P')
		return false;
	for (size_t i = 1; i < s.n;) {
		size_t from = i;
		if (s.p[i] == 'T' && units != time && i + 1 < s.n &&
		    (units < date + 4 && units >= date)) {
			units = time;
			i++;
			continue;
		}
		while (i < s.n && digit(s.p[i]))
			i++;
		if (i == from || i == s.n)
			return false;
		if (s.p[i] == 'W')
			return from == 1 && i + 1 == s.n;
		const char *u = *units ? strchr(units, s.p[i]) : NULL;
		if (!u || !*u)
			return false;
		units = u + 1;
		any = true;
		i++;
	}
	return any;
}

static bool is_ipv4(str s)
{
	int parts = 0;

	for (; parts < 5 && (s.n || parts == 0); parts++) {
		size_t dot = str_find(s, S("."));
		str p = str_sub(s, 0, dot);
		int v = p.n <= 3 ? digits(p, 0, p.n) : -1;
		if (p.n == 0 || v < 0 || v > 255 || (p.n > 1 && p.p[0] == '0'))
			return false;
		if (dot == SIZE_MAX)
			return parts == 3;
		s = str_sub(s, dot + 1, s.n);
	}
	return false;
}

static bool is_ipv6(str s)
{
	int groups = 0;
	bool gap = false;

	for (size_t i = 0;;) {
		size_t n = 0;
		str rest = str_sub(s, i, s.n);
		if (str_starts(rest, S("::"))) {
			if (gap)
				return false;
			gap = true;
			i += 2;
			if (i == s.n)
				break;
			continue;
		}
		if (str_has(rest, S(".")) && !str_has(rest, S(":"))) {
			if (!is_ipv4(rest))
				return false;
			groups += 2;
			break;
		}
		while (n < rest.n && str_hex(rest.p[n]) >= 0)
			n++;
		if (n == 0 || n > 4)
			return false;
		groups++;
		i += n;
		if (i == s.n)
			break;
		if (s.p[i] != ':' || i + 1 == s.n)
			return false;
		if (!str_starts(str_sub(s, i, s.n), S("::")))
			i++;
	}
	return gap ? groups < 8 : groups == 8;
}

static bool is_hostname(str s)
{
	size_t label = 0;

	if (s.n == 0 || s.n > 253)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (c == '.') {
			if (label == 0 || s.p[i - 1] == '-')
				return false;
			label = 0;
			continue;
		}
		if ((!letter(c) && !digit(c) && c != '-') || (c == '-' && label == 0) ||
		    ++label > 63)
			return false;
	}
	return label > 0 && s.p[s.n - 1] != '-';
}

static bool is_email(str s)
{
	size_t at = SIZE_MAX;
	bool quoted = s.n && s.p[0] == '"';

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '@')
			at = i;
	if (at == SIZE_MAX || at == 0 || at > 64)
		return false;
	str local = str_sub(s, 0, at), host = str_sub(s, at + 1, s.n);
	for (size_t i = 0; i < local.n; i++) {
		unsigned char c = (unsigned char)local.p[i];
		if (c < 0x20 || c == 0x7f || (!quoted && strchr(" ()<>,;:\\[]\"@", c)))
			return false;
		if (!quoted && c == '.' &&
		    (i == 0 || i + 1 == local.n || local.p[i - 1] == '.'))
			return false;
	}
	if (quoted && (local.n < 3 || local.p[local.n - 1] != '"'))
		return false;
	if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') {
		str ip = str_sub(host, 1, host.n - 1);
		return is_ipv4(ip) ||
		       (str_starts(ip, S("IPv6:")) && is_ipv6(str_sub(ip, 5, ip.n)));
	}
	return is_hostname(host);
}

static bool is_uuid(str s)
{
	if (s.n != 36)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? s.p[i] != '-'
							    : str_hex(s.p[i]) < 0)
			return false;
	return true;
}

static bool is_uri_reference(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= 0x20 || c >= 0x7f || strchr("\"<>\\^`{|}", c))
			return false;
		if (c == '%' &&
		    (i + 2 >= s.n || str_hex(s.p[i + 1]) < 0 || str_hex(s.p[i + 2]) < 0))
			return false;
	}
	return true;
}

static bool is_uri(str s)
{
	size_t i = 0;

	if (s.n == 0 || !letter(s.p[0]))
		return false;
	while (i < s.n && (letter(s.p[i]) || digit(s.p[i]) || memchr("+-.", s.p[i], 3)))
		i++;
	return i + 1 < s.n && s.p[i] == ':' && is_uri_reference(s);
}

static bool is_pointer(str s)
{
	if (s.n && s.p[0] != '/')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
			return false;
	return true;
}

const char *schema_format_wanted(str format, str text)
{
	static const struct {
		const char *name;
		bool (*is)(str s);
		const char *wanted;
	} rows[] = {
		{ "date", is_date, "a date such as 2026-11-30" },
		{ "time", is_time, "a time with its zone such as 17:30:00Z" },
		{ "date-time", is_date_time,
		  "a date and time with its zone such as 2026-11-30T17:30:00Z" },
		{ "duration", is_duration, "a duration such as PT1H30M" },
		{ "email", is_email, "an e-mail address" },
		{ "hostname", is_hostname, "a host name" },
		{ "ipv4", is_ipv4, "an IPv4 address" },
		{ "ipv6", is_ipv6, "an IPv6 address" },
		{ "uri", is_uri, "a URI with its scheme such as https://example.org/" },
		{ "uri-reference", is_uri_reference, "a URI reference" },
		{ "uuid", is_uuid, "a UUID" },
		{ "json-pointer", is_pointer, "a JSON pointer" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (str_is(format, rows[i].name))
			return rows[i].is(text) ? NULL : rows[i].wanted;
	return NULL;
}
