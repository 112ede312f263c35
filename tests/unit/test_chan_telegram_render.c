/*
 * Rows as pieces: answers with what was shown of them, and questions that can be read whole
 * before they can be answered.
 */
#include "chan/telegram_internal.h"

#include "text/tghtml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

#define ID "0123456789abcdef0123456789abcdef"

static size_t render(struct arena *a, const char *text, const char *live_id,
		     struct piece_new **v)
{
	struct telegram t = { 0 };
	const struct outbox_row row = { .kind = S("reply"),
					.text = str_of(text),
					.live_id = str_of(live_id) };
	size_t n = 99;

	assert_int_equal(telegram_render(&t.base, &row, a, v, &n, NULL), OK);
	return n;
}

static void an_answer_is_html_with_its_source_beside_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct piece_new *v;

	assert_int_equal(render(&a, "**a** < b", "", &v), 1);
	assert_string_equal(v[0].method.p, "send");
	assert_true(str_eq(v[0].body, S("<b>a</b> &lt; b")));
	assert_true(str_eq(v[0].plain, S("**a** < b")));
	assert_int_equal(render(&a, " \n ", "", &v), 0);
}

static void a_picture_goes_with_its_url_and_caption(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct piece_new *v;

	assert_int_equal(render(&a, "look\n\n![x](https://e.x/a.png)", "", &v), 1);
	assert_string_equal(v[0].method.p, "photo");
	assert_true(str_eq(v[0].body, S("https://e.x/a.png\nlook")));
	assert_true(str_has(v[0].plain, S("look")));
}

static void the_message_that_grew_becomes_the_first_part(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct piece_new *v;

	assert_int_equal(render(&a, "done", "77", &v), 1);
	assert_string_equal(v[0].method.p, "edit");
	assert_string_equal(v[0].remote_id.p, "77");
	/* A picture cannot take its place, and nothing at all cannot either. */
	assert_int_equal(render(&a, "![x](https://e.x/a.png)", "77", &v), 2);
	assert_string_equal(v[0].method.p, "edit");
	assert_string_equal(v[1].method.p, "photo");
	assert_int_equal(render(&a, "", "77", &v), 1);
	assert_string_equal(v[0].method.p, "edit");
	assert_true(v[0].body.n > 0);
}

/* --- questions -------------------------------------------------------------------------- */

static struct approval question(str command)
{
	return (struct approval){ .id = S(ID),
				  .tool = S("shell__run"),
				  .command = command,
				  .reason = S("a rule asks"),
				  .posts = 1 };
}

static size_t ask(struct arena *a, const struct approval *q, struct piece_new **v)
{
	size_t n = 0;

	assert_int_equal(telegram_render_approval(a, q, v, &n, NULL), OK);
	return n;
}

static bool buttons(const struct piece_new *p)
{
	const struct outbox_row row = { .approval_id = S(ID) };
	const struct piece piece = { .method = p->method, .body = p->body };

	return telegram_has_buttons(&row, &piece);
}

static void a_short_command_stands_in_the_question(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct approval q =
		question(S("{\"path\":\"</code></pre> & so on\x1b[2J\xe2\x80\xaex\"}"));
	struct piece_new *v;

	assert_int_equal(ask(&a, &q, &v), 1);
	assert_true(buttons(&v[0]));
	assert_true(str_has(v[0].body, S("shell__run")));
	assert_true(
		str_has(v[0].body, S("&lt;/code&gt;&lt;/pre&gt; &amp; so on\\x1b[2J\\u202ex")));
	assert_true(str_has(v[0].body, S("Reason: a rule asks")));
	/* One block, opened and closed once. */
	size_t at = str_find(v[0].body, S("<pre>"));
	assert_false(str_has(str_sub(v[0].body, at + 1, v[0].body.n), S("<pre>")));
	q.posts = 2;
	assert_int_equal(ask(&a, &q, &v), 1);
	assert_true(str_has(v[0].body, S("Still waiting")));
}

static str long_command(struct arena *a, size_t n, const char *unit)
{
	struct buf b = buf_in(a, n * 8 + 16);

	for (size_t i = 0; i < n; i++)
		buf_add(&b, str_of(i % 60 == 59 ? "\n" : unit));
	return buf_str(&b);
}

static void a_long_command_is_read_in_parts_before_the_buttons(void **state)
{
	static const struct {
		size_t n;
		const char *unit;
	} rows[] = { { 3001, "x" },
		     { 8000, "&" },
		     { 11990, "<" },
		     { 12000, "y" },
		     { 3000, "\xf0\x9f\x98\x80" } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct approval q = question(long_command(&a, rows[i].n, rows[i].unit));
		struct buf all = buf_in(&a, 1 << 20);
		struct piece_new *v;
		size_t n = ask(&a, &q, &v);

		assert_true(n > 1);
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(buttons(&v[k]), k == n - 1);
			assert_true(tg_length(v[k].body) <= TG_TEXT_MAX);
			if (k + 1 < n)
				buf_add(&all, v[k].plain);
		}
		if (!str_eq(buf_str(&all), q.command))
			fail_msg("case %zu: the parts are not the command", i);
	}
}

static void a_very_long_command_is_a_file_before_the_buttons(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct approval q = question(long_command(&a, 12001, "x"));
	struct piece_new *v;

	assert_int_equal(ask(&a, &q, &v), 2);
	assert_string_equal(v[0].method.p, "document");
	assert_true(str_eq(v[0].body, q.command));
	assert_false(buttons(&v[0]));
	assert_true(buttons(&v[1]));
}

static void the_buttons_carry_the_verdicts_within_64_bytes(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *v;
	str markup = telegram_buttons(&a, S(ID)), id;
	const char *const want[] = { "ok:" ID, "no:" ID, "al:" ID };
	size_t n = 0;
	bool yes, always;

	assert_int_equal(json_read(&v, &a, markup, NULL), OK);
	for (const struct json *r = json_get(v, "inline_keyboard")->child; r; r = r->next)
		for (const struct json *b = r->child; b; b = b->next) {
			str data = json_str(b, "callback_data");
			assert_true(data.n <= 64);
			assert_true(str_eq(data, str_of(want[n++])));
			assert_true(telegram_press_parse(data, &id, &yes, &always));
			assert_true(str_eq(id, S(ID)));
		}
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_html_with_its_source_beside_it),
		cmocka_unit_test(a_picture_goes_with_its_url_and_caption),
		cmocka_unit_test(the_message_that_grew_becomes_the_first_part),
		cmocka_unit_test(a_short_command_stands_in_the_question),
		cmocka_unit_test(a_long_command_is_read_in_parts_before_the_buttons),
		cmocka_unit_test(a_very_long_command_is_a_file_before_the_buttons),
		cmocka_unit_test(the_buttons_carry_the_verdicts_within_64_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
