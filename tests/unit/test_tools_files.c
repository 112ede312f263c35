/*
 * tools/read_file.c, tools/write_file.c and tools/list_dir.c through the gate, in directories
 * of their own: what they do, and that nothing makes them leave their roots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf.h"
#include "os/beneath.h"
#include "os/file.h"
#include "tools/tools.h"

/* base/ws and base/two are roots, base/out is none. */
struct place {
	struct arena a;
	char base[64];
	str roots[3];
	struct fs_cfg fs;
	struct tools_opt opt;
	struct tools *tools;
	struct toolset set;
	uint64_t own_dev, own_ino;
};

static bool own_file(void *arg, uint64_t dev, uint64_t ino)
{
	const struct place *p = arg;

	return dev == p->own_dev && ino == p->own_ino;
}

static const char *in(struct place *p, const char *name)
{
	return arena_fmt(&p->a, "%s/%s", p->base, name).p;
}

static void put(struct place *p, const char *name, str content)
{
	SCOPED(fd_drop)
	int fd = open(in(p, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content.p, content.n), content.n);
}

static str get(struct place *p, const char *name)
{
	str text = S("(missing)");

	(void)!file_read(&text, &p->a, in(p, name), 1 << 20, NULL);
	return text;
}

static void reopen(struct place *p)
{
	tools_close(p->tools);
	assert_int_equal(tools_open(&p->tools, &p->opt, NULL), OK);
	tools_snapshot(p->tools, &p->a, &p->set);
}

static void place_up(struct place *p)
{
	*p = (struct place){ .base = "/tmp/gantry-files-XXXXXX" };
	assert_non_null(mkdtemp(p->base));
	assert_int_equal(mkdir(in(p, "ws"), 0755), 0);
	assert_int_equal(mkdir(in(p, "two"), 0755), 0);
	assert_int_equal(mkdir(in(p, "out"), 0755), 0);
	put(p, "out/secret", S("SECRET"));
	p->roots[0] = str_of(in(p, "ws"));
	p->roots[1] = str_of(in(p, "two"));
	p->fs = (struct fs_cfg){ .enabled = true,
				 .roots = { p->roots, 2 },
				 .max_read_bytes = 262144,
				 .max_write_bytes = 1 << 20 };
	p->opt = (struct tools_opt){
		.fs = &p->fs, .home = str_of(in(p, "ws")), .own_file = own_file, .own_arg = p
	};
	reopen(p);
}

static void remove_all(const char *path)
{
	char sub[4200];
	DIR *d = opendir(path);

	for (struct dirent *f; d && (f = readdir(d));) {
		struct stat st;
		if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, ".."))
			continue;
		(void)snprintf(sub, sizeof sub, "%s/%s", path, f->d_name);
		if (lstat(sub, &st) == 0 && S_ISDIR(st.st_mode))
			remove_all(sub);
		else
			(void)unlink(sub);
	}
	if (d)
		(void)closedir(d);
	(void)rmdir(path);
}

static void place_drop(struct place *p)
{
	tools_close(p->tools);
	remove_all(p->base);
	arena_free(&p->a);
}

static struct call use(struct place *p, str tool, str args)
{
	struct call call = { .requested = tool, .args = args, .index = 1 };
	const struct tool_spec *spec = tools_admit(p->tools, &p->set, &call, &p->a);

	if (spec && call.state == CALL_RUNNING)
		assert_int_equal(tools_run(p->tools, spec, &call, NULL, &p->a, NULL, NULL), OK);
	assert_true(utf_valid(call.result));
	return call;
}

/* The same, with the names of args below base when they begin with @. */
static struct call use_at(struct place *p, str tool, const char *args)
{
	str s = str_of(args);
	size_t at = str_find(s, S("@"));

	if (at != SIZE_MAX)
		s = arena_fmt(&p->a, "%.*s%s%.*s", (int)at, s.p, p->base,
			      STRF(str_sub(s, at + 1, s.n)));
	return use(p, tool, s);
}

#define READ S("read_file")
#define WRITE S("write_file")
#define LIST S("list_dir")

