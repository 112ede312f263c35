/*
 * edit_file: replace a piece of a text file by another one.  The piece must be there exactly
 * once, so that a model that remembers the file wrongly changes nothing.  The file is read
 * and written through one descriptor; it is on the disk before the tool says so.
 */
#include "os/file.h"
#include "text/diff.h"
#include "text/text.h"
#include "tools/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SHOWN 200
#define DIFF_MAX 6000
#define PLACES_MAX 10000

struct edit {
	str path, shown, old, new;
	bool all;
	str text; /* of the file */
	struct stretch *places;
	size_t n;
};

/* The file from its beginning; E_LIMIT when there is more than max. */
static int read_all(int fd, size_t max, struct arena *a, str *out, struct err *e)
{
	struct buf b = buf_in(a, max + 1);
	ssize_t n = 1;

	while (n != 0 && b.n <= max) {
		size_t want = max + 1 - b.n < 65536 ? max + 1 - b.n : 65536;
		char *p = buf_room(&b, want);
		n = pread(fd, p, want, (off_t)b.n);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "read");
		buf_filled(&b, n > 0 ? (size_t)n : 0);
	}
	if (b.n > max)
		return err_set(e, E_LIMIT, "it has more than %zu bytes", max);
	*out = buf_str(&b);
	return OK;
}

/* New content in place of what fd holds. */
static int write_all(int *fd, str content, struct err *e)
{
	for (size_t done = 0; done < content.n;) {
		ssize_t n = pwrite(*fd, content.p + done, content.n - done, (off_t)done);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "write");
		done += n > 0 ? (size_t)n : 0;
	}
	if (ftruncate(*fd, (off_t)content.n) != 0)
		return err_sys(e, "truncate");
	if (fsync(*fd) != 0 && errno != EINVAL && errno != EROFS)
		return err_sys(e, "write");
	int rc = close(*fd);
	*fd = -1;
	return rc == 0 ? OK : err_sys(e, "close");
}

/* Every place of old in the text, first to last. */
static void find_places(struct edit *ed, struct arena *a)
{
	ed->places = NEWN(a, struct stretch, PLACES_MAX);
	ed->n = 0;
	for (size_t from = 0; ed->n < PLACES_MAX;) {
		size_t i = str_find(str_sub(ed->text, from, ed->text.n), ed->old);
		if (i == SIZE_MAX)
			break;
		ed->places[ed->n++] = (struct stretch){ from + i, from + i + ed->old.n };
		from += i + ed->old.n;
	}
}

/* Line ends as DOS has them. */
static str dos(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n * 2);

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n' && (i == 0 || s.p[i - 1] != '\r'))
			buf_addc(&b, '\r');
		buf_addc(&b, s.p[i]);
	}
	return buf_str(&b);
}

static bool is_dos(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\n' && (i == 0 || s.p[i - 1] != '\r'))
			return false;
	return str_has(s, S("\r\n"));
}

/* Models write \n whatever the file has: then it is the file's way that counts. */
static void locate(struct edit *ed, struct arena *a)
{
	bool whole = is_dos(ed->text);

	find_places(ed, a);
	if (ed->n == 0 && str_has(ed->text, S("\r\n")) && str_has(ed->old, S("\n"))) {
		ed->old = dos(a, ed->old);
		find_places(ed, a);
		whole = true;
	}
	if (whole)
		ed->new = dos(a, ed->new);
}

static bool args_ok(struct edit *ed, const struct json *args, struct arena *a,
		    struct tool_result *out)
{
	static const char *const texts[] = { "path", "old_string", "new_string" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		if (json_is(json_get(args, texts[i]), JSON_STRING))
			continue;
		(void)tool_fail(out, a, "%s is missing; it must be text", texts[i]);
		return false;
	}
	*ed = (struct edit){ .path = json_str(args, "path"),
			     .old = json_str(args, "old_string"),
			     .new = json_str(args, "new_string"),
			     .all = json_bool(args, "replace_all", false) };
	ed->shown = text_line(a, ed->path, SHOWN);
	if (ed->old.n == 0)
		(void)tool_fail(out, a, "old_string is empty; write_file makes new files");
	else if (str_eq(ed->old, ed->new))
		(void)tool_fail(out, a, "old_string and new_string are the same");
	else
		return true;
	return false;
}

static int open_file(const struct tool_env *env, struct arena *a, str path, int flags, int *fd,
		     struct err *e)
{
	SCOPED(fd_drop) int held = -1;
	struct stat st;
	int rc = beneath_look(&env->files, a, path, &held, &st, e);

	if (rc == OK && !S_ISREG(st.st_mode))
		rc = err_set(e, E_INVAL, "not a regular file");
	return rc < 0 ? rc : beneath_open(&env->files, held, flags, fd, e);
}

