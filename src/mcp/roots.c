/*
 * From paths to roots.
 */
#include "mcp/roots.h"

#include "text/json.h"

#include <string.h>

#define ROOT_MAX 16384

/* file:///a/b, with everything percent-encoded that is not plain. */
static void add_uri(struct buf *b, str path)
{
	buf_add(b, S("file://"));
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || memchr("/-_.~", c, 5);

		if (plain)
			buf_addc(b, (char)c);
		else
			buf_fmt(b, "%%%02X", c);
	}
}

str mcp_roots_result(const struct str_list *list, struct arena *a)
{
	struct str_list roots = list ? *list : (struct str_list){ 0 };
	struct buf b = buf_in(a, (roots.n + 1) * ROOT_MAX);

	buf_add(&b, S("{\"roots\":["));
	for (size_t i = 0; i < roots.n; i++) {
		struct buf uri = buf_in(a, ROOT_MAX);
		str name = roots.v[i];

		for (size_t at; (at = str_find(name, S("/"))) != SIZE_MAX && at + 1 < name.n;)
			name = str_sub(name, at + 1, name.n);
		add_uri(&uri, roots.v[i]);
		buf_add(&b, i ? S(",{") : S("{"));
		buf_json_member(&b, "uri", buf_str(&uri));
		buf_json_member(&b, "name", name);
		buf_add(&b, S("}"));
	}
	buf_add(&b, S("]}"));
	return buf_str(&b);
}