static void expect(struct call call, enum call_state state, const char *says)
{
	if (call.state != state || !str_has(call.result, str_of(says)))
		fail_msg("wanted \"%s\", got %d: %.*s", says, call.state, STRF(call.result));
}

static void paths_lead_where_they_may_and_nowhere_else(void **state)
{
	static const struct {
		const char *args, *says;
	} rows[] = {
		{ "{\"path\":\"f\"}", "hello" },       { "{\"path\":\"./d/../f\"}", "hello" },
		{ "{\"path\":\"@/ws/f\"}", "hello" },  { "{\"path\":\"@/two/g\"}", "second" },
		{ "{\"path\":\"~/f\"}", "hello" },     { "{\"path\":\"../two/g\"}", "second" },
		{ "{\"path\":\"near\"}", "hello" },    { "{\"path\":\"far\"}", "hello" },
		{ "{\"path\":\"other\"}", "second" },  { "{\"path\":\"sideways\"}", "second" },
		{ "{\"path\":\"dir/f\"}", "hello" },   { "{\"path\":\"~f\"}", "tilde" },
		{ "{\"path\":\"totilde\"}", "tilde" },
	};
	static const struct {
		const char *args, *says;
	} refused[] = {
		{ "{\"path\":\"../out/secret\"}", "outside the allowed directories" },
		{ "{\"path\":\"@/out/secret\"}", "outside the allowed directories" },
		{ "{\"path\":\"@/ws2/f\"}", "outside the allowed directories" },
		{ "{\"path\":\"/etc/passwd\"}", "outside the allowed directories" },
		{ "{\"path\":\"/proc/self/environ\"}", "outside the allowed directories" },
		{ "{\"path\":\"leak\"}", "outside the allowed directories" },
		{ "{\"path\":\"rel_leak\"}", "outside the allowed directories" },
		{ "{\"path\":\"outdir/secret\"}", "outside the allowed directories" },
		{ "{\"path\":\"magic/environ\"}", "outside the allowed directories" },
		{ "{\"path\":\"missing\"}", "No such file" },
		{ "{\"path\":\"dangling\"}", "No such file" },
		{ "{\"path\":\"loop\"}", "ymbolic links" },
		{ "{\"path\":\"f/x\"}", "Not a directory" },
		{ "{\"path\":\"\"}", "empty" },
		{ "{\"path\":\"a\\u0000b\"}", "NUL" },
		{ "{\"path\":\"~root/x\"}", "~name" },
		{ "{\"path\":7}", "path is missing" },
		{ "{}", "path is missing" },
	};
	SCOPED(place_drop) struct place p;

	place_up(&p);
	put(&p, "ws/f", S("hello"));
	put(&p, "ws/~f", S("tilde"));
	put(&p, "two/g", S("second"));
	assert_int_equal(mkdir(in(&p, "ws/d"), 0755), 0);
	assert_int_equal(symlink("f", in(&p, "ws/near")), 0);
	assert_int_equal(symlink(in(&p, "ws/f"), in(&p, "ws/far")), 0);
	assert_int_equal(symlink(in(&p, "two/g"), in(&p, "ws/other")), 0);
	assert_int_equal(symlink("../two/g", in(&p, "ws/sideways")), 0);
	assert_int_equal(symlink(in(&p, "ws"), in(&p, "ws/dir")), 0);
	assert_int_equal(symlink("~f", in(&p, "ws/totilde")), 0);
	assert_int_equal(symlink(in(&p, "out/secret"), in(&p, "ws/leak")), 0);
	assert_int_equal(symlink("../out/secret", in(&p, "ws/rel_leak")), 0);
	assert_int_equal(symlink(in(&p, "out"), in(&p, "ws/outdir")), 0);
	assert_int_equal(symlink("/proc/self", in(&p, "ws/magic")), 0);
	assert_int_equal(symlink("nowhere", in(&p, "ws/dangling")), 0);
	assert_int_equal(symlink(in(&p, "ws/loop"), in(&p, "ws/loop")), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (str_eq(str_of(rows[i].args), S("{\"path\":\"~f\"}")))
			expect(use_at(&p, READ, "{\"path\":\"./~f\"}"), CALL_DONE, "tilde");
		else
			expect(use_at(&p, READ, rows[i].args), CALL_DONE, rows[i].says);
	}
	for (size_t i = 0; i < COUNT(refused); i++)
		expect(use_at(&p, READ, refused[i].args), CALL_FAILED, refused[i].says);
}

