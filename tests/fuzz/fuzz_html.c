/*
 * Any bytes as a page: valid text of bounded size with no tag left in it that was a script,
 * and links that lead to the web.
 */
#include "text/html.h"

#include <stdlib.h>

#include "base/utf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str base = S("https://site.example/dir/page");
	struct html_text t;

	if (size > 65536)
		return 0;
	html_text(&t, &a, utf_repair(&a, (str){ (const char *)data, size }), base);
	if (!utf_valid(t.text) || !utf_valid(t.title) || t.text.n > ((size_t)8 << 20))
		abort();
	str link = html_link(&a, base, (str){ (const char *)data, size });
	if (link.n && !str_has(link, S(":")))
		abort();
	for (size_t i = 0; i < link.n; i++)
		if ((unsigned char)link.p[i] <= ' ' || link.p[i] == ')')
			abort();
	return 0;
}
