/*
 * mcp/host: all tool servers of the manifest, each a child process or behind a URL, with a
 * thread of its own.
 *
 * Servers start in parallel and never delay anybody; a bad one is skipped with its reason
 * and retried with back-off.  The catalogue is sorted by published name and stable; the
 * last good list of a server outlives the server (its calls then fail with a clear result).
 *
 * Threads  host calls from any thread, many at once; start, reload and stop from one at a time.
 * Blocks   mcp_host_call() and mcp_host_ready(), both cancellable within 50 ms.
 * Owns     children, threads, pending calls.  Of opt, env, arg and roots are borrowed for its
 *          life; config is read during mcp_host_start() only.
 */
#ifndef MCP_HOST_H
#define MCP_HOST_H

#include "config/load.h"
#include "mcp/call.h"
#include "mcp/manifest.h"
#include "mcp/tool.h"
#include "os/cancel.h"

enum mcp_state { MCP_STARTING, MCP_READY, MCP_FAILED, MCP_STOPPED };

struct mcp_server_status {
	str name;
	enum mcp_state state;
	str note; /* why it failed, or its version */
	str sandbox; /* what it is held to, for people; "" nothing */
	size_t listed, published;
	int64_t restarts, since_ms;
	struct mcp_caps caps; /* of its last handshake */
	const char *revision; /* of the protocol, agreed in it; NULL before */
};

struct mcp_host_opt {
	const struct config *config; /* .mcp, and what config_child_env() needs */
	const struct env *env;
	/* The last good tools/list result of a server, as JSON text, is handed out to be
	 * kept, and asked for at start ("" when there is none).  Called from server threads. */
	int (*save_tools)(void *arg, str server, str json, struct err *e);
	str (*load_tools)(void *arg, str server, struct arena *a);
	/* The catalogue changed.  Any thread.  May be NULL. */
	void (*on_change)(void *arg);
	/* Something of a server's changed: method is notifications/resources/updated,
	 * .../resources/list_changed or .../prompts/list_changed.  Bursts are told once.
	 * From the server's thread; params live for the call, and may be NULL.  May be NULL. */
	void (*on_notice)(void *arg, str server, str method, const struct json *params);
	void *arg;
	str roots; /* directory served as the one root, "" none */
	struct mcp_offer offer;
};

struct mcp_host;

int mcp_host_start(struct mcp_host **out, const struct mcp_host_opt *opt,
		   const struct mcp_manifest *manifest, struct err *e) MUSTUSE;
void mcp_host_stop(struct mcp_host *h); /* stdin EOF, TERM, KILL, in parallel; frees */

/* Replace the manifest: servers that are unchanged keep running.  From one
 * thread at a time; blocks until those that are gone have ended (a few seconds at most).
 * config is read during the call; of its times the one for calls applies to all servers, the
 * others to new ones. */
int mcp_host_reload(struct mcp_host *h, const struct config *config,
		    const struct mcp_manifest *manifest, struct err *e) MUSTUSE;

/* Wait until no server is in its first handshake, or until_ms (monotonic).  E_TIMEOUT then. */
int mcp_host_ready(struct mcp_host *h, int64_t until_ms, const struct cancel *c,
		   struct err *e) MUSTUSE;

/* Copies into a. */
void mcp_host_catalog(struct mcp_host *h, struct arena *a, struct mcp_catalog *out);
void mcp_host_status(struct mcp_host *h, struct arena *a, struct mcp_server_status **out,
		     size_t *n);

/* Call a tool.
 * A failing tool is OK with .failed.  E_NOENT no such server or it is down (the message
 * says why), E_TIMEOUT, E_CANCELED (the server was told), E_IO died in the middle: then
 * result->not_sent says whether the call may have happened. */
int mcp_host_call(struct mcp_host *h, const struct mcp_call *call, struct arena *a,
		  struct mcp_result *result, const struct cancel *c, struct err *e) MUSTUSE;

/* *result, an object in a, is what the server answered.  E_PROTO: it answered with an error,
 * which the message gives; else as mcp_host_call(). */
int mcp_host_request(struct mcp_host *h, const struct mcp_request *request, struct arena *a,
		     const struct json **result, const struct cancel *c, struct err *e) MUSTUSE;

/* A server asks for a completion: what its entry in the manifest says of that, counted against
 * its limits.  E_NOENT no such server, E_DENIED it may not, E_BUSY it asked too often; *out is
 * filled but for the first. */
int mcp_host_sampling(struct mcp_host *h, const struct mcp_question *q, struct arena *a,
		      struct mcp_sampling_cfg *out, struct err *e) MUSTUSE;

#endif
