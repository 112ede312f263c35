/*
 * The rows about commands and what guards them: shell, deny rules, mode, sandbox.
 */
#include "cli/doctor.h"

#include "config/confine.h"
#include "os/path.h"

static bool no_exec(struct doctor *d)
{
	if (!d->cfg->exec.enabled)
		doctor_say(d, DOCTOR_SKIP, NULL, "exec is off");
	return !d->cfg->exec.enabled;
}

void doctor_shell(struct doctor *d)
{
	const struct str_list *shell = &d->cfg->exec.shell;
	str name = shell->n                   ? shell->v[0]
		   : path_exists("/bin/bash") ? S("/bin/bash")
					      : S("/bin/sh");

	if (no_exec(d))
		return;
	str file = cli_which(&d->cli->env, d->a, name);
	if (file.n)
		doctor_say(d, DOCTOR_OK, NULL, "%.*s", STRF(file));
	else
		doctor_say(d, DOCTOR_FAIL,
			   "install it, set tools.exec.shell, or switch tools.exec.enabled off",
			   "the shell %.*s is not there: no command can run", STRF(name));
}

void doctor_deny(struct doctor *d)
{
	const struct policy_cfg *p = &d->cfg->policy;

	if (no_exec(d))
		return;
	if (p->deny_builtin)
		doctor_say(d, DOCTOR_OK, NULL,
			   "the built-in deny rules are on, with %zu of your own", p->deny.n);
	else
		doctor_say(d, DOCTOR_WARN, "set tools.exec.deny_builtin: true",
			   p->deny.n ? "only your own %zu deny rules hold, the built-in ones "
				       "are off"
				     : "there are no deny rules (%zu)",
			   p->deny.n);
}

void doctor_mode(struct doctor *d)
{
	if (no_exec(d))
		return;
	if (str_eq(d->cfg->policy.mode, S("auto")))
		doctor_say(d, DOCTOR_WARN, "tools.exec.mode: approval asks a person",
			   "auto: a model decides which commands run without asking");
	else
		doctor_say(d, DOCTOR_OK, NULL, "%.*s: what no rule allows is asked about",
			   STRF(d->cfg->policy.mode));
}

/* Without either nothing finds the descendants that left their group (os/spawner). */
static void judge_killing(struct doctor *d)
{
	if (!path_exists("/proc/self") && sandbox_kernel().landlock < 6)
		doctor_say(d, DOCTOR_WARN, "mount /proc",
			   "without /proc and Landlock 6 only the group of a child is ended "
			   "with it");
}

void doctor_sandbox(struct doctor *d)
{
	struct sandbox_cfg s = d->cfg->exec.sandbox;
	const struct sandbox *box;

	judge_killing(d);
	if (no_exec(d))
		return;
	s.grants.n = 0; /* looking at them would make their directories */
	box = config_sandbox(d->a, d->cfg, &d->cli->env, &s, S(""));
	str text = config_sandbox_text(d->a, &s, box);
	if (!box) {
		doctor_say(d, DOCTOR_WARN, "set tools.exec.sandbox.profile: strict",
			   "off: commands may do whatever gantry's user may");
		return;
	}
	bool lacks = sandbox_missing(d->a, box, sandbox_kernel()).n > 0;
	if (lacks && s.require)
		doctor_say(d, DOCTOR_FAIL,
			   "use a kernel with Landlock (5.13 or newer), or set "
			   "tools.exec.sandbox.require: false",
			   "%.*s", STRF(text));
	else if (lacks)
		doctor_say(d, DOCTOR_WARN, "a newer kernel holds commands to more", "%.*s",
			   STRF(text));
	else if (!str_eq(s.profile, S("strict")))
		doctor_say(d, DOCTOR_WARN,
			   "tools.exec.sandbox.profile: strict also keeps commands from "
			   "your other files",
			   "%.*s", STRF(text));
	else
		doctor_say(d, DOCTOR_OK, NULL, "%.*s", STRF(text));
}
