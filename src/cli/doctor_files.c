/*
 * The rows about files and directories: are they there, may we use them, may others.
 */
#include "cli/doctor.h"

#include "os/path.h"

void doctor_workspace(struct doctor *d)
{
	str path = d->cfg->agent.workspace;

	if (!path.n)
		doctor_say(d, DOCTOR_INFO, NULL, "there is none; commands start in /");
	else if (path_kind(path.p, NULL) != PATH_DIR)
		doctor_say(
			d, DOCTOR_FAIL,
			arena_fmt(d->a, "mkdir -p %.*s, or set agent.workspace", STRF(path)).p,
			"%.*s is no directory", STRF(path));
	else if (!dir_writable(path.p))
		doctor_say(d, DOCTOR_FAIL, "give it to the user that runs gantry (chown)",
			   "%.*s cannot be written", STRF(path));
	else
		doctor_say(d, DOCTOR_OK, NULL, "%.*s", STRF(path));
}
