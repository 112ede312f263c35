/*
 * agent/persona: who the agent is, from files.
 */
#ifndef AGENT_PERSONA_H
#define AGENT_PERSONA_H

#include "config/config.h"

/* Env mode: the *.md files of the directory, known names first, in a fixed order.  File
 * mode: name, workspace, the listed prompt files, conventions.  A missing directory is an
 * empty persona; an unreadable one an error. Problems that do not stop it are logged. */
int persona_load(str *out, struct arena *a, const struct config *cfg, struct err *e) MUSTUSE;

#endif
