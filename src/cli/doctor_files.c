/*
 * The rows about files and directories that the configuration names: are they there, may we use
 * them, may others.
 */
#include "cli/doctor.h"

#include "config/options.h"
#include "os/file.h"
#include "os/path.h"

#define PROMPT_MAX ((size_t)4 << 20)
#define NAMES_MAX 1000

/* What others may do with a file that is for its owner only.  The advice is the same for all. */
static bool judge_mode(struct doctor *d, str path, unsigned mask, const char *what)
{
	unsigned mode = 0;

	if (!path.n || path_kind(path.p, &mode) == PATH_NONE || !(mode & mask))
		return false;
	bool writable = (mode & 02) != 0;
	doctor_say(d, writable ? DOCTOR_FAIL : DOCTOR_WARN,
		   arena_fmt(d->a, "chmod go-rwx %.*s", STRF(path)).p,
		   "%s %.*s can be %s by every user of this machine (mode %03o)", what,
		   STRF(path), writable ? "changed" : "read", mode & 0777);
	return true;
}

/* The file of a secret, out of what `config show` says of it. */
static str secret_file(struct doctor *d, size_t row)
{
	str text = d->cfg->settings[row].text, mark = S("<set:file:");

	return options[row].type == OPT_SECRET && str_starts(text, mark)
		       ? arena_dup(d->a, str_sub(text, mark.n, text.n - 1))
		       : S("");
}

void doctor_permissions(struct doctor *d)
{
	const struct config *c = d->cfg;
	bool bad = judge_mode(d, c->path, 06, "the configuration");

	bad = judge_mode(d, c->mcp.manifest, 02, "the manifest") || bad;
	for (size_t i = 0; i < options_n; i++)
		bad = judge_mode(d, secret_file(d, i), 06, "the secret") || bad;
	bad = judge_mode(d, c->store.dsn, 06, "the database") || bad;
	bad = judge_mode(d, c->store.data_dir, 02, "the data directory") || bad;
	bad = judge_mode(d, c->log.file, 06, "the log") || bad;
	if (!bad)
		doctor_say(d, DOCTOR_OK, NULL,
			   "configuration, secrets and data are their owner's alone");
}

/* What is used is made when it is first used, where that can be done. */
static void say_directory(struct doctor *d, str path, const char *key)
{
	str there = path_existing(d->a, path);

	if (path_kind(there.p, NULL) != PATH_DIR)
		doctor_say(d, DOCTOR_FAIL, arena_fmt(d->a, "move it away, or set %s", key).p,
			   "%.*s is no directory", STRF(there));
	else if (!dir_writable(there.p))
		doctor_say(d, DOCTOR_FAIL,
			   arena_fmt(d->a,
				     "give it to the user that runs gantry (chown), or set %s",
				     key)
				   .p,
			   "%.*s cannot be written", STRF(there));
	else if (there.n < path.n)
		doctor_say(d, DOCTOR_INFO, NULL, "%.*s is not there yet, and can be made",
			   STRF(path));
	else
		doctor_say(d, DOCTOR_OK, NULL, "%.*s", STRF(path));
}

void doctor_workspace(struct doctor *d)
{
	if (d->cfg->agent.workspace.n)
		say_directory(d, d->cfg->agent.workspace, "agent.workspace");
	else
		doctor_say(d, DOCTOR_INFO, NULL, "there is none");
}

void doctor_cwd(struct doctor *d)
{
	if (!d->cfg->exec.enabled)
		doctor_say(d, DOCTOR_SKIP, NULL, "exec is off");
	else if (d->cfg->exec.cwd.n)
		say_directory(d, d->cfg->exec.cwd, "tools.exec.cwd");
	else
		doctor_say(d, DOCTOR_OK, NULL, "commands start in the workspace");
}

void doctor_roots(struct doctor *d)
{
	const struct fs_cfg *fs = &d->cfg->fs;
	bool bad = false;

	if (!fs->enabled) {
		doctor_say(d, DOCTOR_SKIP, NULL, "the file tools are off");
		return;
	}
	for (size_t i = 0; i < fs->roots.n; i++) {
		str root = fs->roots.v[i];
		if (path_kind(arena_cstr(d->a, root), NULL) == PATH_DIR)
			continue;
		bad = true;
		doctor_say(d, DOCTOR_FAIL, "make it, or take it out of tools.filesystem.roots",
			   "%.*s is no directory", STRF(root));
	}
	if (!bad)
		doctor_say(d, DOCTOR_OK, NULL, "%zu %s", fs->roots.n,
			   fs->roots.n ? "can be reached by the file tools"
				       : "named: the file tools work in the workspace");
}

/* The pages of the persona, which are its .md files. */
static size_t pages(struct doctor *d, str dir)
{
	size_t n = 0, all = 0;
	str *names;

	if (!dir.n || dir_list(&names, &all, d->a, arena_cstr(d->a, dir), NAMES_MAX, NULL) < 0)
		return 0;
	for (size_t i = 0; i < all; i++)
		n += names[i].n > 3 &&
		     str_ieq(str_sub(names[i], names[i].n - 3, names[i].n), S(".md"));
	return n;
}

void doctor_prompts(struct doctor *d)
{
	const struct agent_cfg *c = &d->cfg->agent;
	size_t bad = 0;

	for (size_t i = 0; i < c->prompt_files.n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct err e = { 0 };
		str text;
		if (file_read(&text, &a, arena_cstr(&a, c->prompt_files.v[i]), PROMPT_MAX,
			      &e) == OK)
			continue;
		bad++;
		doctor_say(d, DOCTOR_FAIL, "write it, or take it out of system_prompt_files",
			   "%s", e.msg);
	}
	if (c->persona_dir.n && path_kind(c->persona_dir.p, NULL) != PATH_DIR) {
		bad++;
		doctor_say(d, DOCTOR_WARN, "gantry init writes a first persona",
			   "%.*s is no directory: the agent has no persona",
			   STRF(c->persona_dir));
	}
	if (!bad)
		doctor_say(d, DOCTOR_OK, NULL,
			   "persona %.*s with %zu .md files; system_prompt_files names %zu",
			   STRF(c->persona_dir.n ? c->persona_dir : S("none")),
			   pages(d, c->persona_dir), c->prompt_files.n);
}
