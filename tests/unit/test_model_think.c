/*
 * What of an unfinished answer may be shown: never its reasoning, and in the end all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "model/think.h"

static const struct row {
	const char *content, *answer, *reasoning;
} rows[] = {
	{ "Hello", "Hello", "" },
	{ "  \n Hello there \n", "Hello there", "" },
	{ "<think>SECRET</think>\n\nHello", "Hello", "SECRET" },
	{ "<THINK>SECRET</Think>Hello", "Hello", "SECRET" },
	{ "\n <thinking>SECRET\nSECRET</thinking>  Hello", "Hello", "SECRET\nSECRET" },
	{ "<thought>SECRET</thought>Hi", "Hi", "SECRET" },
	{ "<reasoning>SECRET</reasoning>Hi", "Hi", "SECRET" },
	{ "</think>Hello", "Hello", "" },
	{ "<think></think>Hello", "Hello", "" },
	{ "<think>SECRET 1 > 0 </thin </think>Hello", "Hello", "SECRET 1 > 0 </thin" },
	{ "<think>SECRET</think><think>SECRET</think>two", "two", "SECRET" },
	{ "<think>SECRET never closed > ever", "", "SECRET never closed > ever" },
	{ "<think>SECRET</think>", "", "SECRET" },
	{ "<think>SECRET</think>\n<b>x</b>", "<b>x</b>", "SECRET" },
	{ "Wrap it in a <think> tag, then </think>. Done.",
	  "Wrap it in a <think> tag, then </think>. Done.", "" },
	{ "<things> are", "<things> are", "" },
	{ "<thi", "<thi", "" },
	{ "<", "<", "" },
	{ "< think>no</think>", "< think>no</think>", "" },
	{ "<think >no", "<think >no", "" },
	{ " \n ", "", "" },
	{ "", "", "" },
	{ "一<think>二</think>", "一<think>二</think>", "" },
};

static void show_in_pieces(const struct row *r, size_t step, uint32_t seed)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf shown = buf_in(&a, 4096);
	struct think t = { 0 };
	str content = str_of(r->content), piece;

	for (size_t i = 0; i < content.n;) {
		seed = seed * 1664525u + 1013904223u;
		i += step ? step : 1 + (seed >> 16) % 5;
		piece = think_more(&t, str_sub(content, 0, i), false);
		buf_add(&shown, piece);
		if (strstr(r->content, "SECRET") && str_has(buf_str(&shown), S("SEC")))
			fail_msg("\"%s\" shows \"%.*s\"", r->content, STRF(buf_str(&shown)));
		if (!str_starts(str_of(r->answer), buf_str(&shown)))
			fail_msg("\"%s\" takes back \"%.*s\"", r->content,
				 STRF(buf_str(&shown)));
	}
	buf_add(&shown, think_more(&t, content, true));
	if (!str_eq(buf_str(&shown), str_of(r->answer)))
		fail_msg("\"%s\" ends as \"%.*s\"", r->content, STRF(buf_str(&shown)));
	assert_int_equal(think_more(&t, content, true).n, 0);
}

static void pieces_add_up_to_the_answer_and_never_show_reasoning(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		str reasoning, answer = think_answer(str_of(rows[i].content), &reasoning);

		if (!str_eq(answer, str_of(rows[i].answer)) ||
		    !str_eq(reasoning, str_of(rows[i].reasoning)))
			fail_msg("\"%s\": \"%.*s\" and \"%.*s\"", rows[i].content, STRF(answer),
				 STRF(reasoning));
		show_in_pieces(&rows[i], 1, 0);
		show_in_pieces(&rows[i], 1000, 0);
		for (uint32_t seed = 1; seed < 40; seed++)
			show_in_pieces(&rows[i], 0, seed);
	}
}

static void an_answer_is_shown_as_soon_as_it_can_be_no_tag(void **state)
{
	struct think t = { 0 };

	assert_int_equal(think_more(&t, S("<t"), false).n, 0);
	assert_int_equal(think_more(&t, S("<ta"), false).n, 3);
	t = (struct think){ 0 };
	assert_int_equal(think_more(&t, S("<think>x</think>"), false).n, 0);
	assert_int_equal(think_more(&t, S("<think>x</think>H"), false).n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_add_up_to_the_answer_and_never_show_reasoning),
		cmocka_unit_test(an_answer_is_shown_as_soon_as_it_can_be_no_tag),
	};

	return cmocka_run_group_tests_name("model/think", tests, NULL, NULL);
}
