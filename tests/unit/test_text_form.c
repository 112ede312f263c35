/*
 * Forms of tool servers: what is read, what is shown, what is taken as an answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "text/form.h"

static struct form form_of(struct arena *a, const char *properties, const char *more)
{
	struct json *params = NULL;
	struct form f = { 0 };
	struct err e = { 0 };
	str text = arena_fmt(a,
			     "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\","
			     "\"properties\":{%s}%s}}",
			     properties, more);

	assert_int_equal(json_read(&params, a, text, &e), OK);
	if (form_read(&f, params, a, &e) < 0)
		fail_msg("%s: %s", properties, e.msg);
	return f;
}

/* One field, what is typed, and the value; or, with a value of "!...", part of the refusal. */
static const struct {
	const char *schema, *typed, *value;
} typed[] = {
	{ "{\"type\":\"string\"}", "  hi \"you\" ", "\"hi \\\"you\\\"\"" },
	{ "{\"type\":\"string\",\"minLength\":3}", "hi", "!at least 3" },
	{ "{\"type\":\"string\",\"maxLength\":3}", "\xc3\xa4\xc3\xb6\xc3\xbc",
	  "\"\xc3\xa4\xc3\xb6\xc3\xbc\"" },
	{ "{\"type\":\"string\",\"maxLength\":3}", "four", "!at most 3" },
	{ "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}", "abc", "\"abc\"" },
	{ "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}", "aBc", "!pattern" },
	{ "{\"type\":\"string\",\"pattern\":\"^\\u001b$\"}", "x", "!the pattern ^\\x1b$" },
	{ "{\"type\":\"string\",\"pattern\":\"(\"}", "anything", "\"anything\"" },
	{ "{\"type\":\"string\",\"format\":\"email\"}", "a@b.example", "\"a@b.example\"" },
	{ "{\"type\":\"string\",\"format\":\"email\"}", "a@b@c.example", "!e-mail" },
	{ "{\"type\":\"string\",\"format\":\"email\"}", "nobody", "!e-mail" },
	{ "{\"type\":\"string\",\"format\":\"uri\"}", "https://x.example/",
	  "\"https://x.example/\"" },
	{ "{\"type\":\"string\",\"format\":\"uri\"}", "not a url", "!URL" },
	{ "{\"type\":\"string\",\"format\":\"date\"}", "2026-02-28", "\"2026-02-28\"" },
	{ "{\"type\":\"string\",\"format\":\"date\"}", "2026-02-30", "!date" },
	{ "{\"type\":\"string\",\"format\":\"date-time\"}", "2026-02-28T10:00:00Z",
	  "\"2026-02-28T10:00:00Z\"" },
	{ "{\"type\":\"string\",\"format\":\"date-time\"}", "2026-02-28", "!time" },
	{ "{\"type\":\"integer\"}", "42", "42" },
	{ "{\"type\":\"integer\"}", "+7", "7" },
	{ "{\"type\":\"integer\"}", "9007199254740993", "9007199254740993" },
	{ "{\"type\":\"integer\"}", "4.5", "!whole" },
	{ "{\"type\":\"integer\"}", "99999999999999999999", "!whole" },
	{ "{\"type\":\"integer\"}", "true", "!whole" },
	{ "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}", "0", "!at least 1" },
	{ "{\"type\":\"integer\",\"minimum\":1,\"maximum\":10}", "11", "!at most 10" },
	{ "{\"type\":\"number\"}", "2.5e1", "2.5e1" },
	{ "{\"type\":\"number\"}", "1e999", "!number" },
	{ "{\"type\":\"number\"}", "many", "!number" },
	{ "{\"type\":\"boolean\"}", "Yes", "true" },
	{ "{\"type\":\"boolean\"}", "off", "false" },
	{ "{\"type\":\"boolean\"}", "maybe", "!yes or no" },
	{ "{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}", "RED", "\"red\"" },
	{ "{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}", "2", "\"blue\"" },
	{ "{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}", "green",
	  "!none of the options" },
	{ "{\"type\":\"string\",\"enum\":[\"2\",\"1\"]}", "2", "\"2\"" },
	{ "{\"type\":\"string\",\"enum\":[\"r\"],\"enumNames\":[\"Red\"]}", "red", "\"r\"" },
	{ "{\"type\":\"string\",\"oneOf\":[{\"const\":\"r\",\"title\":\"Red\"}]}", "Red",
	  "\"r\"" },
	{ "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\",\"c\"]}}",
	  "c, a", "[\"a\",\"c\"]" },
	{ "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\",\"title\":\"A, x\"}]}}",
	  "A, x", "[\"a\"]" },
	{ "{\"type\":\"array\",\"minItems\":2,\"items\":{\"enum\":[\"a\",\"b\"]}}", "a",
	  "!at least 2" },
	{ "{\"type\":\"array\",\"maxItems\":1,\"items\":{\"enum\":[\"a\",\"b\"]}}", "a,b",
	  "!at most 1" },
	{ "{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}}", "a,z", "!\"z\" is none" },
};

