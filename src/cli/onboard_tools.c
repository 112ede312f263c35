/*
 * Onboarding: where the agent works, what it may do, and what time it is there.
 */
#include "cli/onboard.h"

#include "base/path.h"
#include "config/find.h"
#include "config/zones.h"
#include "os/path.h"
#include "text/text.h"

#include <string.h>

str onboard_path(const struct onboard *o, str path)
{
	str out = { 0 };

	return path_absolute(&out, o->a, path, env_get(&o->cli->env, "HOME"), path_cwd(o->a),
			     NULL) == OK
		       ? out
		       : S("");
}

/* --- the workspace ------------------------------------------------------------------ */

/* Why it cannot be the workspace; NULL when it can. */
static const char *unfit(const struct onboard *o, str path)
{
	str data = config_xdg(o->a, &o->cli->env, "XDG_DATA_HOME", ".local/share");
	str parent, rel;

	if (!path.n)
		return "is no path";
	parent = path_existing(o->a, path);
	for (size_t i = 0; i < path.n; i++)
		if ((unsigned char)path.p[i] < ' ' || path.p[i] == 0x7f)
			return "has a control character in its name";
	if (data.n)
		data = arena_cat(o->a, data, S("/gantry"));
	if (path_below(path, o->dir, &rel) || (data.n && path_below(path, data, &rel)))
		return "would hold gantry's own files, which the agent must not see";
	if (path_below(arena_cat(o->a, o->dir, S("/secrets")), path, &rel) ||
	    path_below(arena_cat(o->a, o->dir, S("/persona")), path, &rel) ||
	    (data.n && path_below(data, path, &rel)))
		return "lies inside a directory of gantry's own files";
	if (path_kind(parent.p, NULL) != PATH_DIR)
		return "is not a directory";
	if (!dir_writable(parent.p))
		return path.n == parent.n ? "cannot be written to" : "cannot be made there";
	return NULL;
}

/* As one writes it: ~ for the home directory. */
static str shown(const struct onboard *o, str path)
{
	str home = env_get(&o->cli->env, "HOME"), rel;

	return home.n && path_below(home, path, &rel) && !str_eq(rel, S("."))
		       ? arena_fmt(o->a, "~/%.*s", STRF(rel))
		       : path;
}

int onboard_workspace(struct onboard *o, struct err *e)
{
	const char *flag = o->flags.workspace;
	str def = o->workspace.n ? shown(o, o->workspace)
		  : flag         ? str_of(flag)
		  : env_get(&o->cli->env, "HOME").n
			  ? S("~/gantry-workspace")
			  : arena_fmt(o->a, "%.*s-workspace", STRF(o->dir));
	str answer;
	int rc;

	ask_note(&o->ask,
		 "\nThe workspace is the one directory whose files the agent may touch.");
	for (;;) {
		const char *bad;
		str path;
		if ((rc = ask_line(&o->ask, "Workspace", def, &answer, e)) != OK)
			return rc;
		path = onboard_path(o, answer);
		if (!(bad = unfit(o, path))) {
			o->workspace = path;
			return OK;
		}
		if ((rc = ask_again(&o->ask, e, "%s %s; choose another directory",
				    text_line(o->a, path.n ? path : answer, 200).p, bad)) < 0)
			return rc;
	}
}

/* --- tools -------------------------------------------------------------------------- */

struct tool_row {
	const char *word, *question;
	bool *on;
	bool def;
};

static int by_flag(struct onboard *o, struct tool_row *rows, size_t n, struct err *e)
{
	str rest = str_of(o->flags.tools);

	for (size_t i = 0; i < n; i++)
		*rows[i].on = false;
	while (rest.n) {
		str word = str_trim(str_cut(&rest, ','));
		bool known = !word.n || str_eq(word, S("none"));
		for (size_t i = 0; i < n; i++)
			if (str_eq(word, str_of(rows[i].word))) {
				*rows[i].on = true;
				known = true;
			}
		if (!known)
			return err_set(
				e, E_INVAL,
				"--tools: there is no %.*s; say files, web, exec, memory, "
				"cron or none",
				STRF(text_line(o->a, word, 40)));
	}
	return OK;
}