static void eight_absolute_links_are_followed_and_nine_are_not(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	put(&p, "ws/l0", S("end"));
	for (int i = 1; i <= 9; i++)
		assert_int_equal(symlink(arena_fmt(&p.a, "%s/ws/l%d", p.base, i - 1).p,
					 arena_fmt(&p.a, "%s/ws/l%d", p.base, i).p),
				 0);
	expect(use(&p, READ, S("{\"path\":\"l8\"}")), CALL_DONE, "end");
	expect(use(&p, READ, S("{\"path\":\"l9\"}")), CALL_FAILED,
	       "more than 8 symbolic links");
}

static void a_root_may_be_reached_through_links(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	put(&p, "ws/f", S("hello"));
	assert_int_equal(symlink("ws", in(&p, "alias")), 0);
	/* a path by another name than the root's */
	expect(use_at(&p, READ, "{\"path\":\"@/alias/f\"}"), CALL_DONE, "hello");
	/* a root by another name than the path's */
	p.roots[0] = str_of(in(&p, "alias"));
	expect(use_at(&p, READ, "{\"path\":\"@/ws/f\"}"), CALL_DONE, "hello");
	expect(use_at(&p, READ, "{\"path\":\"f\"}"), CALL_DONE, "hello");
	expect(use_at(&p, READ, "{\"path\":\"@/alias/../out/secret\"}"), CALL_FAILED,
	       "outside");
}

static void what_could_hang_or_is_a_device_is_never_opened(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	assert_int_equal(mkfifo(in(&p, "ws/fifo"), 0644), 0);
	/* A reader waits: an open for writing would be seen by it as an end of file. */
	SCOPED(fd_drop) int reader = open(in(&p, "ws/fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	expect(use(&p, READ, S("{\"path\":\"fifo\"}")), CALL_FAILED, "not a regular file");
	expect(use(&p, WRITE, S("{\"path\":\"fifo\",\"content\":\"x\"}")), CALL_FAILED,
	       "not a regular file");
	expect(use(&p, LIST, S("{\"path\":\"fifo\"}")), CALL_FAILED, "not a directory");
	p.roots[0] = S("/dev");
	expect(use(&p, READ, S("{\"path\":\"zero\"}")), CALL_FAILED, "not a regular file");
	expect(use(&p, WRITE, S("{\"path\":\"null\",\"content\":\"x\"}")), CALL_FAILED,
	       "not a regular file");
}

static void our_own_database_is_not_touched_by_any_name(void **state)
{
	SCOPED(place_drop) struct place p;
	struct stat st;

	place_up(&p);
	put(&p, "out/gantry.db", S("rows"));
	assert_int_equal(stat(in(&p, "out/gantry.db"), &st), 0);
	p.own_dev = st.st_dev;
	p.own_ino = st.st_ino;
	assert_int_equal(link(in(&p, "out/gantry.db"), in(&p, "ws/hard")), 0);
	assert_int_equal(symlink("hard", in(&p, "ws/soft")), 0);
	static const char *const names[] = { "hard", "soft" };
	for (size_t i = 0; i < COUNT(names); i++) {
		str args = arena_fmt(&p.a, "{\"path\":\"%s\",\"content\":\"x\"}", names[i]);
		expect(use(&p, READ, args), CALL_FAILED, "the agent's own database");
		expect(use(&p, WRITE, args), CALL_FAILED, "the agent's own database");
	}
	assert_true(str_eq(get(&p, "out/gantry.db"), S("rows")));
}