static void what_is_typed_is_taken_by_the_schema(void **state)
{
	for (size_t i = 0; i < COUNT(typed); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct form f = form_of(&a, arena_fmt(&a, "\"x\":%s", typed[i].schema).p, "");
		struct err e = { 0 };
		str value = S("");
		int rc = form_take(&f.fields[0], str_of(typed[i].typed), &a, &value, &e);
		if (typed[i].value[0] == '!') {
			assert_int_equal(rc, E_INVAL);
			if (!strstr(e.msg, typed[i].value + 1))
				fail_msg("%s: %s", typed[i].typed, e.msg);
			continue;
		}
		if (rc < 0)
			fail_msg("%s: %s", typed[i].typed, e.msg);
		assert_string_equal(arena_dup(&a, value).p, typed[i].value);
	}
	(void)state;
}

static void a_form_is_filled_in_field_by_field(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct form f =
		form_of(&a,
			"\"name\":{\"type\":\"string\"},"
			"\"age\":{\"type\":\"integer\",\"default\":30},"
			"\"nick\":{\"type\":\"string\"},"
			"\"ok\":{\"type\":\"boolean\"},"
			"\"tags\":{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}}",
			",\"required\":[\"name\",\"age\"]");
	struct form_fill x = { 0 };
	struct err e = { 0 };

	assert_int_equal(f.n, 5);
	assert_true(f.fields[0].required && !f.fields[2].required);
	/* The first one has no default, and cannot be left out. */
	assert_int_equal(
		form_step(&f, &(struct form_said){ .what = FORM_SAY_SKIP }, &x, &a, &e),
		E_INVAL);
	assert_int_equal(x.field, 0);
	assert_int_equal(form_step(&f, &(struct form_said){ .text = S("Ann") }, &x, &a, &e),
			 OK);
	assert_int_equal(form_step(&f, &(struct form_said){ .text = S("") }, &x, &a, &e), OK);
	assert_int_equal(
		form_step(&f, &(struct form_said){ .what = FORM_SAY_SKIP }, &x, &a, &e), OK);
	assert_int_equal(form_step(&f,
				   &(struct form_said){ .what = FORM_SAY_OPTION, .option = 1 },
				   &x, &a, &e),
			 OK);
	/* Picked, picked, and put back. */
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(form_step(&f,
					   &(struct form_said){ .what = FORM_SAY_OPTION,
								.option = i % 2 },
					   &x, &a, &e),
				 OK);
	assert_int_equal(x.end, FORM_OPEN);
	assert_int_equal(
		form_step(&f, &(struct form_said){ .what = FORM_SAY_DONE }, &x, &a, &e), OK);
	assert_int_equal(x.end, FORM_ACCEPTED);
	assert_string_equal(arena_dup(&a, form_result(&f, &x, &a)).p,
			    "{\"action\":\"accept\",\"content\":{\"name\":\"Ann\",\"age\":30,"
			    "\"ok\":false,\"tags\":[\"b\"]}}");
	(void)state;
}

static void a_form_ends_after_too_many_answers_that_do_not_fit(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct form f = form_of(&a, "\"n\":{\"type\":\"integer\"}", "");
	struct form_fill x = { 0 };

	for (int i = 0; i < FORM_TRIES; i++) {
		assert_int_equal(x.end, FORM_OPEN);
		assert_int_equal(
			form_step(&f, &(struct form_said){ .text = S("no") }, &x, &a, NULL),
			E_INVAL);
	}
	assert_int_equal(x.end, FORM_CANCELLED);
	assert_string_equal(form_result(&f, &x, &a).p, "{\"action\":\"cancel\"}");
	(void)state;
}

