/* Pictures in prompts: on their own message, or a word in their place; and how they are marked
 * in the text that stays. */
#include "agent/prompt.h"
#include "agent/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct message user(int64_t seq, const char *text)
{
	return (struct message){ .seq = seq,
				 .turn_id = S("t"),
				 .role = S("user"),
				 .text = str_of(text),
				 .wire = S("{\"role\":\"user\",\"content\":\"stored\"}") };
}

static const char *sent(struct arena *a, const struct message *rows, size_t n,
			const struct prompt_image *images, size_t images_n)
{
	struct model_msg *msgs;
	size_t out;

	assert_int_equal(prompt_messages_with(a, rows, n, images, images_n, &msgs, &out, NULL),
			 OK);
	return msgs[out - 1].wire.p;
}

static void a_picture_rides_on_its_message(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message rows[] = { user(4, "[photo] what is it") };
	struct prompt_image images[] = { { 4, S("data:image/png;base64,AAAA"), { 0 } },
					 { 4, S("data:image/png;base64,BBBB"), { 0 } } };

	(void)state;
	rows[0].context = S("[context]");
	assert_string_equal(
		sent(&a, rows, 1, images, 2),
		"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[photo] what is "
		"it\\n\\n[context]\"},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"png;base64,AAAA\"}},"
		"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
		"png;base64,BBBB\"}}]}");
}

static void other_messages_are_sent_as_they_are(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message answer = { .seq = 2,
				  .turn_id = S("s"),
				  .role = S("assistant"),
				  .text = S("ok"),
				  .wire = S("{\"role\":\"assistant\",\"content\":\"ok\"}") };
	struct message rows[] = { user(1, "old"), answer, user(4, "[photo]") };
	struct prompt_image images[] = { { 4, S("data:x"), { 0 } } };
	struct model_msg *msgs;
	size_t n;

	(void)state;
	assert_int_equal(prompt_messages_with(&a, rows, 3, images, 1, &msgs, &n, NULL), OK);
	assert_int_equal(n, 3);
	assert_string_equal(msgs[0].wire.p, rows[0].wire.p);
	assert_non_null(strstr(msgs[2].wire.p, "\"url\":\"data:x\""));
	/* Afterwards the same rows have none. */
	assert_string_equal(sent(&a, rows, 3, NULL, 0), rows[2].wire.p);
}

static void joined_messages_keep_all_their_pictures(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message rows[] = { user(4, "one"), user(5, "two") };
	struct prompt_image images[] = { { 4, S("data:1"), { 0 } }, { 5, S("data:2"), { 0 } } };
	const char *wire;

	(void)state;
	wire = sent(&a, rows, 2, images, 2);
	assert_non_null(strstr(wire, "\"text\":\"one\\n\\ntwo\""));
	assert_non_null(strstr(wire, "data:1"));
	assert_non_null(strstr(wire, "data:2"));
}

static void a_note_stands_for_a_picture_that_is_not_shown(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message rows[] = { user(4, "[photo]") };
	struct prompt_image images[] = { { 4, { 0 }, S("[note: none]") } };

	(void)state;
	assert_string_equal(sent(&a, rows, 1, images, 1),
			    "{\"role\":\"user\",\"content\":\"[photo]\\n\\n[note: none]\"}");
}

static void pictures_are_marked_in_the_text(void **state)
{
	static const struct attachment one[] = { { S("photo"), S("a"), S(""), 1 },
						 { S("voice"), S("b"), S(""), 1 } };
	static const struct {
		struct inbox_row rows[3];
		size_t n;
		const char *text;
	} cases[] = {
		{ { { .text = { "hi", 2 } } }, 1, "hi" },
		{ { { .text = { "", 0 }, .files = one, .files_n = 1 } }, 1, "[photo]" },
		{ { { .text = { "see", 3 }, .files = one, .files_n = 2 } }, 1, "[photo] see" },
		{ { { .text = { "before", 6 }, .files = one, .files_n = 1 },
		    { .text = { "", 0 }, .files = one, .files_n = 1 },
		    { .text = { "after", 5 }, .files = one, .files_n = 1 } },
		  3,
		  "[photo 1] before\n\n[photo 2]\n\n[photo 3] after" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		assert_string_equal(run_text_of(&a, cases[i].rows, cases[i].n).p,
				    cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_picture_rides_on_its_message),
		cmocka_unit_test(other_messages_are_sent_as_they_are),
		cmocka_unit_test(joined_messages_keep_all_their_pictures),
		cmocka_unit_test(a_note_stands_for_a_picture_that_is_not_shown),
		cmocka_unit_test(pictures_are_marked_in_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