static void nothing_is_created_that_would_pass_for_a_part_of_our_database(void **state)
{
	static const struct {
		const char *path;
		bool denied;
	} rows[] = {
		{ "data/gantry.db", true },       { "data/gantry.db-journal", true },
		{ "data/gantry.db-wal", true },   { "alias/gantry.db-journal", true },
		{ "data/gantry.txt", false },     { "data/sub/gantry.db-journal", false },
		{ "other/gantry.db-wal", false }, { "data/x-gantry.db", false },
	};
	SCOPED(place_drop) struct place p;

	place_up(&p);
	assert_int_equal(mkdir(in(&p, "ws/data"), 0755), 0);
	assert_int_equal(symlink("data", in(&p, "ws/alias")), 0);
	p.opt.own_path = str_of(in(&p, "ws/data/gantry.db"));
	reopen(&p);
	for (size_t i = 0; i < COUNT(rows); i++)
		expect(use(&p, WRITE,
			   arena_fmt(&p.a, "{\"path\":\"%s\",\"content\":\"x\"}",
				     rows[i].path)),
		       rows[i].denied ? CALL_FAILED : CALL_DONE,
		       rows[i].denied ? "a name of the agent's own database" : "wrote");
	/* A name without a directory is one of the directory we are in. */
	p.opt.own_path = S("gantry.db");
	reopen(&p);
	expect(use(&p, WRITE, S("{\"path\":\"data/gantry.db\",\"content\":\"x\"}")), CALL_DONE,
	       "wrote");
}

static void a_file_is_read_in_pieces_that_fit_together(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	put(&p, "ws/f",
	    S("0123456789\xe2\x82\xac"
	      "abc"));
	p.fs.max_read_bytes = 12;
	expect(use(&p, READ, S("{\"path\":\"f\"}")), CALL_DONE,
	       "0123456789\n[truncated: bytes 0 to 10 of 16 shown; continue with offset 10]");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":10}")), CALL_DONE,
	       "\xe2\x82\xac"
	       "abc");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":\"4\",\"limit\":3}")), CALL_DONE,
	       "456\n[truncated: bytes 4 to 7 of 16 shown; continue with offset 7]");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":15,\"limit\":1000}")), CALL_DONE,
	       "c");
	/* A limit within a character moves on all the same. */
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":10,\"limit\":1}")), CALL_DONE,
	       "continue with offset 11]");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":11,\"limit\":3}")), CALL_DONE,
	       "\xef\xbf\xbd");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":16}")), CALL_FAILED,
	       "offset 16 is past the end of the file (size 16)");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":9000000000000000000}")), CALL_FAILED,
	       "past the end");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":9223372036854775807}")), CALL_FAILED,
	       "past the end");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":-1}")), CALL_FAILED,
	       "offset must be");
	expect(use(&p, READ, S("{\"path\":\"f\",\"offset\":1.5}")), CALL_FAILED,
	       "offset must be");
	expect(use(&p, READ, S("{\"path\":\"f\",\"limit\":true}")), CALL_FAILED,
	       "limit must be");
	expect(use(&p, READ, S("{\"path\":\"f\",\"limit\":-1}")), CALL_FAILED, "limit must be");
	assert_true(use(&p, READ, S("{\"path\":\"f\"}")).truncated);
}

static void empty_binary_and_directory_are_told_apart(void **state)
{
	SCOPED(place_drop) struct place p;
	char big[9000];

	place_up(&p);
	memset(big, 'x', sizeof big);
	put(&p, "ws/empty", S(""));
	big[8191] = '\0';
	put(&p, "ws/binary", (str){ big, sizeof big });
	big[8191] = 'x';
	big[8192] = '\0';
	put(&p, "ws/late", (str){ big, sizeof big });
	put(&p, "ws/latin", S("caf\xe9"));
	expect(use(&p, READ, S("{\"path\":\"empty\"}")), CALL_DONE, "(no output)");
	expect(use(&p, READ, S("{\"path\":\"binary\"}")), CALL_FAILED, "binary file");
	expect(use(&p, READ, S("{\"path\":\"binary\",\"offset\":8500}")), CALL_FAILED,
	       "binary file");
	assert_int_equal(use(&p, READ, S("{\"path\":\"late\"}")).state, CALL_DONE);
	expect(use(&p, READ, S("{\"path\":\"latin\"}")), CALL_DONE, "caf\xef\xbf\xbd");
	expect(use(&p, READ, S("{\"path\":\".\"}")), CALL_FAILED,
	       "is a directory; use list_dir");
	expect(use(&p, LIST, S("{\"path\":\"late\"}")), CALL_FAILED,
	       "is not a directory; use read_file");
}

