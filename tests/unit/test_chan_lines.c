/*
 * Input cut into lines, however its bytes arrive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/utf.h"
#include "chan/lines.h"

#define STEP 64
#define MAX 20

static const struct {
	str in, out; /* lines with a | behind each; ! too long, Q quit */
} rows[] = {
	{ S("one\ntwo\n"), S("one|two|") },
	{ S("one\r\ntwo\r\n"), S("one|two|") },
	{ S("last"), S("last|") },
	{ S("\n\n  \n\t\r\nx\n\n"), S("x|") },
	{ S(""), S("") },
	{ S("\n"), S("") },
	{ S("  padded \t\n"), S("padded|") },
	{ S("a\0b\n\0\n"), S("ab|") },
	{ S("bad\xff\n"), S("bad\xef\xbf\xbd|") },
	{ S("\xd0\x9f\xd1\x80\n"), S("\xd0\x9f\xd1\x80|") },
	{ S("one\n/quit\ntwo\n"), S("one|Q") },
	{ S("/EXIT"), S("Q") },
	{ S(" /q \n"), S("Q") },
	{ S("/quit now\n"), S("/quit now|") },
	{ S("12345678901234567890\n"), S("12345678901234567890|") },
	{ S("123456789012345678901\nx\n"), S("!x|") },
	{ S("x\n1234567890123456789012345678901234567890123456789012345678901234567890123456789"
	    "0"
	    "12345678901234567890123456789012345678901234567890\ny\n123456789012345678901"),
	  S("x|!y|!") },
};

static str cut(struct arena *a, str in, size_t piece)
{
	struct lines l = lines_in(a, MAX, STEP);
	struct buf got = buf_in(a, 1024);
	bool ended = false;

	while (!ended) {
		enum line_kind kind;
		str line;
		ended = in.n == 0;
		if (ended)
			lines_end(&l);
		else
			lines_add(&l, str_sub(in, 0, piece));
		in = str_sub(in, piece, in.n);
		while ((kind = lines_next(&l, a, &line)) != LINE_NONE) {
			if (kind == LINE_TEXT) {
				assert_true(utf_valid(line));
				buf_add(&got, line);
				buf_addc(&got, '|');
			} else {
				buf_addc(&got, kind == LINE_LONG ? '!' : 'Q');
			}
			if (kind == LINE_QUIT)
				return buf_str(&got);
		}
	}
	return buf_str(&got);
}

static void lines_are_the_same_whatever_the_pieces(void **state)
{
	static const size_t pieces[] = { 1, 2, 3, 7, STEP };

	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t k = 0; k < COUNT(pieces); k++) {
			SCOPED(arena_free) struct arena a = { 0 };
			str got = cut(&a, rows[i].in, pieces[k]);
			if (!str_eq(got, rows[i].out))
				fail_msg("row %zu by %zu: %.*s", i, pieces[k], STRF(got));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_the_same_whatever_the_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
