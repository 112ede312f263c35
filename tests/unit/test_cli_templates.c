/*
 * The files of cli/templates.c are right as they are written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf.h"
#include "cli/templates.h"
#include "config/options.h"
#include "text/toml.h"

/* Lines that begin with mark, without it. */
static str uncommented(struct arena *a, const char *text, str mark)
{
	struct buf b = buf_in(a, 1 << 16);
	str rest = str_of(text);

	while (rest.n) {
		str line = str_cut(&rest, '\n');

		if (str_starts(line, mark))
			buf_fmt(&b, "%.*s\n", STRF(str_sub(line, mark.n, line.n)));
	}
	return buf_str(&b);
}

static void the_manifest_is_toml_with_and_without_its_example(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str all = str_of(template_manifest), example = { 0 };
	size_t from = str_find(all, S("# [[server]]"));
	struct toml *root;
	struct err e = { 0 };

	assert_int_equal(toml_read(&root, &a, all, &e), OK);
	example = uncommented(&a, all.p + from, S("# "));
	if (toml_read(&root, &a, example, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(str_has(example, S("command = ")));
}

static bool known(str name)
{
	if (str_eq(name, S("LLM_API_KEY")) || str_eq(name, S("TELEGRAM_BOT_TOKEN")))
		return true;
	for (size_t i = 0; i < options_n; i++)
		if (str_eq(str_of(options[i].env), name))
			return true;
	return false;
}

static void every_variable_of_the_example_exists(void **state)
{
	str rest = str_of(template_env);
	size_t n = 0;

	while (rest.n) {
		str line = str_cut(&rest, '\n'), name;

		if (str_starts(line, S("#")) && !str_starts(line, S("# ")))
			line = str_sub(line, 1, line.n);
		if (!str_has(line, S("=")) || str_starts(line, S("#")))
			continue;
		name = str_cut(&line, '=');
		if (!known(name))
			fail_msg("%.*s", STRF(name));
		n++;
	}
	assert_true(n >= 8);
}

static void the_persona_has_its_three_files(void **state)
{
	static const char *const names[] = { "SOUL.md", "USER.md", "AGENTS.md" };

	assert_int_equal(template_persona_n, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_string_equal(template_persona[i].name, names[i]);
		assert_true(utf_valid(str_of(template_persona[i].text)));
		assert_int_equal(template_persona[i].text[0], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_manifest_is_toml_with_and_without_its_example),
		cmocka_unit_test(every_variable_of_the_example_exists),
		cmocka_unit_test(the_persona_has_its_three_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
