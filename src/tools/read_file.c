/*
 * read_file: a piece of a text file.  What is no regular file is never opened, and what
 * looks binary is refused rather than shown.
 */
#include "base/utf.h"
#include "os/file.h"
#include "text/text.h"
#include "tools/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SNIFF 8192 /* a NUL this early means binary */
#define SHOWN 200 /* characters of a path in a message */

/* Up to n bytes at offset. */
static int read_at(int fd, char *p, size_t n, int64_t offset, size_t *got)
{
	*got = 0;
	while (*got < n) {
		ssize_t r = pread(fd, p + *got, n - *got, (off_t)(offset + (int64_t)*got));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0)
			break;
		*got += (size_t)r;
	}
	return 0;
}

static int show(int fd, const struct stat *st, int64_t offset, int64_t limit, struct arena *a,
		struct tool_result *out)
{
	size_t want = (size_t)limit + 1, head = 0, got = 0;
	char *p = arena_alloc(a, 1, want > SNIFF ? want : SNIFF);

	if (read_at(fd, p, SNIFF, 0, &head) < 0)
		return tool_fail(out, a, "cannot read it");
	if (memchr(p, '\0', head))
		return tool_fail(out, a, "this is a binary file; only text can be read");
	/* An offset beyond what the file system can count is past the end as well. */
	if (read_at(fd, p, want, offset, &got) < 0 && errno != EINVAL && errno != EOVERFLOW)
		return tool_fail(out, a, "cannot read it");
	if (offset > 0 && got == 0)
		return tool_fail(out, a, "offset %lld is past the end of the file (size %lld)",
				 (long long)offset, (long long)st->st_size);
	str text = { p, got };
	out->truncated = got > (size_t)limit;
	if (out->truncated) {
		text = utf_head(text, (size_t)limit);
		/* A limit inside the first character still has to make progress. */
		if (text.n == 0)
			text = str_sub((str){ p, got }, 0, (size_t)limit);
	}
	int64_t end = offset + (int64_t)text.n;
	out->text = utf_repair(a, text);
	if (out->truncated)
		out->text = arena_fmt(a,
				      "%.*s\n[truncated: bytes %lld to %lld of %lld shown; "
				      "continue with offset %lld]",
				      STRF(out->text), (long long)offset, (long long)end,
				      (long long)(st->st_size > end ? st->st_size : end + 1),
				      (long long)end);
	return OK;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int held = -1;
	SCOPED(fd_drop) int fd = -1;
	str path = json_str(args, "path"), shown = text_line(a, path, SHOWN);
	int64_t offset, limit, cap = env->opt->fs->max_read_bytes;
	struct err why = { 0 };
	struct stat st;

	int rc = cancel_check(c, e);
	if (rc < 0)
		return rc;
	if (!json_is(json_get(args, "path"), JSON_STRING))
		return tool_fail(out, a, "path is missing; it must be text");
	if (!tool_arg_i64(args, "offset", 0, &offset) || offset < 0)
		return tool_fail(out, a, "offset must be a number of bytes, 0 or more");
	if (!tool_arg_i64(args, "limit", 0, &limit) || limit < 0)
		return tool_fail(out, a, "limit must be a number of bytes, 1 or more");
	if (limit == 0 || limit > cap)
		limit = cap;
	if (beneath_look(&env->files, a, path, &held, &st, &why) < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(shown), why.msg);
	if (S_ISDIR(st.st_mode))
		return tool_fail(out, a, "%.*s is a directory; use list_dir", STRF(shown));
	if (beneath_open(&env->files, held, O_RDONLY, &fd, &why) < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(shown), why.msg);
	return show(fd, &st, offset, limit, a, out);
}

const struct tool tool_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.description = "Read a text file. Large files come in pieces: the end of the text says "
		       "at which offset to continue.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"path\":{\"type\":\"string\",\"description\":\"File to read; relative "
		  "paths start at the workspace\"},"
		  "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Bytes to "
		  "skip\"},"
		  "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Most bytes "
		  "to return\"}},"
		  "\"required\":[\"path\"],\"additionalProperties\":false}",
	.safe = true,
	.enabled = tools_fs_enabled,
	.run = run,
};
