/*
 * edit_file through the gate: what it changes, what it refuses, and that a refusal changes
 * nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf.h"
#include "os/file.h"
#include "text/json.h"
#include "tools/tools.h"

struct place {
	struct arena a;
	char base[64];
	str root;
	struct fs_cfg fs;
	struct tools_opt opt;
	struct tools *tools;
	struct toolset set;
};

static const char *in(struct place *p, const char *name)
{
	return arena_fmt(&p->a, "%s/%s", p->base, name).p;
}

static void put(struct place *p, const char *name, str content)
{
	SCOPED(fd_drop)
	int fd = open(in(p, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content.p, content.n), content.n);
}

static str get(struct place *p, const char *name)
{
	str text = S("(missing)");

	(void)!file_read(&text, &p->a, in(p, name), 1 << 20, NULL);
	return text;
}

static void up(struct place *p)
{
	*p = (struct place){ .base = "/tmp/gantry-edit-XXXXXX" };
	assert_non_null(mkdtemp(p->base));
	assert_int_equal(mkdir(in(p, "ws"), 0755), 0);
	p->root = str_of(in(p, "ws"));
	p->fs = (struct fs_cfg){ .enabled = true,
				 .roots = { &p->root, 1 },
				 .max_read_bytes = 262144,
				 .max_write_bytes = 1000 };
	p->opt = (struct tools_opt){ .fs = &p->fs };
	assert_int_equal(tools_open(&p->tools, &p->opt, NULL), OK);
	tools_snapshot(p->tools, &p->a, &p->set);
}

static void down(struct place *p)
{
	static const char *const files[] = { "ws/f", "ws/link", "ws/fifo", "out", "ws" };

	tools_close(p->tools);
	for (size_t i = 0; i < COUNT(files); i++)
		if (unlink(in(p, files[i])) != 0)
			(void)rmdir(in(p, files[i]));
	(void)rmdir(p->base);
	arena_free(&p->a);
}

static struct call use(struct place *p, str args)
{
	struct call call = { .requested = S("edit_file"), .args = args, .index = 1 };
	const struct tool_spec *spec = tools_admit(p->tools, &p->set, &call, &p->a);

	assert_non_null(spec);
	assert_false(spec->safe);
	assert_int_equal(tools_run(p->tools, spec, &call, NULL, &p->a, NULL, NULL), OK);
	assert_true(utf_valid(call.result));
	return call;
}

static struct call edit(struct place *p, const char *path, const char *old, const char *with,
			bool all)
{
	struct buf b = buf_in(&p->a, 65536);

	buf_add(&b, S("{"));
	buf_json_member(&b, "path", str_of(path));
	buf_json_member(&b, "old_string", str_of(old));
	buf_json_member(&b, "new_string", str_of(with));
	buf_add(&b, all ? S(",\"replace_all\":true}") : S("}"));
	return use(p, buf_str(&b));
}

static const struct {
	const char *was, *old, *with;
	bool all;
	const char *now, *result;
} edits[] = {
	{ "a\nb\nc\n", "b\n", "x\ny\n", false, "a\nx\ny\nc\n",
	  "replaced 1 place in f\n@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n" },
	{ "aXbXc", "X", "--", true, "a--b--c",
	  "replaced 2 places in f\n@@ -1,1 +1,1 @@\n-aXbXc\n+a--b--c\n" },
	{ "one long line that goes", "long line that goes", "", false, "one ", NULL },
	/* the file's line ends stay */
	{ "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", NULL },
	{ "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", NULL },
	{ "a\r\nb\r\n", "a\r\n", "x\r\n", false, "x\r\nb\r\n", NULL },
	{ "a\r\nb\nc\n", "c", "x\ny", false, "a\r\nb\nx\ny\n", NULL }, /* of both kinds */
	{ "a\nb\n", "b", "x\r\n", false, "a\nx\r\n\n", NULL },
	{ "caf\xc3\xa9", "\xc3\xa9", "e", false, "cafe", NULL },
};

