/*
 * list_dir: the entries of a directory, sorted, some levels deep.  Links are named and never
 * followed.
 */
#include "base/utf.h"
#include "os/file.h"
#include "text/text.h"
#include "tools/builtin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define SHOWN 200
#define DEPTH_MAX 8
#define ENTRIES_MAX 2000
#define NAMES_MAX 20000 /* read from one directory to sort them */
#define TEXT_MAX ((size_t)4 << 20)

struct walk {
	struct arena *a;
	struct buf out;
	size_t entries;
	bool cut;
	int depth; /* levels to show */
	const struct cancel *c;
	struct err *e;
};

struct names {
	const char **v;
	size_t n, room;
};

static void dir_drop(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static int by_name(const void *x, const void *y)
{
	return str_cmp(str_of(*(const char *const *)x), str_of(*(const char *const *)y));
}

/* The names in *fd, which is consumed. */
static int read_names(struct walk *w, int *fd, DIR **d, struct names *out)
{
	struct dirent *entry;

	*d = fdopendir(*fd);
	if (!*d)
		return err_sys(w->e, "cannot list it");
	*fd = -1;
	while (errno = 0, (entry = readdir(*d))) {
		str name = str_of(entry->d_name);
		if (str_eq(name, S(".")) || str_eq(name, S("..")))
			continue;
		if (out->n == NAMES_MAX) {
			w->cut = true;
			break;
		}
		if (out->n == out->room) {
			size_t more = out->room ? out->room * 2 : 32;
			out->v = arena_grow(w->a, out->v, out->room * sizeof *out->v,
					    more * sizeof *out->v);
			out->room = more;
		}
		out->v[out->n++] = arena_cstr(w->a, name);
	}
	if (errno != 0)
		return err_sys(w->e, "cannot list it");
	if (out->n > 1)
		qsort(out->v, out->n, sizeof *out->v, by_name);
	return OK;
}

static const char *type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "symlink";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

/* One row; false when the list is full. */
static bool add_row(struct walk *w, int level, const char *name, const struct stat *st)
{
	if (w->entries == ENTRIES_MAX || w->out.full) {
		w->cut = true;
		return false;
	}
	w->entries++;
	for (int i = 0; i < level; i++)
		buf_add(&w->out, S("  "));
	buf_add(&w->out, text_visible(w->a, utf_repair(w->a, str_of(name)), true));
	buf_fmt(&w->out, "\t%s\t%lld\n", type_of(st->st_mode),
		S_ISREG(st->st_mode) ? (long long)st->st_size : 0LL);
	return true;
}

static int walk_dir(struct walk *w, int *fd, int level)
{
	SCOPED(dir_drop) DIR *d = NULL;
	struct names names = { 0 };
	int rc = read_names(w, fd, &d, &names);

	for (size_t i = 0; i < names.n && rc == OK; i++) {
		SCOPED(fd_drop) int sub = -1;
		struct stat st;
		rc = cancel_check(w->c, w->e);
		if (rc < 0 || fstatat(dirfd(d), names.v[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue; /* gone meanwhile */
		if (!add_row(w, level, names.v[i], &st))
			break;
		if (!S_ISDIR(st.st_mode) || level + 1 == w->depth ||
		    beneath_subdir(dirfd(d), names.v[i], &sub, NULL) < 0)
			continue;
		struct err why = { 0 };
		struct err *saved = w->e;
		w->e = &why;
		rc = walk_dir(w, &sub, level + 1);
		w->e = saved;
		/* A directory that cannot be read stays a row. */
		rc = rc == E_CANCELED || rc == E_TIMEOUT ? err_set(w->e, rc, "%s", why.msg)
							 : OK;
	}
	return rc;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int held = -1;
	SCOPED(fd_drop) int fd = -1;
	const struct json *given = json_get(args, "path");
	str path = given && !json_is(given, JSON_NULL) ? json_text(given) : S(".");
	str shown = text_line(a, path, SHOWN);
	struct err why = { 0 };
	int64_t depth;
	struct stat st;

	if (given && !json_is(given, JSON_STRING) && !json_is(given, JSON_NULL))
		return tool_fail(out, a, "path must be text");
	if (!tool_arg_i64(args, "depth", 1, &depth) || depth < 0)
		return tool_fail(out, a, "depth must be a number from 1 to %d", DEPTH_MAX);
	int rc = beneath_look(&env->files, a, path, &held, &st, &why);
	if (rc == E_NOENT && beneath_is_root(&env->files, a, path)) {
		out->text = S("(empty directory)"); /* made by the first write */
		return OK;
	}
	if (rc < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(shown), why.msg);
	if (!S_ISDIR(st.st_mode))
		return tool_fail(out, a, "%.*s is not a directory; use read_file", STRF(shown));
	if (beneath_open(&env->files, held, O_RDONLY | O_DIRECTORY, &fd, &why) < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(shown), why.msg);
	struct walk w = {
		.a = a,
		.out = buf_in(a, TEXT_MAX),
		.depth = depth < 1           ? 1
			 : depth > DEPTH_MAX ? DEPTH_MAX
					     : (int)depth,
		.c = c,
		.e = &why,
	};
	rc = walk_dir(&w, &fd, 0);
	if (rc == E_CANCELED || rc == E_TIMEOUT)
		return err_set(e, rc, "%s", why.msg);
	if (rc < 0)
		return tool_fail(out, a, "%.*s: %s", STRF(shown), why.msg);
	out->truncated = w.cut;
	out->text = w.entries ? buf_str(&w.out) : S("(empty directory)");
	if (w.cut)
		out->text = arena_fmt(a, "%.*s[truncated: %zu entries shown, there are more]",
				      STRF(out->text), w.entries);
	return OK;
}

const struct tool tool_list_dir = {
	.name = "list_dir",
	.title = "List a directory",
	.description = "List a directory: one line an entry with name, type and size in bytes, "
		       "deeper levels indented by two spaces.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"path\":{\"type\":\"string\",\"description\":\"Directory; relative paths "
		  "start at the workspace\"},"
		  "\"depth\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":8,"
		  "\"description\":\"Levels to show, 1 when not given\"}},"
		  "\"additionalProperties\":false}",
	.safe = true,
	.enabled = tools_fs_enabled,
	.run = run,
};
