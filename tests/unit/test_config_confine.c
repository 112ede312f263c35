/*
 * What the profiles come to as rules for the kernel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "config/confine.h"
#include "config/options.h"
#include "unit/loading.h"

#define RX (SANDBOX_READ | SANDBOX_EXEC)
#define RWX (RX | SANDBOX_WRITE)

static const struct config_opt env_mode = {
	.terminal = true, .need = CONFIG_STORE | CONFIG_TOOLS | CONFIG_CHANNEL
};

/* The access of the last rule with that path below HOME (or absolute); 0 none. */
static unsigned access_of(struct arena *a, const struct sandbox *box, const char *path)
{
	const char *whole = path[0] == '/' ? path : arena_fmt(a, "%s/%s", home, path).p;
	unsigned found = 0;

	for (size_t i = 0; i < box->rules_n; i++)
		if (strcmp(box->rules[i].path, whole) == 0)
			found = box->rules[i].access;
	return found;
}

static const struct sandbox *made(struct loaded *l, const char *const *vars,
				  const char *profile)
{
	load_stdio(l, &env_mode, vars);
	if (l->rc < 0)
		fail_msg("%.*s", STRF(l->problems.text));
	struct sandbox_cfg s = l->c->exec.sandbox;
	const char **block = NEWN(&l->a, const char *, 3);
	block[0] = arena_fmt(&l->a, "HOME=%s", home).p;
	block[1] = "PATH=/usr/bin";
	const struct env env = { block };

	if (profile)
		s.profile = str_of(profile);
	return config_sandbox(&l->a, l->c, &env, &s, S("/srv/prog"));
}

#define BASE                                                                                   \
	"DATA_DIR=$H", "GANTRY_AGENT_WORKSPACE=$H/work", "MCP_MANIFEST=$H/mcp.toml",           \
		"LLM_API_KEY_FILE=/etc/hostname", "TOOLS=exec"

static void strict_gives_the_system_and_the_workspace(void **state)
{
	static const struct {
		const char *path;
		unsigned access;
	} rows[] = {
		{ "/usr", RX },
		{ "/etc", RX },
		{ "/", 0 },
		{ "/tmp", 0 },
		{ "/dev/shm", 0 },
		{ "work", RWX | SANDBOX_SURE },
		{ "gantry.db", SANDBOX_HIDE | SANDBOX_SURE },
		{ "gantry.db-wal", SANDBOX_HIDE | SANDBOX_SURE },
		{ "mcp.toml", SANDBOX_HIDE | SANDBOX_SURE },
		{ "/etc/hostname", SANDBOX_HIDE | SANDBOX_SURE },
		{ "/srv/prog", RX | SANDBOX_SURE },
		{ ".ssh", 0 },
		{ ".npm", 0 },
	};
	SCOPED(loaded_free) struct loaded l;
	const struct sandbox *box = made(&l, VARS(BASE), NULL);

	assert_non_null(box); /* what env mode has by itself */
	for (size_t i = 0; i < COUNT(rows); i++)
		if (access_of(&l.a, box, rows[i].path) != rows[i].access)
			fail_msg("%s: %x", rows[i].path, access_of(&l.a, box, rows[i].path));
	assert_int_equal(box->flags, SANDBOX_ESCAPES | SANDBOX_FILES | SANDBOX_SCOPE |
					     SANDBOX_NO_SOCKETS | SANDBOX_NO_OWNER |
					     SANDBOX_NO_POWER | SANDBOX_MODES);
	assert_string_equal(box->tmp, "/tmp");
	assert_int_equal(box->max_procs, 512);
	assert_int_equal(box->max_file_bytes, INT64_C(4) << 30);
	assert_int_equal(box->max_memory_bytes, INT64_C(4) << 30);
}

static void compat_gives_all_but_what_is_ours(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	const struct sandbox *box = made(&l, VARS(BASE), "compat");

	assert_int_equal(access_of(&l.a, box, "/"), RWX | SANDBOX_DEVICE);
	assert_int_equal(access_of(&l.a, box, "gantry.db"), SANDBOX_HIDE | SANDBOX_SURE);
	assert_int_equal(access_of(&l.a, box, "work"), RWX | SANDBOX_SURE);
	assert_int_equal(box->flags, SANDBOX_ESCAPES | SANDBOX_FILES | SANDBOX_LIST_WAYS);
	assert_null(box->tmp);
	assert_int_equal(box->max_procs, 0);
}

static void off_is_no_sandbox(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	assert_null(made(&l, VARS(BASE), "off"));
}