static void one_place_or_all_are_replaced(void **state)
{
	for (size_t i = 0; i < COUNT(edits); i++) {
		struct place p;
		struct stat st;

		up(&p);
		put(&p, "ws/f", str_of(edits[i].was));
		struct call c = edit(&p, "f", edits[i].old, edits[i].with, edits[i].all);
		if (c.state != CALL_DONE)
			fail_msg("%s: %s", edits[i].was, c.result.p);
		assert_string_equal(get(&p, "ws/f").p, edits[i].now);
		if (edits[i].result)
			assert_string_equal(c.result.p, edits[i].result);
		assert_int_equal(stat(in(&p, "ws/f"), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0640);
		down(&p);
	}
}

static const struct {
	const char *path, *old, *with, *why;
	bool all;
} refused[] = {
	{ "f", "nowhere", "x", "old_string is not in f", false },
	{ "f", "A b", "x", "old_string is not in f", false },
	{ "f", "b", "x", "old_string is 2 times in f; give more", false },
	{ "f", "", "x", "old_string is empty", false },
	{ "f", "a", "a", "are the same", false },
	{ "missing", "a", "b", "missing: ", false },
	{ ".", "a", "b", "not a regular file", false },
	{ "fifo", "a", "b", "not a regular file", false },
	{ "../out", "SECRET", "x", "outside the allowed directories", false },
	{ "link", "SECRET", "x", "outside the allowed directories", false },
};

static void what_is_refused_changes_nothing(void **state)
{
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct place p;

		up(&p);
		put(&p, "ws/f", S("a b b\n"));
		put(&p, "out", S("SECRET"));
		assert_int_equal(symlink("../out", in(&p, "ws/link")), 0);
		assert_int_equal(mkfifo(in(&p, "ws/fifo"), 0600), 0);
		struct call c = edit(&p, refused[i].path, refused[i].old, refused[i].with,
				     refused[i].all);
		assert_int_equal(c.state, CALL_FAILED);
		if (!str_has(c.result, str_of(refused[i].why)))
			fail_msg("%s: %s", refused[i].why, c.result.p);
		assert_string_equal(get(&p, "ws/f").p, "a b b\n");
		assert_string_equal(get(&p, "out").p, "SECRET");
		down(&p);
	}
}

static void sizes_and_kinds_have_limits(void **state)
{
	struct place p;
	struct buf b;

	up(&p);
	b = buf_in(&p.a, 4096);
	while (b.n < 998)
		buf_addc(&b, 'x');
	buf_addc(&b, 'y');
	put(&p, "ws/f", buf_str(&b));
	assert_true(str_has(edit(&p, "f", "y", "zzz", false).result, S("at most 1000 can be")));
	assert_true(str_has(edit(&p, "f", "y", "zz", false).result, S("replaced 1 place")));
	buf_add(&b, S("abc"));
	put(&p, "ws/f", buf_str(&b));
	assert_true(str_has(edit(&p, "f", "y", "z", false).result, S("more than 1000 bytes")));
	put(&p, "ws/f", S("a\0b"));
	assert_true(str_has(edit(&p, "f", "a", "z", false).result, S("is binary")));
	assert_int_equal(get(&p, "ws/f").n, 3);
	assert_true(str_has(use(&p, S("{\"path\":\"f\",\"old_string\":1}")).result,
			    S("old_string is missing; it must be text")));
	down(&p);
}

/* What is shown of a call that is asked about; NULL: it is refused as too long. */
static const char *shown(struct place *p, const char *args, size_t max)
{
	struct call call = { .requested = S("edit_file"), .args = str_of(args) };
	const struct tool_spec *spec = tools_admit(p->tools, &p->set, &call, &p->a);
	struct approval_ask ask;

	assert_non_null(spec);
	call.state = CALL_PLANNED;
	if (!tools_question(p->tools, spec, &call, max, &p->a, &ask))
		return NULL;
	assert_true(ask.display.n <= max);
	return arena_cstr(&p->a, ask.display);
}

#define EDIT(old, new) "{\"path\":\"f\",\"old_string\":\"" old "\",\"new_string\":\"" new "\""
#define HEAD "--- f\n+++ f\n"

