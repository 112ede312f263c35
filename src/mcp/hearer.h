/*
 * mcp/hearer: what a server says, brought to whom it concerns.  The session decides what a
 * message means; what comes of it is done here, the same for a pipe and for HTTP, and what is
 * to be said in return is collected until the link sends it.
 *
 * Threads  the server's.
 * Owns     the session and all that is of it; opt is borrowed.
 * Limits   what waits to be sent <= 1 MiB.
 */
#ifndef MCP_HEARER_H
#define MCP_HEARER_H

#include "mcp/link.h"
#include "mcp/noise.h"
#include "mcp/notices.h"

struct mcp_hearer {
	const struct mcp_link_opt *opt;
	struct mcp_session session;
	struct mcp_notices notices;
	struct mcp_noise logs;
	struct arena out_arena;
	struct buf out; /* whole lines of the session that wait to be sent */
	bool was_ready; /* since init, in any session */
	/* What of a list of tools is left out, before anybody sees it.  NULL: nothing. */
	void (*sift)(void *arg, struct mcp_listing *listing);
	void *arg;
};

/* secrets, borrowed: what the log must not show. */
void mcp_hearer_init(struct mcp_hearer *h, const struct mcp_link_opt *opt, const str *secrets,
		     size_t secrets_n);
void mcp_hearer_done(struct mcp_hearer *h);

/* Another session, before its first word; and that. */
void mcp_hearer_anew(struct mcp_hearer *h);
void mcp_hearer_begin(struct mcp_hearer *h);

/* A message came, for the call with that id where that is known, else 0.  line's arena, in
 * which m lives, is taken over by whoever waits for it.  Below 0: the session is over. */
int mcp_hearer_take(struct mcp_hearer *h, const struct mcp_msg *m, int64_t call,
		    struct arena *line, struct err *e) MUSTUSE;

/* Nobody will answer request id: as if the server had, with this error, an object. */
int mcp_hearer_fail(struct mcp_hearer *h, int64_t id, str error, struct err *e) MUSTUSE;

/* What waits to be sent, in *batch, which is the caller's from here on; "" nothing. */
str mcp_hearer_send(struct mcp_hearer *h, struct arena *batch);

/* Time has passed: collected notices are told. */
void mcp_hearer_tick(struct mcp_hearer *h, int64_t now_ms);

/* When there is something to do, of the session too; INT64_MAX: never. */
int64_t mcp_hearer_due(const struct mcp_hearer *h, bool idle);

/* The resources that are watched may be others now. */
void mcp_hearer_watch(struct mcp_hearer *h);

/* A line of the log about this server. */
void mcp_hearer_remark(const struct mcp_hearer *h, str text);

#endif