static void writing_has_three_modes(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"one\"}")), CALL_DONE,
	       "wrote 3 bytes to f");
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"tw\",\"mode\":\"overwrite\"}")),
	       CALL_DONE, "wrote 2 bytes");
	assert_true(str_eq(get(&p, "ws/f"), S("tw")));
	expect(use(&p, WRITE,
		   S("{\"path\":\"f\",\"content\":\"o\\u0000\",\"mode\":\"append\"}")),
	       CALL_DONE, "appended 2 bytes");
	assert_true(str_eq(get(&p, "ws/f"), S("two\0")));
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"x\",\"mode\":\"create_new\"}")),
	       CALL_FAILED, "already exists");
	assert_true(str_eq(get(&p, "ws/f"), S("two\0")));
	expect(use(&p, WRITE, S("{\"path\":\"g\",\"content\":\"\",\"mode\":\"create_new\"}")),
	       CALL_DONE, "wrote 0 bytes");
	expect(use(&p, WRITE, S("{\"path\":\"h\",\"content\":\"a\",\"mode\":\"append\"}")),
	       CALL_DONE, "appended 1 bytes");
	assert_true(str_eq(get(&p, "ws/h"), S("a")));
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"x\",\"mode\":\"wb\"}")),
	       CALL_FAILED, "mode must be");
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"x\",\"mode\":1}")), CALL_FAILED,
	       "mode must be");
	expect(use(&p, WRITE, S("{\"path\":\"f\"}")), CALL_FAILED, "content is missing");
	expect(use(&p, WRITE, S("{\"path\":\".\",\"content\":\"x\"}")), CALL_FAILED,
	       "not a regular file");
}

static void writing_makes_what_is_missing_with_plain_modes(void **state)
{
	SCOPED(place_drop) struct place p;
	struct stat st;
	mode_t mask = umask(022);

	place_up(&p);
	expect(use(&p, WRITE, S("{\"path\":\"a/b/c/f\",\"content\":\"x\"}")), CALL_DONE,
	       "wrote");
	assert_int_equal(stat(in(&p, "ws/a/b/c/f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(stat(in(&p, "ws/a/b"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	/* The root itself too, but only for writing. */
	p.roots[0] = str_of(in(&p, "new/root"));
	expect(use(&p, READ, S("{\"path\":\"f\"}")), CALL_FAILED, "No such file");
	expect(use(&p, LIST, S("{}")), CALL_DONE, "(empty directory)");
	expect(use(&p, LIST, S("{\"path\":\"sub\"}")), CALL_FAILED, "No such file");
	assert_int_equal(access(in(&p, "new"), F_OK), -1);
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"x\"}")), CALL_DONE, "wrote");
	assert_true(str_eq(get(&p, "new/root/f"), S("x")));
	(void)umask(mask);
}

