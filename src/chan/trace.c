/*
 * Trace lines in place of earlier ones.
 */
#include "chan/trace.h"

#include <stdatomic.h>

#define EVERY_MS 1000
#define PASSING S("… ")

bool trace_passing(str line)
{
	return str_starts(line, PASSING);
}

bool trace_too_soon(_Atomic int64_t *shown_ms, str line, int64_t now_ms)
{
	if (!trace_passing(line))
		return false;
	if (now_ms - atomic_load(shown_ms) < EVERY_MS)
		return true;
	atomic_store(shown_ms, now_ms);
	return false;
}

/* The call that a line is about; "" none. */
static str call_of(str line)
{
	str mark = str_cut(&line, ' ');

	if (!str_eq(mark, S("…")) && !str_eq(mark, S("✓")) && !str_eq(mark, S("✗")))
		return (str){ 0 };
	return str_cut(&line, ' ');
}

size_t trace_in_place(char *lines, size_t n, str line)
{
	str name = call_of(line), rest = { lines, n };

	while (name.n && rest.n) {
		char *at = lines + (n - rest.n);
		str old = str_cut(&rest, '\n');
		if (!trace_passing(old) || !str_eq(call_of(old), name))
			continue;
		memmove(at, at + old.n + 1, rest.n);
		return n - old.n - 1;
	}
	return n;
}
