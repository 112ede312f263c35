/*
 * write_file: overwrite, append to, or create a text file, with the directories above it.
 * The content is on the disk before the tool says so.
 */
#include "os/file.h"
#include "text/text.h"
#include "tools/builtin.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define SHOWN 200
#define TRIES 3 /* someone may create or remove the file between two looks */

enum mode { OVERWRITE, APPEND, CREATE_NEW, BAD_MODE };

static enum mode mode_of(const struct json *v)
{
	if (!v || json_is(v, JSON_NULL) || str_eq(json_text(v), S("overwrite")))
		return OVERWRITE;
	if (str_eq(json_text(v), S("append")))
		return APPEND;
	if (str_eq(json_text(v), S("create_new")))
		return CREATE_NEW;
	return BAD_MODE;
}

/* A descriptor to write to; E_BUSY the file came or went meanwhile, look again. */
static int open_target(const struct tool_env *env, struct arena *a, str path, enum mode mode,
		       int *fd, struct err *e)
{
	SCOPED(fd_drop) int held = -1;
	struct stat st;
	int rc = beneath_look(&env->files, a, path, &held, &st, e);

	if (rc == E_NOENT)
		return beneath_create(&env->files, a, path, fd, e);
	if (rc < 0)
		return rc;
	if (mode == CREATE_NEW)
		return err_set(e, E_INVAL, "already exists");
	if (!S_ISREG(st.st_mode))
		return err_set(e, E_INVAL, "not a regular file");
	return beneath_open(&env->files, held, O_WRONLY | (mode == APPEND ? O_APPEND : O_TRUNC),
			    fd, e);
}

/* All of it to the disk; *done is how far it came. */
static int put(int *fd, str content, size_t *done, struct err *e)
{
	for (*done = 0; *done < content.n;) {
		ssize_t n = write(*fd, content.p + *done, content.n - *done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "write");
		*done += (size_t)n;
	}
	if (fsync(*fd) != 0 && errno != EINVAL && errno != EROFS)
		return err_sys(e, "write");
	int rc = close(*fd);
	*fd = -1;
	return rc == 0 ? OK : err_sys(e, "close");
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int fd = -1;
	str path = json_str(args, "path"), content = json_str(args, "content");
	str shown = text_line(a, path, SHOWN);
	enum mode mode = mode_of(json_get(args, "mode"));
	int64_t cap = env->opt->fs->max_write_bytes;
	struct err why = { 0 };
	size_t done;

	int rc = cancel_check(c, e);
	if (rc < 0)
		return rc;
	if (!json_is(json_get(args, "path"), JSON_STRING))
		return tool_fail(out, a, "path is missing; it must be text");
	if (!json_is(json_get(args, "content"), JSON_STRING))
		return tool_fail(out, a, "content is missing; it must be text");
	if (mode == BAD_MODE)
		return tool_fail(out, a, "mode must be overwrite, append or create_new");
	if (content.n > (uint64_t)cap)
		return tool_fail(out, a, "content has %zu bytes, at most %lld can be written",
				 content.n, (long long)cap);
	rc = E_BUSY;
	for (int i = 0; i < TRIES && rc == E_BUSY; i++)
		rc = open_target(env, a, path, mode, &fd, &why);
	if (rc < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(shown), why.msg);
	if (put(&fd, content, &done, &why) < 0) {
		(void)tool_fail(out, a, "%.*s: %s after %zu of %zu bytes", STRF(shown), why.msg,
				done, content.n);
		out->not_run = false;
		return OK;
	}
	out->text = arena_fmt(a, "%s %zu bytes to %.*s", mode == APPEND ? "appended" : "wrote",
			      content.n, STRF(shown));
	return OK;
}

const struct tool tool_write_file = {
	.name = "write_file",
	.title = "Write a file",
	.description = "Write a text file; missing directories are made. mode overwrite (the "
		       "default) replaces it, append adds to its end, create_new refuses when "
		       "it exists.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"path\":{\"type\":\"string\",\"description\":\"File to write; relative "
		  "paths start at the workspace\"},"
		  "\"content\":{\"type\":\"string\"},"
		  "\"mode\":{\"type\":\"string\",\"enum\":[\"overwrite\",\"append\","
		  "\"create_new\"]}},"
		  "\"required\":[\"path\",\"content\"],\"additionalProperties\":false}",
	.safe = false,
	.enabled = tools_fs_enabled,
	.run = run,
};
