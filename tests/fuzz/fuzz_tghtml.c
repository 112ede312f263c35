/*
 * Any text as Telegram messages of any length: each one is valid, and nothing is lost or
 * doubled; also while it is being written.
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit/tg_judge.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *fault)
{
	if (!fault)
		return;
	(void)fprintf(stderr, "%s\n", fault);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str shown;

	if (size < 2 || size > 8192)
		return 0;
	str text = { (const char *)data + 1, size - 1 };
	check(tg_pieces_fault(&a, text, TG_LIMIT_MIN + data[0] * (data[0] & 1u ? 1u : 16u)));
	check(tg_fault(&a, tg_live(&a, str_sub(text, 0, text.n / 2)), &shown));
	check(tg_length(tg_live(&a, text)) <= TG_TEXT_MAX ? NULL : "too long while written");
	return 0;
}
