/*
 * cli/edit_keys and cli/edit_text: keys as terminals send them, and what they do to a text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf.h"
#include "cli/edit_text.h"

static const struct {
	str bytes;
	enum key key;
	size_t taken;
} keys[] = {
	{ S("a"), KEY_TEXT, 1 },
	{ S("\xe2\x82\xac"), KEY_TEXT, 3 },
	{ S("\xe2\x82"), KEY_NONE, 0 },
	{ S("\xe2x"), KEY_NONE, 1 },
	{ S("\xff"), KEY_NONE, 1 },
	{ S("\xc2\x9b"), KEY_NONE, 2 },
	{ S(""), KEY_NONE, 0 },
	{ S("\r"), KEY_ENTER, 1 },
	{ S("\n"), KEY_ENTER, 1 },
	{ S("\x7f"), KEY_BACKSPACE, 1 },
	{ S("\x01"), KEY_HOME, 1 },
	{ S("\x03"), KEY_INTERRUPT, 1 },
	{ S("\x04"), KEY_DELETE_OR_END, 1 },
	{ S("\0"), KEY_NONE, 1 },
	{ S("\x1b"), KEY_NONE, 0 },
	{ S("\x1b["), KEY_NONE, 0 },
	{ S("\x1b[1"), KEY_NONE, 0 },
	{ S("\x1b[A"), KEY_UP, 3 },
	{ S("\x1b[D"), KEY_LEFT, 3 },
	{ S("\x1b[1;5D"), KEY_WORD_LEFT, 6 },
	{ S("\x1b[1;3C"), KEY_WORD_RIGHT, 6 },
	{ S("\x1bOH"), KEY_HOME, 3 },
	{ S("\x1b[H"), KEY_HOME, 3 },
	{ S("\x1b[4~"), KEY_END, 4 },
	{ S("\x1b[8~"), KEY_END, 4 },
	{ S("\x1b[3~"), KEY_DELETE, 4 },
	{ S("\x1b[3;5~"), KEY_DELETE, 6 },
	{ S("\x1b[200~"), KEY_PASTE_BEGIN, 6 },
	{ S("\x1b[201~"), KEY_PASTE_END, 6 },
	{ S("\x1b[99z"), KEY_NONE, 5 },
	{ S("\x1b[?1;2c"), KEY_NONE, 7 },
	{ S("\x1b[1\r"), KEY_NONE, 3 },
	{ S("\x1b"
	    "b"),
	  KEY_WORD_LEFT, 2 },
	{ S("\x1b\r"), KEY_NEWLINE, 2 },
	{ S("\x1b\x7f"), KEY_KILL_WORD, 2 },
	{ S("\x1bz"), KEY_NONE, 2 },
	{ S("\x1b\x1b[A"), KEY_NONE, 1 },
};

static void each_sequence_is_its_key_and_taken_whole(void **state)
{
	for (size_t i = 0; i < COUNT(keys); i++) {
		struct key_press k;
		size_t n = key_next(keys[i].bytes, &k);
		if (n != keys[i].taken || k.key != keys[i].key)
			fail_msg("row %zu: %d, %zu bytes", i, k.key, n);
	}
}

static void any_bytes_are_used_up(void **state)
{
	char bytes[256 * 3];

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t at = 0; at < sizeof bytes;) {
		struct key_press k;
		size_t n = key_next((str){ bytes + at, sizeof bytes - at }, &k);
		assert_true(n <= sizeof bytes - at);
		if (n == 0)
			break;
		at += n;
	}
}

static void a_paste_ends_at_its_mark_however_it_is_cut(void **state)
{
	str all = S("a\x1b[201b\x1b\x1b[201~c");

	for (size_t cut = 0; cut <= all.n; cut++) {
		bool end;
		size_t n = key_paste(str_sub(all, 0, cut), &end);
		assert_int_equal(end, cut >= 14);
		assert_true(n <= 8);
		/* The rest goes on where the first part was left. */
		size_t rest = key_paste(str_sub(all, n, all.n), &end);
		assert_true(end);
		assert_int_equal(n + rest, 8);
	}
}

/* A text with its cursor as |. */
static str drawn(struct arena *a, const struct edit_text *t)
{
	str s = edit_text_str(t);

	return arena_fmt(a, "%.*s|%.*s", (int)t->cursor, s.p ? s.p : "", (int)(s.n - t->cursor),
			 s.p ? s.p + t->cursor : "");
}

#define L KEY_LEFT
#define R KEY_RIGHT

