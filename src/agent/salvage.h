/*
 * agent/salvage: small models print a tool call instead of making it.  Pure.
 */
#ifndef AGENT_SALVAGE_H
#define AGENT_SALVAGE_H

#include "tools/tools.h"

/* Is the whole answer one printed call of a published tool (or of a name with "__")?  Forms:
 * a JSON object with a name and arguments, bare, fenced or in <tool_call> tags.  Prose that
 * mentions a tool, and JSON that is an answer, are left alone. */
bool salvage_call(str answer, const struct toolset *set, struct arena *a, str *name, str *args);

/* Could the text so far become such a call?  Then it is not shown while it streams. */
bool salvage_hold(str answer_so_far);

#endif
