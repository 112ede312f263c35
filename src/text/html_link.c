/*
 * Links of a page made absolute.  They are only shown: whoever follows one gives it to a
 * fetch of its own, which checks it then.
 */
#include "text/html.h"

#include <string.h>

#define LINK_MAX 1000

/* Where the path of an http(s) URL begins: at its end when it has none. */
static size_t path_at(str url)
{
	size_t from = str_find(url, S("://"));

	if (from == SIZE_MAX)
		return url.n;
	for (from += 3; from < url.n && !strchr("/?#", url.p[from]);)
		from++;
	return from;
}

/* "a/./b/../c" as "a/c"; what would go above the beginning stays at it. */
static str dots_out(struct arena *a, str path)
{
	struct buf b = buf_in(a, path.n + 1);

	for (str rest = path; rest.n;) {
		bool last = !str_has(rest, S("/"));
		str part = str_cut(&rest, '/');
		if (str_eq(part, S(".")) || str_eq(part, S(".."))) {
			if (part.n == 2 && b.n > 1) {
				b.n--;
				while (b.n && b.p[b.n - 1] != '/')
					b.n--;
			}
			continue;
		}
		buf_add(&b, part);
		if (!last)
			buf_addc(&b, '/');
	}
	return buf_str(&b);
}

/* What cannot stand in the parentheses of a link. */
static str safe(struct arena *a, str url)
{
	struct buf b = buf_in(a, url.n * 3);

	for (size_t i = 0; i < url.n; i++) {
		unsigned char c = (unsigned char)url.p[i];
		if (c <= ' ' || c == 0x7f || strchr("()<>[]\"`\\", c))
			buf_fmt(&b, "%%%02X", c);
		else
			buf_addc(&b, (char)c);
	}
	return buf_str(&b);
}

static str relative(struct arena *a, str base, str ref)
{
	size_t path = path_at(base), query = path;

	while (query < base.n && base.p[query] != '?' && base.p[query] != '#')
		query++;
	str site = str_sub(base, 0, path), dir = str_sub(base, path, query);
	if (str_starts(ref, S("?")))
		return arena_fmt(a, "%.*s%.*s%.*s", STRF(site), STRF(dir), STRF(ref));
	size_t end = 0;
	while (end < ref.n && ref.p[end] != '?' && ref.p[end] != '#')
		end++;
	if (str_starts(ref, S("/")))
		dir = S("");
	while (dir.n && dir.p[dir.n - 1] != '/')
		dir.n--;
	str whole = arena_cat(a, dir, str_sub(ref, 0, end));
	if (str_starts(whole, S("/")))
		whole = str_sub(whole, 1, whole.n);
	return arena_fmt(a, "%.*s/%.*s%.*s", STRF(site), STRF(dots_out(a, whole)),
			 STRF(str_sub(ref, end, ref.n)));
}

/* How many bytes of ref are a scheme with its colon. */
static size_t scheme(str ref)
{
	for (size_t i = 0; i < ref.n; i++) {
		char c = ref.p[i];
		if (c == ':')
			return i + 1;
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(i && c && strchr("0123456789+-.", c)))
			return 0;
	}
	return 0;
}

str html_link(struct arena *a, str base, str ref)
{
	ref = str_trim(ref);
	size_t n = scheme(ref);
	str kind = str_sub(ref, 0, n);

	if (!ref.n || ref.p[0] == '#' || ref.n > LINK_MAX || base.n > LINK_MAX)
		return S("");
	if (n)
		return str_ieq(kind, S("http:")) || str_ieq(kind, S("https:")) ||
				       str_ieq(kind, S("mailto:"))
			       ? safe(a, ref)
			       : S("");
	if (path_at(base) == base.n && !str_has(base, S("://")))
		return S("");
	if (str_starts(ref, S("//")))
		return safe(a,
			    arena_cat(a, str_sub(base, 0, str_find(base, S("://")) + 1), ref));
	return safe(a, relative(a, base, ref));
}
