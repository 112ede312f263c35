/*
 * Prompts of servers as commands: what a person may write, and what the messages become.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/server_prompt_words.h"

static struct json *read_json(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_read(&v, a, str_of(text), NULL), OK);
	return v;
}

static void a_command_names_server_and_prompt(void **state)
{
	static const struct {
		const char *text, *server, *prompt, *args; /* server NULL: it is none */
	} rows[] = {
		{ "/srv:greet", "srv", "greet", "" },
		{ " /srv:greet  Ada now\n", "srv", "greet", "Ada now" },
		{ "/srv:a:b\nx", "srv", "a:b", "x" },
		{ "srv:greet", NULL, NULL, NULL },
		{ "/srv", NULL, NULL, NULL },
		{ "/srv greet: x", NULL, NULL, NULL },
		{ "/:greet", NULL, NULL, NULL },
		{ "/srv:", NULL, NULL, NULL },
		{ "/etc/x:y", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		str server, prompt, args;
		bool is = server_prompt_parse(str_of(rows[i].text), &server, &prompt, &args);
		assert_int_equal(is, rows[i].server != NULL);
		if (!is)
			continue;
		assert_true(str_eq(server, str_of(rows[i].server)));
		assert_true(str_eq(prompt, str_of(rows[i].prompt)));
		assert_true(str_eq(args, str_of(rows[i].args)));
	}
}

static void words_become_arguments(void **state)
{
	static const char two[] = "{\"name\":\"greet\",\"description\":\"Greet somebody.\","
				  "\"arguments\":[{\"name\":\"name\",\"required\":true,"
				  "\"description\":\"whom\"},{\"name\":\"style\"}]}";
	static const struct {
		const char *prompt, *args, *json;
		bool good;
	} rows[] = {
		{ two, "Ada", "{\"name\":\"Ada\"}", true },
		{ two, "Ada very warmly", "{\"name\":\"Ada\",\"style\":\"very warmly\"}",
		  true },
		{ two, "\"Ada L\" warm", "{\"name\":\"Ada L\",\"style\":\"warm\"}", true },
		{ two, "style=warm Ada Lovelace",
		  "{\"name\":\"Ada Lovelace\",\"style\":\"warm\"}", true },
		{ two, "style=\"very warm\" name=Ada",
		  "{\"name\":\"Ada\",\"style\":\"very warm\"}", true },
		{ two, "name= style=", "{\"name\":\"\",\"style\":\"\"}", true },
		{ two, "other=x", "{\"name\":\"other=x\"}", true },
		{ two, "style=warm",
		  "Missing: name.\n/srv:greet name=… [style=…]: Greet somebody.\n  name: whom",
		  false },
		{ two, "",
		  "Missing: name.\n/srv:greet name=… [style=…]: Greet somebody.\n"
		  "  name: whom",
		  false },
		{ "{\"name\":\"plain\"}", "anything", "{}", true },
		{ "{\"name\":\"plain\",\"arguments\":[]}", "", "{}", true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str json;
		bool good = server_prompt_args(read_json(&a, rows[i].prompt), S("srv"),
					       str_of(rows[i].args), &a, &json);
		if (good != rows[i].good || !str_eq(json, str_of(rows[i].json)))
			fail_msg("%s: %.*s", rows[i].args, STRF(json));
	}
}

static void messages_become_one_text_with_their_roles_where_there_are_several(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
		  "\"Hello.\"}}]}",
		  "Hello." },
		{ "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
		  "\"A\"}},"
		  "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"B\"}},"
		  "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":"
		  "\"note://x\",\"text\":\"C\"}}}]}",
		  "[user]\nA\n\n[assistant]\nB\n\n[user]\nC" },
		{ "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":"
		  "\"iVBORw0KGgo=\",\"mimeType\":\"image/png\"}}]}",
		  "[image image/png, 8 bytes, not shown]" },
		{ "{\"messages\":[]}", "" },
		{ "{}", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str text = server_prompt_text(read_json(&a, rows[i][0]), &a);
		if (!str_eq(text, str_of(rows[i][1])))
			fail_msg("%zu: %.*s", i, STRF(text));
	}
}

static void words_of_a_server_are_told_as_its_own_and_mark_nothing_up(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *p = read_json(
		&a, "{\"name\":\"x\\n```\\u001b[2J\",\"arguments\":[{\"name\":\"a\\nb\","
		    "\"required\":true}]}");
	str json;

	assert_false(server_prompt_args(p, S("srv"), S(""), &a, &json));
	assert_string_equal(arena_cstr(&a, server_prompt_told(S("s\nv"), json, &a)),
			    "Tool server s v:\n```\nMissing: a b.\n"
			    "/srv:x '''\\x1b[2J a b=…\n```");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_names_server_and_prompt),
		cmocka_unit_test(words_become_arguments),
		cmocka_unit_test(words_of_a_server_are_told_as_its_own_and_mark_nothing_up),
		cmocka_unit_test(
			messages_become_one_text_with_their_roles_where_there_are_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
