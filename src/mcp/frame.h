/*
 * mcp/frame: one message on its way to a server: a line of its pipe, or the body of a
 * request over HTTP.  Pure.
 *
 * A request is left open behind its params: how they end says the revision that the server
 * speaks, which is known only when the frame is written.
 */
#ifndef MCP_FRAME_H
#define MCP_FRAME_H

#include "mcp/call.h"

/* Owns itself. */
struct mcp_frame {
	struct arena a;
	struct mcp_frame *next;
	str text; /* once it is closed */
	int64_t id; /* of the request; 0: a notice or an answer */
	struct buf b; /* of a request: what is written of it so far */
	size_t open_n;
	bool answers; /* whoever asks answers questions */
};

/* The params of a tool call, as JSON object text in a.  E_INVAL: its arguments are none. */
int mcp_frame_params(const struct mcp_call *call, struct arena *a, str *params,
		     struct err *e) MUSTUSE;

/* JSON object text of somebody else's on one line, "{}" for "" and null.  E_INVAL. */
int mcp_frame_object(str text, struct arena *a, str *out, struct err *e) MUSTUSE;

/* params: an object, from one of the above.  Its progress token is its id. */
struct mcp_frame *mcp_frame_request(int64_t id, const char *method, str params);
struct mcp_frame *mcp_frame_cancel(int64_t id, const char *reason);
struct mcp_frame *mcp_frame_answer(const struct json *id, const struct mcp_answer *answer);

/* End it; may be done again.  meta: more members of _meta, from a comma on, or "".  level: from
 * which on the server may log meanwhile, NULL where that is not said of one request. */
void mcp_frame_close(struct mcp_frame *f, str meta, const char *level);

void mcp_frame_free(struct mcp_frame *f);

#endif
