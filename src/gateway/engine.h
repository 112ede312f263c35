/*
 * gateway/engine: everything a process needs to run turns, opened in order and closed in
 * reverse: store, HTTP pool, model, tool servers, tools, agent.  The daemon, the chat, a
 * single prompt and the tool commands are all made of one engine.
 *
 * Threads  open and close from main; the members as their headers say.
 */
#ifndef GATEWAY_ENGINE_H
#define GATEWAY_ENGINE_H

#include "agent/agent.h"
#include "gateway/turns.h"
#include "os/wait.h"

struct engine {
	struct arena arena;
	const struct config *cfg;
	const struct env *env;
	struct cancel root; /* aborts everything: shutdown after the grace */
	struct cancel stop; /* no new work; a child of root */
	struct store *store;
	struct http_pool *pool;
	struct model *model;
	struct model *classifier; /* mode auto only */
	struct model_cfg classifier_cfg;
	struct mcp_host *host;
	struct tools *tools;
	struct agent *agent;
	struct tool_source mcp_source;
	bool daemon; /* it does what chats wait for */
	struct turns turns;
	struct bell inbox, outbox, control, clock; /* for workers, deliverers, main, clock */
	struct bell system; /* for the system worker */
};

struct engine_opt {
	enum store_mode mode;
	bool model; /* the endpoint is needed */
	bool no_tools; /* for asking only: no servers and no tools */
	bool store_only; /* for delivering: no model, servers, tools or agent */
};

/* cfg and env are borrowed for its life.  E_BUSY another daemon, and all that the parts
 * can say. */
int engine_open(struct engine *g, const struct config *cfg, const struct env *env,
		const struct engine_opt *opt, struct err *e) MUSTUSE;
void engine_close(struct engine *g);

/* Take the manifest again, and cfg's reloadable options with the persona.  cfg is taken
 * over on OK.  What failed keeps its old state. */
int engine_reload(struct engine *g, struct config *cfg, struct err *e) MUSTUSE;

/* Wait for the tool servers' first lists and hold them against the limit of schema tokens:
 * E_LIMIT over it.  Without a limit it returns at once. */
int engine_check_schema(struct engine *g, struct err *e) MUSTUSE;

#endif
