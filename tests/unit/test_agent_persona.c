/*
 * The persona out of files: which, in which order, and what a bad one does.
 */
#include "agent/persona.h"

#include "config/options.h"
#include "os/file.h"
#include "os/log.h"
#include "store_world.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void put(struct world *w, const char *name, const char *text)
{
	ok(w, file_write_atomic(world_path(w, name), str_of(text), 0600, &w->e));
}

static str load(struct world *w, const struct config *cfg)
{
	str out = S("");

	ok(w, persona_load(&out, &w->a, cfg, &w->e));
	return arena_dup(&w->a, out);
}

static void assert_text(str got, const char *want)
{
	if (!str_eq(got, str_of(want)))
		fail_msg("got \"%.*s\", not \"%s\"", STRF(got), want);
}

static void known_files_come_first_in_their_order_then_the_rest_by_name(void **state)
{
	struct world *w = *state;
	struct config cfg = { .agent = { .persona_dir = str_of(w->dir) } };

	put(w, "b.md", "b");
	put(w, "A.MD", "a");
	put(w, "MEMORY.md", "memory");
	put(w, "USER.md", "  user\n\n");
	put(w, "SOUL.md", "soul");
	put(w, "IDENTITY.md", "identity");
	put(w, "EMPTY.md", " \n");
	put(w, "notes.txt", "no");
	put(w, ".md", "no name");
	assert_text(load(w, &cfg), "soul\n\nidentity\n\nuser\n\nmemory\n\na\n\nb");
}

static void a_directory_that_is_not_there_is_no_persona(void **state)
{
	struct world *w = *state;
	struct config cfg = { .agent = { .persona_dir = str_of(world_path(w, "none")) } };

	assert_text(load(w, &cfg), "");
	cfg.agent.persona_dir = S("");
	assert_text(load(w, &cfg), "");
}

static str logged; /* the last line */

static str keep(struct arena *a, str line)
{
	(void)a;
	static char copy[1024];

	(void)snprintf(copy, sizeof copy, "%.*s", STRF(line));
	logged = str_of(copy);
	return line;
}

static void a_directory_that_was_named_and_is_not_there_is_warned_of(void **state)
{
	struct world *w = *state;
	struct config_setting *set = NEWN(&w->a, struct config_setting, options_n);
	struct config cfg = { .agent = { .persona_dir = str_of(world_path(w, "none")) },
			      .settings = set };

	ok(w, log_open(&(struct log_opt){ .level = LOG_WARN, .redact = keep }, &w->e));
	(void)load(w, &cfg);
	assert_int_equal(logged.n, 0);
	set[option_find(S("agent.persona_dir"))].set = true;
	(void)load(w, &cfg);
	assert_true(str_has(logged, str_of(world_path(w, "none"))));
	ok(w, log_open(&(struct log_opt){ 0 }, &w->e));
}

static void what_is_no_directory_is_an_error_that_names_it(void **state)
{
	struct world *w = *state;
	struct config cfg = { .agent = { .persona_dir = str_of(world_path(w, "file")) } };
	str out;

	put(w, "file", "x");
	assert_true(persona_load(&out, &w->a, &cfg, &w->e) < 0);
	assert_non_null(strstr(w->e.msg, "/file: not a directory"));
}

static void a_bad_file_is_left_out_and_the_others_stay(void **state)
{
	struct world *w = *state;
	struct config cfg = { .agent = { .persona_dir = str_of(w->dir) } };
	char *big = arena_alloc(&w->a, 1, (256 << 10) + 2);

	memset(big, 'x', (256 << 10) + 1);
	put(w, "a.md", "a");
	put(w, "big.md", big);
	assert_int_equal(mkdir(world_path(w, "folder.md"), 0700), 0);
	assert_int_equal(symlink("/nowhere/at/all", world_path(w, "gone.md")), 0);
	put(w, "z.md", "z");
	assert_text(load(w, &cfg), "a\n\nz");
	/* One byte less is not too much. */
	big[256 << 10] = '\0';
	put(w, "big.md", big);
	assert_int_equal(load(w, &cfg).n, (256 << 10) + 6);
}

static void all_files_together_have_a_limit(void **state)
{
	struct world *w = *state;
	struct config cfg = { .agent = { .persona_dir = str_of(w->dir) } };
	char *big = arena_alloc(&w->a, 1, (256 << 10) + 1);
	str out;

	memset(big, 'x', 256 << 10);
	for (int i = 0; i < 4; i++)
		put(w, arena_fmt(&w->a, "%d.md", i).p, big);
	assert_int_equal(persona_load(&out, &w->a, &cfg, &w->e), E_LIMIT);
	assert_non_null(strstr(w->e.msg, "persona: over"));
}

static void a_file_configuration_gives_name_workspace_and_listed_files(void **state)
{
	struct world *w = *state;
	str files[] = { str_of(world_path(w, "two.txt")), str_of(world_path(w, "missing.md")),
			str_of(world_path(w, "one.txt")) };
	str roots[] = { S("/srv/work"), S("/srv/more") };
	struct config cfg = { .file_mode = true,
			      .agent = { .name = S("Tim"),
					 .workspace = S("/srv/work"),
					 .prompt_files = { files, 3 } },
			      .fs = { .roots = { roots, 2 } } };

	put(w, "one.txt", "one");
	put(w, "two.txt", "two");
	str text = load(w, &cfg);
	assert_non_null(strstr(text.p, "You are Tim, a personal assistant"));
	assert_non_null(strstr(text.p, "NO_REPLY.\n\ntwo\n\none"));
	assert_null(strstr(text.p, "workspace")); /* no tool reaches it */
	cfg.fs.enabled = true;
	text = load(w, &cfg);
	assert_non_null(strstr(text.p, "Your workspace is /srv/work. The file tools reach: "
				       "/srv/work, /srv/more."));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup_closed, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(known_files_come_first_in_their_order_then_the_rest_by_name),
		TEST(a_directory_that_is_not_there_is_no_persona),
		TEST(a_directory_that_was_named_and_is_not_there_is_warned_of),
		TEST(what_is_no_directory_is_an_error_that_names_it),
		TEST(a_bad_file_is_left_out_and_the_others_stay),
		TEST(all_files_together_have_a_limit),
		TEST(a_file_configuration_gives_name_workspace_and_listed_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
