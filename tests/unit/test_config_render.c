/*
 * The option table as text: the reference page is the committed one, and what is shown is
 * right, complete and without secrets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "config/load.h"
#include "config/options.h"
#include "config/render.h"
#include "config/yaml.h"
#include "os/file.h"

static void the_reference_page_is_up_to_date(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4 << 20);
	str page;

	config_docs(&b);
	assert_int_equal(file_read(&page, &a, "docs/configuration.md", 4 << 20, NULL), OK);
	if (!str_eq(page, buf_str(&b)))
		fail_msg("stale; run: build/gantry config docs > docs/configuration.md");
}

static void every_option_is_explained_in_a_table_row(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4 << 20);

	config_docs(&b);
	for (size_t i = 0; i < options_n; i++) {
		str rest = buf_str(&b), line = { 0 };
		str begin = arena_fmt(&a, "| `%s` |", options[i].key);
		size_t cells = 0;

		while (rest.n && !str_starts(line, begin))
			line = str_cut(&rest, '\n');
		for (size_t k = 0; k < line.n; k++)
			cells += line.p[k] == '|' && (k == 0 || line.p[k - 1] != '\\');
		if (cells != 6)
			fail_msg("%s: %zu cells", options[i].key, cells);
	}
}

static struct config *loaded(struct arena *a, char **vars)
{
	struct config_opt opt = { .need = CONFIG_ALL };
	struct env env = env_copy(a, vars);
	struct config_problems problems;
	struct config *c = NULL;

	if (config_load(&c, &opt, &env, a, &problems, NULL) < 0)
		fail_msg("%s", problems.text.p ? problems.text.p : "");
	return c;
}

static void shown_yaml_can_be_read_and_holds_no_secret(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *c = loaded(
		&a, (char *[]){ "HOME=/root", "CHANNEL=stdio", "DATA_DIR=/tmp/x, y",
				"LLM_BASE_URL=http://u:hunter2@h/v1", "LLM_API_KEY=sk-secret",
				"LLM_MODEL=a: b", "TELEGRAM_BOT_TOKEN=123:tok",
				"https_proxy=http://u:proxypass@h", "CRON_TZ=UTC",
				"GANTRY_POLICY_RULES=[{tool: \"a*\", action: deny}]",
				"GANTRY_AGENT_NAME=secret proxypass inside", NULL });
	struct buf b = buf_in(&a, 1 << 20);
	struct problems p;
	const struct yaml *y;

	config_show(&b, c);
	for (size_t i = 0; i < 5; i++) {
		static const char *const secrets[] = { "hunter2", "sk-secret", "123:tok",
						       "proxypass", "secret proxy" };
		assert_null(strstr(buf_str(&b).p, i < 4 ? secrets[i] : secrets[1]));
	}
	assert_non_null(strstr(buf_str(&b).p, "api_key: <set:env:LLM_API_KEY>\n"));
	assert_non_null(strstr(buf_str(&b).p, "token: <set:env:TELEGRAM_BOT_TOKEN>"));
	assert_non_null(strstr(buf_str(&b).p, "timezone: UTC # env CRON_TZ\n"));
	problems_init(&p, &a, S("shown"));
	y = yaml_read(&a, buf_str(&b), &p);
	assert_int_equal(p.n, 0);
	assert_string_equal(yaml_get(yaml_get(y, S("agent")), S("model"))->text.p, "a: b");
	assert_string_equal(yaml_get(yaml_get(y, S("storage")), S("dsn"))->text.p,
			    "/tmp/x, y/gantry.db");
	y = yaml_get(yaml_get(y, S("policy")), S("rules"));
	assert_string_equal(yaml_get(y->child, S("tool"))->text.p, "a*");
	config_free(c);
}

static void an_old_name_is_shown_as_the_new_one(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *c = loaded(&a, (char *[]){ "GANTRY_STORAGE_PATH=/tmp/old.db",
						  "LLM_BASE_URL=http://h", "LLM_NO_KEY=yes",
						  "LLM_MODEL=m", "CHANNEL=stdio", NULL });
	struct buf b = buf_in(&a, 1 << 20);

	config_show(&b, c);
	assert_null(strstr(buf_str(&b).p, " path: "));
	assert_non_null(strstr(buf_str(&b).p, " dsn: /tmp/old.db # env GANTRY_STORAGE_PATH\n"));
	config_free(c);
}

static void unset_secrets_say_so(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *c = loaded(&a, (char *[]){ "DATA_DIR=/tmp", "LLM_BASE_URL=http://h",
						  "LLM_NO_KEY=yes", "LLM_MODEL=m",
						  "CHANNEL=stdio", NULL });
	struct buf b = buf_in(&a, 1 << 20);

	config_show(&b, c);
	assert_non_null(strstr(buf_str(&b).p, "api_key: <unset>\n"));
	config_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reference_page_is_up_to_date),
		cmocka_unit_test(every_option_is_explained_in_a_table_row),
		cmocka_unit_test(shown_yaml_can_be_read_and_holds_no_secret),
		cmocka_unit_test(an_old_name_is_shown_as_the_new_one),
		cmocka_unit_test(unset_secrets_say_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
