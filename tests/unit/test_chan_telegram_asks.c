/*
 * Questions of tool servers in a chat: whatever is asked, the message and its buttons are such as
 * Telegram takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "chan/telegram_asks.h"
#include "text/tghtml.h"

#define ID "0123456789abcdef0123456789abcdef"

static struct question question(str params)
{
	return (struct question){ .id = S(ID),
				  .server = S("srv"),
				  .address = S("111"),
				  .params = params,
				  .posts = 1 };
}

static struct json *keyboard(const struct question *q, struct arena *a)
{
	struct json *v = NULL;

	assert_int_equal(json_read(&v, a, telegram_asks_buttons(q, a), NULL), OK);
	return v;
}

/* "label=data label=data", rows apart by "|", without the id. */
static str seen(const struct question *q, struct arena *a)
{
	struct buf b = buf_in(a, 65536);

	for (const struct json *row = json_get(keyboard(q, a), "inline_keyboard")->child; row;
	     row = row->next) {
		buf_add(&b, b.n ? S("|") : S(""));
		for (const struct json *x = row->child; x; x = x->next) {
			str data = json_str(x, "callback_data");
			assert_true(str_starts(data, S("qs:" ID ":")) && data.n <= 64);
			assert_true(json_str(x, "text").n > 0);
			buf_fmt(&b, "%s%.*s=%.*s", x == row->child ? "" : " ",
				STRF(json_str(x, "text")),
				STRF(str_sub(data, 4 + sizeof ID - 1, data.n)));
		}
	}
	return buf_str(&b);
}

static const struct {
	const char *params, *buttons;
} rows[] = {
	{ "{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":["
	  "\"a\"]}}",
	  "Decline=0:n Cancel=0:c" },
	{ "{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"string\"}}}}",
	  "Skip=0:s|Decline=0:n Cancel=0:c" },
	{ "{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"boolean\",\"default\":false}"
	  "}}}",
	  "Yes=0:0 No=0:1|Default: false=0:s|Decline=0:n Cancel=0:c" },
	{ "{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"enum\":"
	  "[\"x\",\"\"]}}},\"required\":[\"a\"]}}",
	  "☐ x=0:0|☐ (empty)=0:1|Done=0:d|Decline=0:n Cancel=0:c" },
	{ "{\"requestedSchema\":{\"properties\":{}}}", "Accept=0:a Decline=0:n Cancel=0:c" },
	{ "{\"mode\":\"url\",\"url\":\"https://x.example/\"}",
	  "I opened it=0:a Decline=0:n Cancel=0:c" },
};

static void each_field_has_its_buttons(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct question q = question(str_of(rows[i].params));
		assert_string_equal(seen(&q, &a).p, rows[i].buttons);
	}
	(void)state;
}

/* A field with n options of the longest kind, behind the longest words. */
static str largest(struct arena *a, size_t n)
{
	struct buf b = buf_in(a, 1 << 20);

	buf_add(&b, S("{\"message\":\""));
	for (int i = 0; i < 9000; i++)
		buf_add(&b, S("\xf0\x9f\x98\x80"));
	buf_add(&b, S("\",\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"string\","
		      "\"title\":\""));
	for (int i = 0; i < 400; i++)
		buf_add(&b, S("\xf0\x9f\x98\x80"));
	buf_add(&b, S("\",\"description\":\""));
	for (int i = 0; i < 4000; i++)
		buf_add(&b, S("<&"));
	buf_add(&b, S("\",\"enum\":["));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s\"%0200zu\"", i ? "," : "", i);
	buf_add(&b, S("]}}}}"));
	return buf_str(&b);
}

static void the_longest_question_fits_into_one_message(void **state)
{
	for (size_t n = 1; n <= FORM_OPTIONS; n += 33) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct question q = question(largest(&a, n));
		struct piece_new *v;
		size_t pieces;
		assert_int_equal(telegram_asks_render(&a, &q, 0, &v, &pieces, NULL), OK);
		assert_int_equal(pieces, 1);
		assert_true(tg_length(v[0].body) <= MESSAGE_UNITS);
		assert_true(keyboard(&q, &a)->child->n <= 60);
	}
	(void)state;
}

static void the_longest_link_fits_too(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);
	struct piece_new *v;
	size_t n;

	buf_add(&b, S("{\"mode\":\"url\",\"message\":\""));
	for (int i = 0; i < 9000; i++)
		buf_add(&b, S("\xf0\x9f\x98\x80"));
	buf_add(&b, S("\",\"url\":\"https://x.example/"));
	for (size_t i = sizeof "https://x.example/"; i <= LINK_MAX; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\"}"));
	struct question q = question(buf_str(&b));
	assert_int_equal(telegram_asks_render(&a, &q, 0, &v, &n, NULL), OK);
	assert_true(tg_length(v[0].body) <= MESSAGE_UNITS - 100);
	(void)state;
}

static void words_of_a_server_are_no_markup(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct question q =
		question(S("{\"message\":\"<a href=x>\\u202e</a>\",\"requestedSchema\":"
			   "{\"properties\":{\"<b>\":{\"type\":\"string\"}}}}"));
	struct piece_new *v;
	size_t n;

	q.server = S("<i>\n");
	assert_int_equal(telegram_asks_render(&a, &q, 0, &v, &n, NULL), OK);
	assert_true(str_starts(v[0].body, S("<b>The tool server &lt;i&gt; asks:</b>\n"
					    "&lt;a href=x&gt;\\u202e&lt;/a&gt;\n\n"
					    "<b>&lt;b&gt; (optional)</b>\n")));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_has_its_buttons),
		cmocka_unit_test(the_longest_question_fits_into_one_message),
		cmocka_unit_test(the_longest_link_fits_too),
		cmocka_unit_test(words_of_a_server_are_no_markup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
