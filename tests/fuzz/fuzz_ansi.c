/*
 * Markdown for a terminal: whatever the text, all escape sequences are ours, and a stream
 * writes the same in pieces as at once in the end.
 */
#include "text/ansi.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(str s, const char *ends)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		assert(c >= 0x20 || strchr("\n\t\r\x1b", c));
		if (c != '\x1b')
			continue;
		assert(s.p[++i] == '[');
		while (strchr("0123456789;", s.p[++i]))
			;
		assert(strchr(ends, s.p[i]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct ansi_stream s = { 0 };

	if (size < 2 || size > 4096)
		return 0;
	size_t columns = data[0] % 100, step = data[1] % 32u + 1;
	str text = { (const char *)data + 2, size - 2 };
	check(text_ansi(&a, text, columns), "m");
	s.columns = columns;
	for (size_t n = 0; n < text.n; n += step)
		check(ansi_stream_feed(&s, &a, str_sub(text, 0, n)), "mAJ");
	check(ansi_stream_end(&s, &a, text), "mAJ");
	assert(s.done == text.n);
	return 0;
}