static void writing_stays_below_the_roots(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	put(&p, "ws/file", S(""));
	assert_int_equal(symlink(in(&p, "out"), in(&p, "ws/outdir")), 0);
	assert_int_equal(symlink(in(&p, "out/new"), in(&p, "ws/outnew")), 0);
	assert_int_equal(symlink("../out/new2", in(&p, "ws/outnew2")), 0);
	assert_int_equal(symlink(in(&p, "ws/made"), in(&p, "ws/innew")), 0);
	assert_int_equal(symlink("deep/er", in(&p, "ws/indeep")), 0);
	assert_int_equal(symlink("~new", in(&p, "ws/tilde")), 0);
	static const char *const refused[] = {
		"outdir/secret", "outdir/new", "outdir/a/b", "outnew", "outnew2", "../out/x",
	};
	for (size_t i = 0; i < COUNT(refused); i++)
		expect(use(&p, WRITE,
			   arena_fmt(&p.a, "{\"path\":\"%s\",\"content\":\"evil\"}",
				     refused[i])),
		       CALL_FAILED, "outside the allowed directories");
	assert_true(str_eq(get(&p, "out/secret"), S("SECRET")));
	assert_int_equal(access(in(&p, "out/new"), F_OK), -1);
	assert_int_equal(access(in(&p, "out/a"), F_OK), -1);
	/* A link to what is missing inside is what it is for. */
	expect(use(&p, WRITE, S("{\"path\":\"innew\",\"content\":\"x\"}")), CALL_DONE, "wrote");
	assert_true(str_eq(get(&p, "ws/made"), S("x")));
	expect(use(&p, WRITE, S("{\"path\":\"indeep/f\",\"content\":\"x\"}")), CALL_DONE,
	       "wrote");
	assert_true(str_eq(get(&p, "ws/deep/er/f"), S("x")));
	expect(use(&p, WRITE, S("{\"path\":\"tilde\",\"content\":\"x\"}")), CALL_DONE, "wrote");
	assert_true(str_eq(get(&p, "ws/~new"), S("x")));
	expect(use(&p, WRITE, S("{\"path\":\"file/f\",\"content\":\"x\"}")), CALL_FAILED,
	       "Not a directory");
}

static void too_much_content_is_refused_whole(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	p.fs.max_write_bytes = 4;
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"12345\"}")), CALL_FAILED,
	       "content has 5 bytes, at most 4");
	assert_int_equal(access(in(&p, "ws/f"), F_OK), -1);
	expect(use(&p, WRITE, S("{\"path\":\"f\",\"content\":\"1234\"}")), CALL_DONE, "wrote");
}

static void a_directory_is_listed_sorted_and_indented(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	assert_int_equal(mkdir(in(&p, "ws/b"), 0755), 0);
	assert_int_equal(mkdir(in(&p, "ws/b/deep"), 0755), 0);
	put(&p, "ws/b/deep/leaf", S("1234"));
	put(&p, "ws/b/x", S("12"));
	put(&p, "ws/a", S("123"));
	put(&p, "ws/tab\there\n", S(""));
	put(&p, "ws/bad\xff", S(""));
	assert_int_equal(symlink(in(&p, "out"), in(&p, "ws/c")), 0);
	assert_int_equal(mkfifo(in(&p, "ws/d"), 0644), 0);
	str flat = S("a\tfile\t3\nb\tdir\t0\nbad\xef\xbf\xbd\tfile\t0\nc\tsymlink\t0\n"
		     "d\tfifo\t0\ntab\\there\\n\tfile\t0\n");
	struct call call = use(&p, LIST, S("{}"));
	if (!str_ieq(call.result, flat))
		fail_msg("%.*s", STRF(call.result));
	assert_true(
		str_eq(use(&p, LIST, S("{\"path\":null,\"depth\":1}")).result, call.result));
	expect(use(&p, LIST, S("{\"depth\":2}")), CALL_DONE,
	       "b\tdir\t0\n  deep\tdir\t0\n  x\tfile\t2\n");
	expect(use(&p, LIST, S("{\"depth\":99,\"path\":\"b\"}")), CALL_DONE,
	       "deep\tdir\t0\n  leaf\tfile\t4\nx\tfile\t2\n");
	assert_false(str_has(use(&p, LIST, S("{\"depth\":8}")).result, S("secret")));
	expect(use(&p, LIST, S("{\"path\":\"b/deep/../../c\"}")), CALL_FAILED, "outside");
	expect(use(&p, LIST, S("{\"depth\":\"x\"}")), CALL_FAILED, "depth must be");
	expect(use(&p, LIST, S("{\"path\":[]}")), CALL_FAILED, "path must be text");
	assert_int_equal(mkdir(in(&p, "ws/e"), 0755), 0);
	expect(use(&p, LIST, S("{\"path\":\"e\"}")), CALL_DONE, "(empty directory)");
}

