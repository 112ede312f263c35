/*
 * config/confine: what children are held to under a configuration.
 *
 *   strict   read and execute the system and the workspace; write the workspace, the roots of
 *            the file tools, what is listed, and a private temporary directory
 *   compat   everything but the data directory, the configuration, the manifest and the files
 *            of secrets
 *   off      nothing
 *
 * The result is plain data for proc_start().  Paths are looked up when the child starts.
 */
#ifndef CONFIG_CONFINE_H
#define CONFIG_CONFINE_H

#include "config/load.h"
#include "os/sandbox.h"

/* The sandbox that s asks for, in a; NULL when it is off.  program: a file the child needs
 * though it lies outside the system, or "".  Caches that are granted are made if they are not
 * there. */
const struct sandbox *config_sandbox(struct arena *a, const struct config *c,
				     const struct env *env, const struct sandbox_cfg *s,
				     str program);

/* For one child: box with a temporary directory of its own, when it has one, whose name is also
 * put in *env as TMPDIR, and PATH only has directories from which it can execute.  box may
 * be NULL. */
const struct sandbox *config_sandbox_child(struct arena *a, const struct sandbox *box,
					   const char *const **env);

/* One line for people: the profile, what is in force, and what this kernel lacks. */
str config_sandbox_text(struct arena *a, const struct sandbox_cfg *s,
			const struct sandbox *box);

bool config_sandbox_granted(const struct sandbox_cfg *s, str name);

#endif