static void lists_and_the_network_are_taken(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	const struct sandbox *box = made(&l,
					 VARS(BASE, "GANTRY_TOOLS_EXEC_SANDBOX_READ=$H/books",
					      "GANTRY_TOOLS_EXEC_SANDBOX_WRITE=$H/out,/srv/x",
					      "GANTRY_TOOLS_EXEC_SANDBOX_NETWORK=deny"),
					 NULL);

	assert_int_equal(access_of(&l.a, box, "books"), RX | SANDBOX_SURE);
	assert_int_equal(access_of(&l.a, box, "out"), RWX | SANDBOX_SURE);
	assert_int_equal(access_of(&l.a, box, "/srv/x"), RWX | SANDBOX_SURE);
	assert_true(box->flags & SANDBOX_NO_NETWORK);
}

/* Every name that the option takes gives something. */
static void every_grant_gives_what_its_name_says(void **state)
{
	str words = str_of(options[option_find(S("tools.exec.sandbox.grants"))].words);
	size_t plain_rules = 0, names = 0;

	{
		SCOPED(loaded_free) struct loaded l;
		plain_rules = made(&l, VARS(BASE), NULL)->rules_n;
	}
	while (words.n) {
		SCOPED(loaded_free) struct loaded l;
		SCOPED(arena_free) struct arena a = { 0 };
		str name = str_cut(&words, ' ');
		const char *var =
			arena_fmt(&a, "GANTRY_TOOLS_EXEC_SANDBOX_GRANTS=%.*s", STRF(name)).p;
		const struct sandbox *box = made(&l, VARS(BASE, var), NULL);

		names++;
		if (box->rules_n == plain_rules && (box->flags & SANDBOX_NO_SOCKETS))
			fail_msg("%.*s gives nothing", STRF(name));
		bool agent = str_eq(name, S("ssh")) || str_eq(name, S("gpg")) ||
			     str_eq(name, S("docker")) || str_eq(name, S("sockets"));
		assert_int_equal(agent, !(box->flags & SANDBOX_NO_SOCKETS));
	}
	assert_int_equal(names, 15);
}

static void a_child_has_a_temporary_directory_of_its_own(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct sandbox_rule rules[] = { { "/usr", RX }, { "/srv/u/go", RWX } };
	const struct sandbox box = {
		.flags = SANDBOX_FILES, .rules = rules, .rules_n = COUNT(rules), .tmp = "/tmp"
	};
	static const char *const given[] = {
		"A=1", "TMPDIR=/x", "PATH=/srv/u/bin:/usr/bin:/srv/u/go/bin:/usrx:/usr", NULL
	};
	const char *const *env = given;
	const struct sandbox *one = config_sandbox_child(&a, &box, &env);
	const char *const *again = given;
	const struct sandbox *two = config_sandbox_child(&a, &box, &again);

	assert_true(str_starts(str_of(one->tmp), S("/tmp/gantry-")));
	assert_string_not_equal(one->tmp, two->tmp);
	assert_string_equal(env[0], "A=1");
	assert_string_equal(env[1], "PATH=/usr/bin:/srv/u/go/bin:/usr");
	assert_string_equal(env[2], arena_fmt(&a, "TMPDIR=%s", one->tmp).p);
	assert_null(env[3]);
	assert_int_equal(access_of(&a, one, one->tmp), RWX | SANDBOX_SURE);
	assert_int_equal(one->rules_n, 3);
}

static void no_sandbox_changes_nothing(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char *const given[] = { "TMPDIR=/x", NULL };
	const char *const *env = given;
	const struct sandbox compat = { .flags = SANDBOX_FILES };

	assert_null(config_sandbox_child(&a, NULL, &env));
	assert_ptr_equal(config_sandbox_child(&a, &compat, &env), &compat);
	assert_ptr_equal(env, given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_gives_the_system_and_the_workspace),
		cmocka_unit_test(compat_gives_all_but_what_is_ours),
		cmocka_unit_test(off_is_no_sandbox),
		cmocka_unit_test(lists_and_the_network_are_taken),
		cmocka_unit_test_setup_teardown(every_grant_gives_what_its_name_says, NULL,
						NULL),
		cmocka_unit_test(a_child_has_a_temporary_directory_of_its_own),
		cmocka_unit_test(no_sandbox_changes_nothing),
	};

	if (make_home(NULL) != 0)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	static const char *const caches[] = { ".cache/pip", ".cache/uv", ".cache/go-build",
					      ".cache",     ".npm",      ".cargo",
					      "go" };
	SCOPED(arena_free) struct arena a = { 0 };
	for (size_t i = 0; i < COUNT(caches); i++)
		(void)rmdir(arena_fmt(&a, "%s/%s", home, caches[i]).p);
	(void)remove_home(NULL);
	return failed;
}