static void a_form_without_fields_is_a_question_by_itself(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct form f = form_of(&a, "", "");
	struct form_fill x = { 0 };

	assert_int_equal(form_step(&f, &(struct form_said){ .text = S("hm") }, &x, &a, NULL),
			 E_INVAL);
	assert_int_equal(
		form_step(&f, &(struct form_said){ .what = FORM_SAY_ACCEPT }, &x, &a, NULL),
		OK);
	assert_string_equal(arena_dup(&a, form_result(&f, &x, &a)).p,
			    "{\"action\":\"accept\",\"content\":{}}");
	x = (struct form_fill){ 0 };
	assert_int_equal(
		form_step(&f, &(struct form_said){ .what = FORM_SAY_DECLINE }, &x, &a, NULL),
		OK);
	assert_string_equal(form_result(&f, &x, &a).p, "{\"action\":\"decline\"}");
	(void)state;
}

static int read_text(struct arena *a, str text, struct form *f, struct err *e)
{
	struct json *params = NULL;

	assert_int_equal(json_read(&params, a, text, e), OK);
	return form_read(f, params, a, e);
}

static void what_the_protocol_does_not_allow_is_refused(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"message\":\"m\",\"requestedSchema\":{}}",
		"{\"mode\":\"voice\",\"message\":\"m\"}",
		"{\"mode\":\"url\",\"message\":\"m\",\"url\":\"javascript:x\"}",
		"{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"object\"}}}}",
		"{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"array\",\"items\":"
		"{\"type\":\"object\"}}}}}",
		"{\"requestedSchema\":{\"properties\":{\"a\":{\"enum\":[\"x\"]}}}}",
		"{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[]}}"
		"}}",
		"{\"requestedSchema\":{\"properties\":{\"a\":{\"type\":\"string\",\"enum\":[1]}"
		"}}}",
		"{\"requestedSchema\":{\"properties\":{\"a\":true}}}",
		"{\"requestedSchema\":{\"properties\":{\"\":{\"type\":\"string\"}}}}",
		"{\"requestedSchema\":{\"properties\":[]}}",
	};

	for (size_t i = 0; i < COUNT(bad); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct form f = { 0 };
		struct err e = { 0 };
		if (read_text(&a, str_of(bad[i]), &f, &e) != E_INVAL)
			fail_msg("%s", bad[i]);
		assert_true(e.msg[0]);
	}
	(void)state;
}

static void what_is_too_much_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4u << 20);
	struct form f = { 0 };
	struct err e = { 0 };

	buf_add(&b, S("{\"message\":\"m\",\"requestedSchema\":{\"properties\":{"));
	for (int i = 0; i < 10000; i++)
		buf_fmt(&b, "%s\"f%d\":{\"type\":\"string\"}", i ? "," : "", i);
	buf_add(&b, S("}}}"));
	assert_int_equal(read_text(&a, buf_str(&b), &f, &e), E_LIMIT);
	assert_non_null(strstr(e.msg, "10000"));
	buf_reset(&b);
	buf_add(&b, S("{\"message\":\"m\",\"requestedSchema\":{\"properties\":{\"x\":{\"type\":"
		      "\"string\",\"description\":\""));
	for (int i = 0; i < FORM_SCHEMA; i++)
		buf_addc(&b, 'd');
	buf_add(&b, S("\"}}}}"));
	assert_int_equal(read_text(&a, buf_str(&b), &f, &e), E_LIMIT);
	(void)state;
}

static void a_long_message_is_cut_and_made_visible(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4u << 20);
	struct form f = { 0 };

	buf_add(&b, S("{\"requestedSchema\":{\"properties\":{}},\"message\":\"\\u001b[31m"));
	for (int i = 0; i < 1 << 20; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\"}"));
	assert_int_equal(read_text(&a, buf_str(&b), &f, NULL), OK);
	assert_true(f.message.n < 2000);
	assert_true(str_starts(f.message, S("\\x1b[31m")));
	(void)state;
}

static void what_is_shown_names_everything_one_has_to_know(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct form f = form_of(&a,
				"\"pw\":{\"type\":\"string\",\"title\":\"Your password\"},"
				"\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9,"
				"\"description\":\"how\\nmany\",\"default\":3}",
				"");
	str first = form_block(&f, 0, true, &a), second = form_block(&f, 1, true, &a);

	assert_true(f.fields[0].secret && !f.fields[1].secret);
	assert_true(str_starts(first, S("Your password (1 of 2, optional)\n")));
	assert_true(str_has(first, S("looks like a question for a secret")));
	assert_string_equal(second.p, "n (2 of 2, optional)\nhow many\nExpected: a whole "
				      "number, 1 to 9\nDefault: 3");
	(void)state;
}

