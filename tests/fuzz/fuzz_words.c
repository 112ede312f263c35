/*
 * The small text tools on any bytes: results stay within their limits, are views of the
 * input where that is promised, and are safe to show.
 */
#include "text/text.h"

#include <stdlib.h>

#include "base/utf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool fine)
{
	if (!fine)
		abort();
}

/* No control character but those allowed, and valid UTF-8. */
static void check_visible(str s, bool table)
{
	must(utf_valid(s));
	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);

		must(cp >= 0x20 || (!table && (cp == '\n' || cp == '\t')));
		must(cp < 0x7f || cp > 0x9f);
		must(!(cp >= 0x202a && cp <= 0x202e) && !(cp >= 0x2066 && cp <= 0x2069));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size }, word, args, reasoning, rest;
	size_t max = size ? data[0] : 0;

	if (text_slash(&a, in, S("bot"), &word, &args))
		must(word.n > 0 && args.n < in.n);
	rest = text_strip_think(in, &reasoning);
	must(rest.n + reasoning.n <= in.n);
	(void)text_silent(in);
	must(text_tokens(in) >= (int64_t)(in.n / 4) && text_tokens(in) <= (int64_t)in.n);
	must(max == 0 || utf_count(text_cut(&a, in, max)) <= max);
	check_visible(text_visible(&a, in, false), false);
	check_visible(text_visible(&a, in, true), true);
	must(utf_count(text_line(&a, in, max)) <= max);
	check_visible(text_line(&a, in, max), true);
	return 0;
}