/* Why nothing can be replaced; false: it can. */
static bool refused(const struct edit *ed, struct arena *a, struct tool_result *out)
{
	str name = ed->shown;

	if (ed->text.n && memchr(ed->text.p, 0, ed->text.n))
		(void)tool_fail(out, a, "%.*s is binary", STRF(name));
	else if (ed->n == 0)
		(void)tool_fail(out, a,
				"old_string is not in %.*s; read the file and copy the text "
				"exactly, white space too",
				STRF(name));
	else if (ed->n > 1 && !ed->all)
		(void)tool_fail(out, a,
				"old_string is %zu times in %.*s; give more of the text around "
				"it, or set replace_all",
				ed->n, STRF(name));
	else if (ed->n == PLACES_MAX)
		(void)tool_fail(out, a, "old_string is too often in %.*s", STRF(name));
	else
		return false;
	return true;
}

/* What would change in the file as it is; what the call says alone, where that is too much or
 * nothing would. */
static str preview(const struct tool_env *env, const struct json *args, size_t max,
		   struct arena *a)
{
	SCOPED(fd_drop) int fd = -1;
	struct tool_result result = { 0 };
	struct err why = { 0 };
	struct edit ed;
	str diff = { 0 }, note;
	bool cut = true, found = false;

	if (args->n > 3 + (json_get(args, "replace_all") != NULL) ||
	    !args_ok(&ed, args, a, &result))
		return S("");
	str path = text_visible(a, ed.path, true), old = ed.old, with = ed.new;
	if (open_file(env, a, ed.path, O_RDONLY, &fd, &why) < 0 ||
	    read_all(fd, (size_t)env->opt->fs->max_write_bytes, a, &ed.text, &why) < 0) {
		note = arena_fmt(a, "it will fail: %s", why.msg);
	} else {
		locate(&ed, a);
		found = !refused(&ed, a, &result);
		str failure = result.text;
		(void)str_cut(&failure, ' '); /* "error:" */
		note = found ? arena_fmt(a, "%zu place%s", ed.n, ed.n == 1 ? "" : "s")
			     : arena_fmt(a, "it will fail: %.*s", STRF(failure));
	}
	if (found)
		diff = diff_show(a, ed.text, ed.places, ed.n, ed.new, !is_dos(ed.text),
				 max - max / 4, &cut);
	if (cut)
		diff = diff_show(a, old, &(struct stretch){ 0, old.n }, 1, with, true, max,
				 &cut);
	if (cut)
		return S(""); /* never a part of it */
	return arena_fmt(a, "--- %.*s\n+++ %.*s\n%.*s(%.*s%s)", STRF(path), STRF(path),
			 STRF(diff), STRF(note), ed.all && !found ? "; every place" : "");
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int fd = -1;
	size_t max = (size_t)env->opt->fs->max_write_bytes;
	struct err why = { 0 };
	struct edit ed;
	bool cut;

	int rc = cancel_check(c, e);
	if (rc < 0)
		return rc;
	if (!args_ok(&ed, args, a, out))
		return OK;
	if (open_file(env, a, ed.path, O_RDWR, &fd, &why) < 0 ||
	    read_all(fd, max, a, &ed.text, &why) < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(ed.shown), why.msg);
	locate(&ed, a);
	if (refused(&ed, a, out))
		return OK;
	str now = diff_apply(a, ed.text, ed.places, ed.n, ed.new);
	if (now.n > max)
		return tool_fail(out, a,
				 "the file would have %zu bytes, at most %zu can be "
				 "written",
				 now.n, max);
	if (write_all(&fd, now, &why) < 0) {
		(void)tool_fail(out, a, "%.*s: %s; it may be damaged, read it again",
				STRF(ed.shown), why.msg);
		out->not_run = false;
		return OK;
	}
	str diff = diff_show(a, ed.text, ed.places, ed.n, ed.new, false, DIFF_MAX, &cut);
	out->truncated = cut;
	out->text =
		arena_fmt(a, "replaced %zu place%s in %.*s\n%.*s%s", ed.n, ed.n == 1 ? "" : "s",
			  STRF(ed.shown), STRF(diff), cut ? "[more is not shown]\n" : "");
	return OK;
}

const struct tool tool_edit_file = {
	.name = "edit_file",
	.title = "Edit a file",
	.description =
		"Replace a piece of a text file by another one. old_string must be in it "
		"exactly once, white space included, unless replace_all is set. The "
		"result shows what changed.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"path\":{\"type\":\"string\",\"description\":\"File to change; relative "
		  "paths start at the workspace\"},"
		  "\"old_string\":{\"type\":\"string\",\"description\":\"Text to replace\"},"
		  "\"new_string\":{\"type\":\"string\",\"description\":\"What comes in its "
		  "place\"},"
		  "\"replace_all\":{\"type\":\"boolean\",\"description\":\"Replace every "
		  "place\"}},"
		  "\"required\":[\"path\",\"old_string\",\"new_string\"],"
		  "\"additionalProperties\":false}",
	.safe = false,
	.enabled = tools_fs_enabled,
	.run = run,
	.preview = preview,
};
