/*
 * Names of files as text: a clean absolute name has no parts that mean something, and what
 * is below a root stays there.
 */
#include "base/path.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size }, out, again, rel;

	if (size > 8192 || path_absolute(&out, &a, in, S("/home/me"), S("/ws"), NULL) < 0)
		return 0;
	assert(out.n && out.n <= 4095 && out.p[0] == '/' && out.p[out.n] == '\0');
	assert(!memchr(out.p, '\0', out.n));
	for (str rest = str_sub(out, 1, out.n); rest.n;) {
		bool more = memchr(rest.p, '/', rest.n);
		str part = str_cut(&rest, '/');
		assert(part.n && !str_eq(part, S(".")) && !str_eq(part, S("..")));
		assert(!more || rest.n);
	}
	assert(path_absolute(&again, &a, out, S(""), S("/"), NULL) == OK && str_eq(again, out));
	assert(path_below(S("/"), out, &rel));
	if (path_below(S("/ws"), out, &rel))
		assert(str_eq(out, S("/ws")) || str_starts(out, S("/ws/")));
	return 0;
}
