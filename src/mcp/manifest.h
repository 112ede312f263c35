/*
 * mcp/manifest: which servers to run, from TOML ([[server]]) or the ecosystem's JSON form
 * ({"mcpServers": {...}}), told apart by the first byte that is not white space.
 *
 * Unknown keys warn, and so do those that such a server has no use for; inside "sandbox",
 * "auth" and "sampling" unknown ones are errors: each might have been a limit.  Errors name
 * file, line and server.
 */
#ifndef MCP_MANIFEST_H
#define MCP_MANIFEST_H

#include "base/arena.h"
#include "base/err.h"
#include "config/config.h"
#include "mcp/auth_cfg.h"
#include "mcp/http_cfg.h"
#include "mcp/sampling_cfg.h"

struct mcp_server_cfg {
	str name;
	str command; /* "": behind http.url */
	struct str_list args;
	/* A person signs in to it with this command ("": command) and these arguments. */
	str auth_command;
	struct str_list auth_args;
	struct str_list env; /* "K=V" */
	struct str_list tools, exclude; /* allow by exact name; deny by name or glob */
	str tools_prefix; /* "": the name */
	str cwd;
	int64_t timeout_ms; /* per call; 0: the default */
	bool trusted;
	bool inherit_env, has_inherit_env;
	struct mcp_http_cfg http;
	struct mcp_auth_cfg auth;
	struct mcp_sampling_cfg sampling;
	str log_level; /* a word of the protocol; "": by the level of our log */
	struct str_list roots; /* absolute paths; none: the workspace */
	struct sandbox_cfg box; /* profile "": as free as the daemon is */
};

struct mcp_manifest {
	const struct mcp_server_cfg *servers;
	size_t n;
	struct str_list warnings;
};

/* A missing file is OK with no servers when optional, else E_NOENT. */
int mcp_manifest_load(struct mcp_manifest *out, struct arena *a, const char *path,
		      bool optional, struct err *e) MUSTUSE;

#endif