int onboard_tools(struct onboard *o, struct err *e)
{
	struct tool_row rows[] = {
		{ "files", "Read and write files in the workspace?", &o->files, true },
		{ "web", "Fetch pages of the public web?", &o->web, true },
		{ "exec", "Run commands, in the strict sandbox, each asked about first?",
		  &o->exec, false },
		{ "memory", "Remember things across conversations?", &o->memory, true },
		{ "cron", "Reminders and schedules?", &o->cron, true },
	};
	int rc;

	for (size_t i = 0; i < COUNT(rows) && !o->tools_known; i++)
		*rows[i].on = rows[i].def;
	if (o->flags.tools && !o->tools_known && (rc = by_flag(o, rows, COUNT(rows), e)) < 0)
		return rc;
	o->tools_known = true; /* from here on what was answered last is the default */
	ask_note(&o->ask, "\nWhat may it do?");
	for (size_t i = 0; i < COUNT(rows); i++)
		if ((rc = ask_yes(&o->ask, rows[i].question, *rows[i].on, rows[i].on, e)) != OK)
			return rc;
	return OK;
}

/* --- tool servers ------------------------------------------------------------------- */

static bool choose_server(struct onboard *o, str word)
{
	int64_t number = 0;
	bool numbered = str_i64(word, &number);

	for (size_t i = 0; i < server_presets_n; i++)
		if (numbered ? number == (int64_t)i + 1
			     : str_ieq(word, str_of(server_presets[i].name))) {
			o->servers[i] = true;
			return true;
		}
	return str_ieq(word, S("none"));
}

/* The first word that is no server, "" when all are. */
static str choose_servers(struct onboard *o, str answer)
{
	memset(o->servers, 0, sizeof o->servers);
	while (answer.n) {
		str word = str_trim(str_cut(&answer, ','));
		while (word.n) {
			str one = str_cut(&word, ' ');
			if (one.n && !choose_server(o, one))
				return one;
		}
	}
	return S("");
}

/* Those that are chosen, as one types them. */
static str chosen_servers(const struct onboard *o)
{
	str names = S("");

	for (size_t i = 0; i < server_presets_n; i++)
		if (o->servers[i])
			names = arena_fmt(o->a, "%.*s%s%s", STRF(names), names.n ? "," : "",
					  server_presets[i].name);
	return names.n ? names : S("none");
}

int onboard_servers(struct onboard *o, struct err *e)
{
	str def = o->servers_known ? chosen_servers(o)
		  : o->flags.mcp   ? str_of(o->flags.mcp)
				   : S("none");
	str answer, bad;
	int rc;

	ask_note(&o->ask,
		 "\nMCP servers bring more tools; mcp.toml lists them. Some to begin with:");
	for (size_t i = 0; i < server_presets_n; i++) {
		const struct server_preset *p = &server_presets[i];
		ask_note(&o->ask, "  %zu  %-11s %s%s", i + 1, p->name, p->title,
			 cli_which(&o->cli->env, o->a, str_of(p->command)).n
				 ? ""
				 : arena_fmt(o->a, " (needs %s, which is not here yet)",
					     p->command)
					   .p);
	}
	for (;;) {
		if ((rc = ask_line(&o->ask, "Servers, by numbers or names", def, &answer, e)) !=
		    OK)
			return rc;
		bad = choose_servers(o, answer);
		o->servers_known = !bad.n;
		if (!bad.n)
			return OK;
		if ((rc = ask_again(&o->ask, e,
				    "there is no server \"%s\" in the list; write others into "
				    "mcp.toml later",
				    text_line(o->a, bad, 40).p)) < 0)
			return rc;
	}
}

/* --- the zone ----------------------------------------------------------------------- */

int onboard_zone(struct onboard *o, struct err *e)
{
	str def = o->zone.n ? o->zone : o->flags.zone ? str_of(o->flags.zone) : S("Local");
	const struct zone *z;
	str answer;
	int rc;

	ask_note(&o->ask, "%s", "");
	for (;;) {
		if ((rc = ask_line(&o->ask,
				   "Time zone, as in Europe/Berlin; Local is this machine's",
				   def, &answer, e)) != OK)
			return rc;
		if (zone_load(&z, o->a, answer, NULL, NULL) == OK) {
			o->zone = answer;
			return OK;
		}
		if ((rc = ask_again(&o->ask, e,
				    "there is no time zone \"%s\"; they are called as in "
				    "America/New_York",
				    text_line(o->a, answer, 40).p)) < 0)
			return rc;
	}
}
