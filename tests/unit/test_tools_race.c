/*
 * The file tools against somebody who swaps directories and files for links to the outside
 * while paths are looked up.  GANTRY_RACE_ROUNDS says how often (8000 when it is not set;
 * 100000 take some ten seconds).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"
#include "tools/tools.h"

#define SECRET "the secret of the outside"

/* base/ws is the root; base/out is outside. */
struct place {
	char base[64];
	str root;
	struct fs_cfg fs;
	struct tools_opt opt;
	struct tools *tools;
	struct toolset set;
	struct arena a;
	_Atomic bool stop;
	_Atomic long swaps;
};

static const char *in(struct place *p, const char *name)
{
	return arena_fmt(&p->a, "%s/%s", p->base, name).p;
}

static void put(struct place *p, const char *name, const char *content)
{
	SCOPED(fd_drop)
	int fd = open(in(p, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
}

/* In memory where there is such a directory: the tools wait for the disk. */
static void up(struct place *p)
{
	*p = (struct place){ .base = "/dev/shm/gantry-race-XXXXXX" };
	if (!mkdtemp(p->base)) {
		(void)snprintf(p->base, sizeof p->base, "/tmp/gantry-race-XXXXXX");
		assert_non_null(mkdtemp(p->base));
	}
	assert_int_equal(mkdir(in(p, "ws"), 0755), 0);
	assert_int_equal(mkdir(in(p, "out"), 0755), 0);
	assert_int_equal(mkdir(in(p, "ws/d"), 0755), 0);
	put(p, "out/file", SECRET);
	put(p, "out/marker", "");
	put(p, "ws/d/file", "harmless");
	put(p, "ws/f", "harmless");
	assert_int_equal(symlink(in(p, "out"), in(p, "ws/dir-out")), 0);
	assert_int_equal(symlink("../out/file", in(p, "ws/file-out")), 0);
	p->root = str_of(in(p, "ws"));
	p->fs = (struct fs_cfg){ .enabled = true,
				 .roots = { &p->root, 1 },
				 .max_read_bytes = 4096,
				 .max_write_bytes = 4096 };
	p->opt = (struct tools_opt){ .fs = &p->fs };
	assert_int_equal(tools_open(&p->tools, &p->opt, NULL), OK);
	tools_snapshot(p->tools, &p->a, &p->set);
}

static void down(struct place *p)
{
	static const char *const names[] = { "ws/d/file",  "ws/d/new",    "ws/d", "ws/f",
					     "ws/dir-out", "ws/file-out", "ws",   "out/file",
					     "out/marker", "out",         "" };

	tools_close(p->tools);
	for (size_t i = 0; i < COUNT(names); i++)
		if (unlink(in(p, names[i])) != 0)
			(void)rmdir(in(p, names[i]));
	arena_free(&p->a);
}

/* An even number of swaps leaves everything as it was. */
static void *swap(void *arg)
{
	struct place *p = arg;
	char name[4][96];
	static const char *const names[] = { "d", "dir-out", "f", "file-out" };
	long n = 0;

	for (size_t i = 0; i < COUNT(names); i++)
		(void)snprintf(name[i], sizeof name[i], "%s/ws/%s", p->base, names[i]);
	while (!atomic_load(&p->stop) || n % 2) {
		n += renameat2(AT_FDCWD, name[0], AT_FDCWD, name[1], RENAME_EXCHANGE) == 0;
		while (renameat2(AT_FDCWD, name[2], AT_FDCWD, name[3], RENAME_EXCHANGE) != 0)
			;
		atomic_store(&p->swaps, n);
	}
	return NULL;
}

static const struct {
	const char *tool, *args;
} calls[] = {
	{ "read_file", "{\"path\":\"d/file\"}" },
	{ "read_file", "{\"path\":\"f\"}" },
	{ "write_file", "{\"path\":\"d/new\",\"content\":\"w\"}" },
	{ "write_file", "{\"path\":\"f\",\"content\":\"harmless\"}" },
	{ "edit_file", "{\"path\":\"d/file\",\"old_string\":\"secret\",\"new_string\":\"x\"}" },
	{ "edit_file", "{\"path\":\"f\",\"old_string\":\"outside\",\"new_string\":\"x\"}" },
	{ "list_dir", "{\"path\":\".\",\"depth\":2}" },
	{ "list_dir", "{\"path\":\"d\"}" },
};

/* Did the call reach what is inside?  It never reaches what is outside. */
static bool one(struct place *p, size_t i)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct call call = { .requested = str_of(calls[i].tool),
			     .args = str_of(calls[i].args),
			     .index = 1 };
	const struct tool_spec *spec = tools_admit(p->tools, &p->set, &call, &a);

	assert_non_null(spec);
	assert_int_equal(tools_run(p->tools, spec, &call, NULL, &a, NULL, NULL), OK);
	if (str_has(call.result, S("secret of")) || str_has(call.result, S("marker")) ||
	    str_has(call.result, S("replaced")))
		fail_msg("%s: %s", calls[i].args, call.result.p);
	return call.state == CALL_DONE;
}

static void swapping_links_while_paths_are_looked_up_leads_nowhere(void **state)
{
	const char *asked = getenv("GANTRY_RACE_ROUNDS");
	int64_t rounds = 8000, began = clock_mono_ms();
	long reached = 0, missed = 0;
	struct thread t = { 0 };
	struct place p;
	str *names, text;
	size_t n;

	if (asked)
		assert_true(str_i64(str_of(asked), &rounds));
	up(&p);
	assert_int_equal(thread_start(&t, "swap", swap, &p, NULL), OK);
	for (int64_t i = 0; i < rounds; i++)
		*(one(&p, (size_t)i % COUNT(calls)) ? &reached : &missed) += 1;
	atomic_store(&p.stop, true);
	thread_join(&t);
	if (asked)
		print_message(
			"%lld rounds, %ld swaps, %ld calls reached what is inside, %ld were "
			"refused, %lld ms\n",
			(long long)rounds, atomic_load(&p.swaps), reached, missed,
			(long long)(clock_mono_ms() - began));
	/* Nothing came to the outside. */
	assert_int_equal(dir_list(&names, &n, &p.a, in(&p, "out"), 10000, NULL), OK);
	assert_int_equal(n, 2);
	assert_int_equal(file_read(&text, &p.a, in(&p, "out/file"), 4096, NULL), OK);
	assert_string_equal(text.p, SECRET);
	/* The race was really run, and the tools work all the same. */
	assert_true(p.swaps > 20 && reached > 20 && missed > 20);
	assert_true(one(&p, 0) && one(&p, 2) && one(&p, 7));
	down(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(swapping_links_while_paths_are_looked_up_leads_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
