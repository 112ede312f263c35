/*
 * self_note: the agent writes down how to be with its person.  Only its own file is written,
 * one line at a time, and never more than a page of them.
 */
#include "tools/builtin.h"

#include "os/file.h"
#include "os/path.h"
#include "os/wait.h"
#include "text/text.h"

#define NOTE_CHARS 300
#define LOCK_LOOK_MS 20

static bool enabled(const struct tools_opt *opt)
{
	SCOPED(arena_free) struct arena a = { 0 };

	return opt->self_path.n && dir_writable(path_dir(&a, opt->self_path).p);
}

int tool_self_lock(int *fd, str path, const struct cancel *c, struct err *e)
{
	int rc;

	*fd = -1;
	if (!path.n)
		return OK;
	while ((rc = lock_take(fd, path.p, e)) == E_BUSY)
		if ((rc = wait_ms(LOCK_LOOK_MS, c, e)) < 0)
			return rc;
	return rc;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	str note = str_trim(json_str(args, "note"));
	SCOPED(fd_drop) int lock = -1;
	struct err why = { 0 };
	int rc = cancel_check(c, e);

	if (rc < 0)
		return rc;
	if (note.n == 0)
		return tool_fail(out, a, "note is missing; it must be text");
	str line = text_line(a, note, NOTE_CHARS);
	if (!str_eq(line, text_line(a, note, note.n + 1)))
		return tool_fail(out, a, "a note has at most %d characters", NOTE_CHARS);
	/* Else it would be lost when they are being shortened. */
	if ((rc = tool_self_lock(&lock, env->opt->self_lock, c, e)) < 0)
		return rc;
	rc = file_append(env->opt->self_path.p, arena_fmt(a, "- %.*s\n", STRF(line)),
			 TOOL_SELF_MAX, 0600, &why);
	if (rc == E_LIMIT)
		return tool_fail(out, a,
				 "the notes are full; they are shortened when a conversation "
				 "begins afresh");
	if (rc < 0)
		return tool_fail(out, a, "%s", why.msg);
	out->text = S("noted; it is part of your persona from the next conversation on");
	return OK;
}

const struct tool tool_self_note = {
	.name = "self_note",
	.title = "Note how to be",
	.description =
		"Keep one short note on how you should be with this person: tone, habits, "
		"jokes that work. Facts belong into memory.",
	.schema = "{\"type\":\"object\",\"properties\":{\"note\":{\"type\":\"string\"}},"
		  "\"required\":[\"note\"],\"additionalProperties\":false}",
	.safe = false,
	.enabled = enabled,
	.run = run,
};
