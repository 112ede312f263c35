/*
 * The persona.  User files are read, never written; what is too large or unreadable is
 * skipped with a warning rather than taking the agent down.
 */
#include "agent/persona.h"

#include "base/buf.h"
#include "config/options.h"
#include "os/file.h"
#include "os/log.h"
#include "os/path.h"

#define FILE_MAX (256u << 10)
#define PERSONA_MAX (1u << 20)
#define FILES_MAX 200

static const char *const known[] = {
	"SOUL.md",  "IDENTITY.md",  "USER.md",      "AGENTS.md",
	"TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md",
};

static bool is_known(str name)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (str_eq(name, str_of(known[i])))
			return true;
	return false;
}

static bool is_markdown(str name)
{
	return name.n > 3 && str_ieq(str_sub(name, name.n - 3, name.n), S(".md"));
}

static void add_file(struct buf *b, struct arena *a, str dir, str name)
{
	str path =
		dir.n ? arena_fmt(a, "%.*s/%.*s", STRF(dir), STRF(name)) : arena_dup(a, name);
	struct err e = { 0 };
	str text;

	int rc = file_read(&text, a, path.p, FILE_MAX, &e);
	if (rc < 0) {
		/* One bad file does not take the agent down. */
		log_warn("persona.skipped", "file=%s why=%.*s", path.p,
			 STRF(log_q(a, str_of(e.msg))));
		return;
	}
	text = str_trim(text);
	if (text.n == 0)
		return;
	if (b->n)
		buf_add(b, S("\n\n"));
	buf_add(b, text);
}

/* One that was asked for by name is missed; the usual place may well be empty. */
static void say_missing(const struct config *cfg, struct arena *a)
{
	size_t row = option_find(S("agent.persona_dir"));
	bool named = cfg->settings && row != SIZE_MAX && cfg->settings[row].set;
	str dir = log_q(a, cfg->agent.persona_dir);

	if (named)
		log_warn("persona.missing",
			 "dir=%.*s hint=\"it does not exist, so the agent has no persona\"",
			 STRF(dir));
	else
		log_info("persona.missing", "dir=%.*s", STRF(dir));
}

static int load_dir(struct buf *b, struct arena *a, const struct config *cfg, struct err *e)
{
	str dir = cfg->agent.persona_dir;
	str *names;
	size_t n;
	int rc = dir_list(&names, &n, a, dir.p, FILES_MAX, e);

	if (rc == E_NOENT && path_exists(dir.p))
		return err_set(e, E_INVAL, "persona %s: not a directory", dir.p);
	if (rc == E_NOENT) {
		say_missing(cfg, a);
		return OK;
	}
	if (rc < 0)
		return err_wrap(e, rc, "persona %s", dir.p);
	for (size_t k = 0; k < COUNT(known); k++)
		for (size_t i = 0; i < n; i++)
			if (str_eq(names[i], str_of(known[k])))
				add_file(b, a, dir, names[i]);
	for (size_t i = 0; i < n; i++)
		if (is_markdown(names[i]) && !is_known(names[i]))
			add_file(b, a, dir, names[i]);
	return OK;
}

static void add_identity(struct buf *b, const struct config *cfg)
{
	buf_fmt(b, "You are %.*s, a personal assistant for one person.", STRF(cfg->agent.name));
	if (cfg->fs.enabled && cfg->agent.workspace.n) {
		buf_fmt(b, "\n\nYour workspace is %.*s.", STRF(cfg->agent.workspace));
		buf_add(b, S(" The file tools reach:"));
		for (size_t i = 0; i < cfg->fs.roots.n; i++)
			buf_fmt(b, "%s %.*s", i ? "," : "", STRF(cfg->fs.roots.v[i]));
		buf_add(b, S("."));
	}
	buf_add(b, S("\n\nAnswer in the user's language and keep it short enough for a phone. "
		     "When "
		     "there is nothing to say, reply exactly NO_REPLY."));
}

int persona_load(str *out, struct arena *a, const struct config *cfg, struct err *e)
{
	struct buf b = buf_in(a, PERSONA_MAX);
	int rc;

	if (cfg->file_mode)
		add_identity(&b, cfg);
	if (cfg->agent.persona_dir.n && (rc = load_dir(&b, a, cfg, e)) < 0)
		return rc;
	for (size_t i = 0; i < cfg->agent.prompt_files.n; i++)
		add_file(&b, a, (str){ 0 }, cfg->agent.prompt_files.v[i]);
	if (b.full)
		return err_set(e, E_LIMIT, "persona: over %u bytes in all", PERSONA_MAX);
	*out = buf_str(&b);
	return OK;
}
