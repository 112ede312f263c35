/*
 * tools/resources: what the two tools for the resources of servers share.
 */
#ifndef TOOLS_RESOURCES_H
#define TOOLS_RESOURCES_H

#include "mcp/host.h"
#include "tools/builtin.h"

#define RESOURCE_TIMEOUT_MS 30000

/* The tools are on, and there are servers. */
bool resources_enabled(const struct tools_opt *opt);

/* The manifest's name of the server that is meant: by it, by what stands before "__" in the names
 * of its tools, or with "" the only one that has resources.  E_NOENT says which there are. */
int resources_server(const struct tool_env *env, str given, struct arena *a, str *name,
		     struct err *e) MUSTUSE;

/* Ask a server; members is "" or JSON members ("\"uri\":\"x\"").  E_CANCELED and E_TIMEOUT: c ended;
 * any other code: what to tell the model. */
int resources_ask(const struct tool_env *env, str server, const char *method, str members,
		  struct arena *a, const struct json **result, const struct cancel *c,
		  struct err *e) MUSTUSE;

#endif
