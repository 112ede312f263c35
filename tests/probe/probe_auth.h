/*
 * How mcp-probe signs in: as the person at an authorization server that asks
 * nobody.  Everything it gets is gone at its end.
 */
#ifndef PROBE_PROBE_AUTH_H
#define PROBE_PROBE_AUTH_H

#include "cli/cli.h"
#include "mcp/manifest.h"

struct probe_auth {
	struct cli *cli;
	struct config *config;
	struct mcp_server_cfg *server;
	struct env env; /* with what the context brings */
	str dir; /* in place of the data directory */
	int tries;
};

/* What MCP_CONFORMANCE_CONTEXT says of a client goes into server->auth and .env; config's data
 * directory becomes a new one.  All are borrowed. */
int probe_auth_begin(struct probe_auth *p, struct cli *cli, struct config *config,
		     struct mcp_server_cfg *server, struct err *e) MUSTUSE;

/* Something failed: was it that a person has to sign in, and did that go well?  Then try again;
 * no more than three times. */
bool probe_auth_again(struct probe_auth *p);

void probe_auth_end(struct probe_auth *p);

#endif