static void depth_ends_at_eight_and_entries_at_two_thousand(void **state)
{
	SCOPED(place_drop) struct place p;
	struct buf path;

	place_up(&p);
	path = buf_in(&p.a, 4096);
	buf_add(&path, S("ws"));
	for (int i = 1; i <= 10; i++) {
		buf_fmt(&path, "/n%02d", i);
		assert_int_equal(mkdir(in(&p, buf_str(&path).p), 0755), 0);
	}
	struct call call = use(&p, LIST, S("{\"depth\":10}"));
	assert_true(str_has(call.result, S("n08")));
	assert_false(str_has(call.result, S("n09")));
	for (int i = 0; i < 2001; i++)
		put(&p, arena_fmt(&p.a, "two/%04d", i).p, S(""));
	call = use_at(&p, LIST, "{\"path\":\"@/two\"}");
	assert_true(call.truncated);
	assert_true(str_has(call.result, S("1999\tfile")));
	assert_false(str_has(call.result, S("2000\tfile")));
	assert_true(str_has(call.result, S("[truncated: 2000 entries shown, there are more]")));
}

static void a_cancelled_tool_ends(void **state)
{
	static const char *const tools[] = { "read_file", "write_file", "list_dir" };
	SCOPED(place_drop) struct place p;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };

	place_up(&p);
	put(&p, "ws/f", S("x"));
	assert_int_equal(cancel_init(&c, NULL, 0, NULL), OK);
	cancel_fire(&c, CANCEL_USER);
	for (size_t i = 0; i < COUNT(tools); i++) {
		str path = i == 2 ? S(".") : S("f");
		struct call call = { .requested = str_of(tools[i]) };
		call.args = arena_fmt(&p.a, "{\"path\":\"%s\",\"content\":\"y\"}", path.p);
		const struct tool_spec *spec = tools_admit(p.tools, &p.set, &call, &p.a);
		assert_int_equal(tools_run(p.tools, spec, &call, NULL, &p.a, &c, NULL),
				 E_CANCELED);
	}
	assert_true(str_eq(get(&p, "ws/f"), S("x")));
}

static void the_tools_are_there_as_configured(void **state)
{
	SCOPED(place_drop) struct place p;

	place_up(&p);
	assert_int_equal(p.set.n, 4);
	assert_true(toolset_find(&p.set, READ, &p.a, &(str){ 0 })->safe);
	assert_false(toolset_find(&p.set, WRITE, &p.a, &(str){ 0 })->safe);
	p.fs.roots.n = 0;
	reopen(&p);
	assert_int_equal(p.set.n, 0);
	p.opt.workspace = str_of(in(&p, "ws"));
	reopen(&p);
	put(&p, "ws/f", S("hello"));
	expect(use(&p, READ, S("{\"path\":\"f\"}")), CALL_DONE, "hello");
	p.fs.enabled = false;
	reopen(&p);
	assert_int_equal(p.set.n, 0);
	p.opt.fs = NULL;
	reopen(&p);
	assert_int_equal(p.set.n, 0);
	assert_int_equal(beneath_supported(NULL), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_lead_where_they_may_and_nowhere_else),
		cmocka_unit_test(eight_absolute_links_are_followed_and_nine_are_not),
		cmocka_unit_test(a_root_may_be_reached_through_links),
		cmocka_unit_test(what_could_hang_or_is_a_device_is_never_opened),
		cmocka_unit_test(our_own_database_is_not_touched_by_any_name),
		cmocka_unit_test(nothing_is_created_that_would_pass_for_a_part_of_our_database),
		cmocka_unit_test(a_file_is_read_in_pieces_that_fit_together),
		cmocka_unit_test(empty_binary_and_directory_are_told_apart),
		cmocka_unit_test(writing_has_three_modes),
		cmocka_unit_test(writing_makes_what_is_missing_with_plain_modes),
		cmocka_unit_test(writing_stays_below_the_roots),
		cmocka_unit_test(too_much_content_is_refused_whole),
		cmocka_unit_test(a_directory_is_listed_sorted_and_indented),
		cmocka_unit_test(depth_ends_at_eight_and_entries_at_two_thousand),
		cmocka_unit_test(a_cancelled_tool_ends),
		cmocka_unit_test(the_tools_are_there_as_configured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