static const struct {
	str content;
	const char *args, *shown;
} asked[] = {
	{ S("a\nb\nc\n"), EDIT("b", "x") "}",
	  HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n(1 place)" },
	{ S("b\nb\n"), EDIT("b", "x") ",\"replace_all\":true}",
	  HEAD "@@ -1,2 +1,2 @@\n-b\n+x\n-b\n+x\n(2 places)" },
	/* What would not work is told, with what was wanted. */
	{ S("b\nb\n"), EDIT("b", "x") "}",
	  HEAD
	  "@@ -1,1 +1,1 @@\n-b\n\\ No newline at end of file\n+x\n\\ No newline at end of "
	  "file\n(it will fail: old_string is 2 times in f; give more of the text around it, "
	  "or set replace_all)" },
	{ S("c\n"), EDIT("b\\n", "") ",\"replace_all\":true}",
	  HEAD
	  "@@ -1,1 +1,0 @@\n-b\n(it will fail: old_string is not in f; read the file and copy "
	  "the text exactly, white space too; every place)" },
	{ S("x"), "{\"path\":\"gone\\n+x\",\"old_string\":\"b\\n\",\"new_string\":\"c\\n\"}",
	  "--- gone\\n+x\n+++ gone\\n+x\n@@ -1,1 +1,1 @@\n-b\n+c\n(it will fail: cannot open "
	  "it: No such file or directory)" },
	/* Whatever moves the cursor or turns the direction is spelt out; so are line ends that
	 * are not those of the file. */
	{ S("b\n"), EDIT("b", "\\u001b[2J\\u202ex\\u200f\\r") "}",
	  HEAD "@@ -1,1 +1,1 @@\n-b\n+\\x1b[2J\\u202ex\\u200f\\x0d\n(1 place)" },
	{ S("b\r\nc\r\n"), EDIT("b\\nc", "x\\ny") "}",
	  HEAD "@@ -1,2 +1,2 @@\n-b\n-c\n+x\n+y\n(1 place)" },
	{ S("b\n"), EDIT("b\\n", "b") "}",
	  HEAD "@@ -1,1 +1,1 @@\n-b\n+b\n\\ No newline at end of file\n(1 place)" },
	/* Secrets are not shown, also those of the file. */
	{ S("password=hunter2hunter2\nb\n"), EDIT("b", "c") "}",
	  HEAD "@@ -1,2 +1,2 @@\n password=[REDACTED]\n-b\n+c\n(1 place)" },
	/* Arguments that are none are shown as they are. */
	{ S("b\n"), EDIT("b", "b") "}", EDIT("b", "b") "}" },
	{ S("b\n"), EDIT("b", "c") ",\"mode\":1}", EDIT("b", "c") ",\"mode\":1}" },
};

static void a_person_sees_what_would_change(void **state)
{
	for (size_t i = 0; i < COUNT(asked); i++) {
		struct place p;
		up(&p);
		put(&p, "ws/f", asked[i].content);
		assert_string_equal(shown(&p, asked[i].args, 3500), asked[i].shown);
		assert_true(str_eq(get(&p, "ws/f"), asked[i].content));
		down(&p);
	}
}

static void never_a_part_of_a_change_is_shown(void **state)
{
	struct place p;
	struct buf text, args;

	up(&p);
	text = buf_in(&p.a, 1000);
	args = buf_in(&p.a, 1000);
	for (int i = 0; i < 40; i++)
		buf_fmt(&text, "b %d\n", i);
	put(&p, "ws/f", buf_str(&text));
	/* Too many places to show each: then what is replaced by what, and how often. */
	assert_string_equal(shown(&p, EDIT("b", "x") ",\"replace_all\":true}", 400),
			    HEAD "@@ -1,1 +1,1 @@\n-b\n\\ No newline at end of file\n+x\n\\ No "
				 "newline at end of file\n(40 places)");
	buf_add(&args, S(EDIT("b", "")));
	args.n -= 1;
	for (int i = 0; i < 200; i++)
		buf_add(&args, S("y\\n"));
	buf_add(&args, S("\",\"replace_all\":true}"));
	assert_null(shown(&p, buf_str(&args).p, 400));
	assert_non_null(shown(&p, buf_str(&args).p, 1000));
	down(&p);
}

/* A yes to what is shown of a call, and what comes of it when the file is changed before. */
static struct call approve(struct place *p, const char *args, const char *was, const char *now)
{
	struct call call = { .requested = S("edit_file"), .args = str_of(args), .index = 1 };
	const struct tool_spec *spec = tools_admit(p->tools, &p->set, &call, &p->a);
	struct approval_ask ask;

	put(p, "ws/f", str_of(was));
	call.state = CALL_PLANNED;
	assert_true(tools_question(p->tools, spec, &call, 3500, &p->a, &ask));
	call.state = CALL_RUNNING;
	call.shown = ask.display;
	call.shown_max = 3500;
	put(p, "ws/f", str_of(now));
	assert_int_equal(tools_run(p->tools, spec, &call, NULL, &p->a, NULL, NULL), OK);
	return call;
}

static const struct {
	const char *args, *was, *now, *then; /* then NULL: nothing is done */
} meanwhile[] = {
	{ EDIT("b", "x") ",\"replace_all\":true}", "b\nc\n", "b\nc\n", "x\nc\n" },
	/* a further place */
	{ EDIT("b", "x") ",\"replace_all\":true}", "b\nc\n", "b\nc\n1\n2\n3\n4\n5\nb\n", NULL },
	/* another place */
	{ EDIT("b", "x") "}", "a\nb\n", "c\nb\n", NULL },
	/* it was to fail */
	{ EDIT("b", "x") "}", "c\n", "b\n", NULL },
	{ EDIT("b", "x") "}", "b\n", "c\n", NULL },
	/* the same place, further down */
	{ EDIT("b", "x") "}", "1\n2\n3\nb\n", "0\n0\n1\n2\n3\nb\n", "0\n0\n1\n2\n3\nx\n" },
};

static void only_what_was_shown_is_done(void **state)
{
	for (size_t i = 0; i < COUNT(meanwhile); i++) {
		const char *then = meanwhile[i].then;
		struct place p;
		up(&p);
		struct call c =
			approve(&p, meanwhile[i].args, meanwhile[i].was, meanwhile[i].now);
		if (c.state != (then ? CALL_DONE : CALL_FAILED) ||
		    (!then && !str_has(c.result, S("other text than was shown"))))
			fail_msg("%zu: %s", i, c.result.p);
		assert_string_equal(get(&p, "ws/f").p, then ? then : meanwhile[i].now);
		down(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_place_or_all_are_replaced),
		cmocka_unit_test(what_is_refused_changes_nothing),
		cmocka_unit_test(sizes_and_kinds_have_limits),
		cmocka_unit_test(a_person_sees_what_would_change),
		cmocka_unit_test(never_a_part_of_a_change_is_shown),
		cmocka_unit_test(only_what_was_shown_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