static void a_message_that_asks_for_a_secret_warns_at_what_is_typed(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct form f = { 0 };
	str text =
		S("{\"message\":\"Your password, please\",\"requestedSchema\":"
		  "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\"},"
		  "\"c\":{\"type\":\"boolean\"}}}}");

	assert_int_equal(read_text(&a, text, &f, NULL), OK);
	assert_true(f.fields[0].secret && f.fields[1].secret && !f.fields[2].secret);
	(void)state;
}

static void a_default_that_does_not_fit_is_none(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct form f =
		form_of(&a,
			"\"a\":{\"type\":\"integer\",\"default\":\"three\"},"
			"\"b\":{\"type\":\"string\",\"enum\":[\"x\"],\"default\":\"y\"},"
			"\"c\":{\"type\":\"string\",\"enum\":[\"x\"],\"default\":\"x\"}",
			"");

	assert_int_equal(f.fields[0].def.n, 0);
	assert_int_equal(f.fields[1].def.n, 0);
	assert_true(str_eq(f.fields[2].def, S("\"x\"")));
	(void)state;
}

static void a_link_is_kept_and_shown_with_its_host(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *params = NULL;
	struct form f = { 0 };
	str text = S("{\"mode\":\"url\",\"message\":\"sign in\",\"elicitationId\":\"e1\","
		     "\"url\":\"http://me@x.example/a\",\"_meta\":{\"big\":1},"
		     "\"requestedSchema\":{\"properties\":{}}}");

	assert_int_equal(json_read(&params, &a, text, NULL), OK);
	str kept = S("");
	assert_int_equal(form_keep(params, &a, &kept, NULL), OK);
	assert_string_equal(kept.p, "{\"message\":\"sign in\",\"mode\":\"url\",\"url\":"
				    "\"http://me@x.example/a\",\"elicitationId\":\"e1\"}");
	assert_int_equal(read_text(&a, kept, &f, NULL), OK);
	assert_true(f.link && str_eq(f.id, S("e1")));
	str shown = form_link(&f, &a);
	assert_true(str_has(shown, S("Link: http://me@x.example/a\nHost: x.example\n")));
	assert_true(str_has(shown, S("not encrypted")));
	assert_true(str_has(shown, S("before the @")));
	(void)state;
}

static void what_is_kept_holds_the_longest_form_and_no_more(void **state)
{
	for (int more = 0; more < 2; more++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 1 << 20);
		struct json *params = NULL, *again = NULL;
		str kept = S("");

		buf_add(&b, S("{\"message\":\""));
		for (int i = 0; i < 9000; i++)
			buf_add(&b, S("\\u0001"));
		buf_add(&b, S("\",\"requestedSchema\":{\"properties\":{},\"x\":\""));
		for (int i = 0; i < (more ? 4 : 1) * FORM_SCHEMA - 100; i++)
			buf_addc(&b, 'x');
		buf_add(&b, S("\"}}"));
		assert_int_equal(json_read(&params, &a, buf_str(&b), NULL), OK);
		assert_int_equal(form_keep(params, &a, &kept, NULL), more ? E_LIMIT : OK);
		if (!more)
			assert_int_equal(json_read(&again, &a, kept, NULL), OK);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_typed_is_taken_by_the_schema),
		cmocka_unit_test(a_form_is_filled_in_field_by_field),
		cmocka_unit_test(a_form_ends_after_too_many_answers_that_do_not_fit),
		cmocka_unit_test(a_form_without_fields_is_a_question_by_itself),
		cmocka_unit_test(what_the_protocol_does_not_allow_is_refused),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(a_long_message_is_cut_and_made_visible),
		cmocka_unit_test(what_is_shown_names_everything_one_has_to_know),
		cmocka_unit_test(a_message_that_asks_for_a_secret_warns_at_what_is_typed),
		cmocka_unit_test(a_default_that_does_not_fit_is_none),
		cmocka_unit_test(what_is_kept_holds_the_longest_form_and_no_more),
		cmocka_unit_test(a_link_is_kept_and_shown_with_its_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
