/*
 * mcp/stateless: the words of the revisions without a handshake (from 2026-07-28 on): every
 * request says in its _meta what the client speaks and can; server/discover says what the
 * server does; changes are told on a stream that is asked for.  The course of things is
 * mcp/session's.  Pure.
 */
#ifndef MCP_STATELESS_H
#define MCP_STATELESS_H

#include "mcp/session.h"

#define MCP_STATELESS_REVISION "2026-07-28"
#define MCP_STATELESS_META "io.modelcontextprotocol/" /* before the keys of its _meta */

/* "_meta":{…} of a request of the session's own. */
str mcp_stateless_meta(const struct mcp_session_opt *opt, struct arena *a);

/* What follows the progress token in the _meta of a caller's request, from a comma on.
 * answers: the caller answers what is offered. */
str mcp_stateless_more(const struct mcp_session_opt *opt, bool answers, struct arena *a);

void mcp_stateless_discover(const struct mcp_session_opt *opt, int64_t id, struct buf *out);

enum mcp_verdict {
	MCP_STATELESS, /* it is one of these, and *peer is filled in */
	MCP_OLDER, /* it is of the initialize era, or says nothing that we understand */
	MCP_NEITHER, /* it is one of these, but nothing it speaks is known here: *e says so */
};

/* The answer to server/discover. */
enum mcp_verdict mcp_stateless_judge(const struct mcp_msg *m, struct mcp_peer *peer,
				     struct err *e);

/* Ask for the stream of changes: of the lists that the server tells of, and of the resources
 * that are watched. */
void mcp_stateless_listen(const struct mcp_session *s, int64_t id, struct buf *out);

#endif
