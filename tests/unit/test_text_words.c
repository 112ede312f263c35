/*
 * Slash words, silence and reasoning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/text.h"

static const struct {
	const char *in, *bot, *word, *args; /* word NULL: not a command */
} slashes[] = {
	{ "/new", "", "new", "" },
	{ "/new@MyBot", "", "new", "" },
	{ "/New@MYBOT", "MyBot", "new", "" },
	{ " /STATUS\n", "MyBot", "status", "" },
	{ "/new@OtherBot", "MyBot", NULL, NULL },
	{ "/new please", "", "new", "please" }, /* the table takes no arguments: to the model */
	{ "/auth\tdemo  abc123 ", "", "auth", "demo  abc123" },
	{ "/short google__calendar", "", "short", "google__calendar" },
	{ "/remind@MyBot in 5 minutes", "mybot", "remind", "in 5 minutes" },
	{ "/EXAMPLES Off", "", "examples", "Off" },
	{ "/a_b-9", "", "a_b-9", "" },
	{ "examples on", "", NULL, NULL },
	{ "/etc/passwd", "", NULL, NULL },
	{ "/", "", NULL, NULL },
	{ "/ new", "", NULL, NULL },
	{ "//new", "", NULL, NULL },
	{ "/@MyBot", "MyBot", NULL, NULL },
	{ "/new@", "", NULL, NULL },
	{ "/new.", "", NULL, NULL },
	{ "/n\xc3\xa9w", "", NULL, NULL },
	{ "", "", NULL, NULL },
};

static void a_slash_word_is_told_from_text(void **state)
{
	for (size_t i = 0; i < COUNT(slashes); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str word, args;
		bool is = text_slash(&a, str_of(slashes[i].in), str_of(slashes[i].bot), &word,
				     &args);

		if (is != (slashes[i].word != NULL))
			fail_msg("%s", slashes[i].in);
		if (!is)
			continue;
		assert_string_equal(word.p, slashes[i].word);
		assert_true(str_eq(args, str_of(slashes[i].args)));
	}
}

static const struct {
	const char *in;
	bool silent;
} replies[] = {
	{ "NO_REPLY", true },
	{ " NO_REPLY\n", true },
	{ "[silent]", true },
	{ "  [SILENT]  ", true },
	{ "[Silent]\nreason", true },
	{ "[silent] \r\nx", true },
	{ "", false },
	{ "   ", false },
	{ "hello [silent]", false },
	{ "I'll stay [silent] now", false },
	{ "no_reply", false },
	{ "NO_REPLY, really", false },
	{ "[silent] but not alone", false },
};

static void only_a_whole_word_asks_for_silence(void **state)
{
	for (size_t i = 0; i < COUNT(replies); i++)
		if (text_silent(str_of(replies[i].in)) != replies[i].silent)
			fail_msg("%s", replies[i].in);
}

static void what_may_become_silence_is_held_back(void **state)
{
	static const char *const held[] = {
		"",           " ", "N",    "NO_REP",   "NO_REPLY",
		"NO_REPLY\n", "[", "[SIL", "[silent]", "[silent]\nall is well"
	};
	static const char *const shown[] = { "No", "NO_REPLY is a word", "[silence]", "[x",
					     "Yes" };

	for (size_t i = 0; i < COUNT(held); i++)
		if (!text_silent_so_far(str_of(held[i])))
			fail_msg("%s", held[i]);
	for (size_t i = 0; i < COUNT(shown); i++)
		if (text_silent_so_far(str_of(shown[i])))
			fail_msg("%s", shown[i]);
}

static const struct {
	const char *in, *rest, *reasoning;
} thoughts[] = {
	{ "<think>secret</think>\n\nHello", "Hello", "secret" },
	{ "\n <think>\nsecret\n</think>Hello", "Hello", "secret" },
	{ "</think>Hello", "Hello", "" },
	{ "<thought>secret</thought>Hi", "Hi", "secret" },
	{ "<Thinking>a</THINKING> b", "b", "a" },
	{ "<reasoning>a</reasoning>b", "b", "a" },
	{ "<think></think>x", "x", "" },
	{ "<think>a</think><think>b</think>x", "x", "a" },
	{ "<think>never closed", "", "never closed" },
	{ "<think>a</thought>b</think>c", "c", "a</thought>b" },
	{ "Wrap it in a <think> tag, then continue. Done.",
	  "Wrap it in a <think> tag, then continue. Done.", "" },
	{ "A <think>b</think> c", "A <think>b</think> c", "" },
	{ " plain \n", " plain \n", "" },
	{ "<thinker>x</thinker>", "<thinker>x</thinker>", "" },
	{ "<think", "<think", "" },
	{ "", "", "" },
};

static void only_a_leading_block_is_reasoning(void **state)
{
	for (size_t i = 0; i < COUNT(thoughts); i++) {
		str reasoning, rest = text_strip_think(str_of(thoughts[i].in), &reasoning);

		if (!str_eq(rest, str_of(thoughts[i].rest)) ||
		    !str_eq(reasoning, str_of(thoughts[i].reasoning)))
			fail_msg("%s: rest %.*s, reasoning %.*s", thoughts[i].in, STRF(rest),
				 STRF(reasoning));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slash_word_is_told_from_text),
		cmocka_unit_test(only_a_whole_word_asks_for_silence),
		cmocka_unit_test(what_may_become_silence_is_held_back),
		cmocka_unit_test(only_a_leading_block_is_reasoning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