static const struct {
	str text;
	enum key keys[6];
	str result;
} edits[] = {
	{ S("abc"), { L, L, KEY_BACKSPACE }, S("|bc") },
	{ S("abc"), { KEY_BACKSPACE, KEY_BACKSPACE, KEY_BACKSPACE, KEY_BACKSPACE }, S("|") },
	{ S("abc"), { KEY_HOME, KEY_DELETE }, S("|bc") },
	{ S("abc"), { KEY_DELETE }, S("abc|") },
	{ S("a\xe2\x82\xac"), { L, KEY_BACKSPACE }, S("|\xe2\x82\xac") },
	{ S("a\xe2\x82\xac"), { KEY_BACKSPACE }, S("a|") },
	{ S("xe\xcc\x81"), { L }, S("x|e\xcc\x81") },
	{ S("xe\xcc\x81"), { KEY_BACKSPACE }, S("x|") },
	{ S("xe\xcc\x81y"), { KEY_HOME, R, R }, S("xe\xcc\x81|y") },
	{ S("one two  three"), { KEY_WORD_LEFT, KEY_WORD_LEFT }, S("one |two  three") },
	{ S("one two"), { KEY_HOME, KEY_WORD_RIGHT }, S("one| two") },
	{ S("one two "), { KEY_KILL_WORD }, S("one |") },
	{ S("one two"), { KEY_KILL_WORD, KEY_HOME, KEY_YANK }, S("two|one ") },
	{ S("one two"), { KEY_HOME, KEY_KILL_WORD_RIGHT }, S("| two") },
	{ S("one two"),
	  { KEY_WORD_LEFT, KEY_KILL_TO_END, KEY_YANK, KEY_YANK },
	  S("one twotwo|") },
	{ S("one two"), { KEY_WORD_LEFT, KEY_KILL_TO_START }, S("|two") },
	{ S("a\nbc\nd"), { L, L, KEY_HOME }, S("a\n|bc\nd") },
	{ S("a\nbc\nd"), { L, L, L, KEY_END }, S("a\nbc|\nd") },
	{ S("a\nbc"), { KEY_HOME, L, KEY_KILL_TO_END }, S("a|bc") },
	{ S("a\nbc"), { KEY_KILL_TO_START }, S("a\n|") },
	{ S("ab"), { L, KEY_NEWLINE }, S("a\n|b") },
	{ S(""), { L, R, KEY_HOME, KEY_END, KEY_KILL_WORD, KEY_YANK }, S("|") },
};

static void keys_change_the_text_as_a_shell_would(void **state)
{
	for (size_t i = 0; i < COUNT(edits); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct edit_text t = { .a = &a, .max = 100 };
		edit_text_set(&t, edits[i].text);
		for (size_t k = 0; k < COUNT(edits[i].keys) && edits[i].keys[k]; k++)
			(void)edit_text_key(&t, edits[i].keys[k]);
		if (!str_eq(drawn(&a, &t), edits[i].result))
			fail_msg("row %zu: %s", i, drawn(&a, &t).p);
		assert_true(utf_valid(edit_text_str(&t)));
	}
}

static void what_a_terminal_would_obey_is_not_inserted(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct edit_text t = { .a = &a, .max = 100 };

	assert_true(edit_text_insert(&t, S("a\x1b[31mb\0c\x7f\xc2\x9b\tx\r\ny\rz\n\xff")));
	assert_string_equal(drawn(&a, &t).p, "a[31mbc\tx\ny\nz\n\xef\xbf\xbd|");
}

static void more_than_the_limit_is_not_taken(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct edit_text t = { .a = &a, .max = 5 };

	assert_true(edit_text_insert(&t, S("12345")));
	assert_false(edit_text_insert(&t, S("6")));
	assert_string_equal(drawn(&a, &t).p, "12345|");
	assert_true(edit_text_key(&t, KEY_BACKSPACE));
	assert_true(edit_text_insert(&t, S("6")));
}

static void up_and_down_keep_the_column_where_they_can(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct edit_text t = { .a = &a, .max = 100 };

	edit_text_set(&t, S("\xe2\x82\xac\xe2\x82\xac"
			    "cd\nx\nabcd"));
	t.cursor -= 1;
	assert_false(edit_text_line(&t, 1));
	assert_true(edit_text_line(&t, -1));
	assert_true(str_has(drawn(&a, &t), S("x|\nabcd")));
	assert_true(edit_text_line(&t, -1));
	assert_true(str_starts(drawn(&a, &t), S("\xe2\x82\xac|\xe2\x82\xac")));
	assert_false(edit_text_line(&t, -1));
	assert_true(edit_text_line(&t, 1));
	assert_true(str_has(drawn(&a, &t), S("x|\nabcd")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sequence_is_its_key_and_taken_whole),
		cmocka_unit_test(any_bytes_are_used_up),
		cmocka_unit_test(a_paste_ends_at_its_mark_however_it_is_cut),
		cmocka_unit_test(keys_change_the_text_as_a_shell_would),
		cmocka_unit_test(what_a_terminal_would_obey_is_not_inserted),
		cmocka_unit_test(more_than_the_limit_is_not_taken),
		cmocka_unit_test(up_and_down_keep_the_column_where_they_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
