/*
 * Tool names as models write them: a tool of the set or a short hint, whatever the name.
 * The input is a name, then tool names, each on a line; one with "__" is a server's.
 */
#include "base/utf.h"
#include "tools/tools.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_name(const void *x, const void *y)
{
	return str_cmp(((const struct tool_spec *)x)->name,
		       ((const struct tool_spec *)y)->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size }, hint = S("");
	struct tool_spec *v = NEWN(&a, struct tool_spec, 64);
	struct toolset set = { .v = v };

	if (size > 4096)
		return 0;
	str name = str_cut(&in, '\n');
	while (in.n && set.n < 64) {
		str line = str_cut(&in, '\n');
		size_t at = str_find(line, S("__"));
		if (line.n > 64)
			continue;
		v[set.n].name = line;
		if (at != SIZE_MAX)
			v[set.n].server = str_sub(line, 0, at + 1);
		set.n++;
	}
	qsort(v, set.n, sizeof *v, by_name);
	const struct tool_spec *t = toolset_find(&set, name, &a, &hint);
	assert(!t || (t >= v && t < v + set.n));
	assert(t || (hint.n > 0 && hint.n < 8192));
	for (size_t i = 0; i < set.n; i++)
		assert(!str_eq(v[i].name, name) || (t && str_eq(t->name, name)));
	return 0;
}
