/*
 * mcp/outcome: what a call of a tool came to: text, questions, or a task that goes on.  Pure.
 *
 * Limits  16 questions.
 */
#ifndef MCP_OUTCOME_H
#define MCP_OUTCOME_H

#include "mcp/call.h"

/* One of result and error is not NULL.  offer: what the call offered to answer, where its
 * server has no handshake; NULL: it has one, and its results are texts.  All text is copied
 * into a; not_sent is left alone. */
void mcp_outcome_read(struct mcp_result *out, const struct json *result,
		      const struct json *error, str server, const struct mcp_offer *offer,
		      struct arena *a);

/* Of a server with a handshake: a result that says that its call, which had that token, has
 * become a task is read as that, else false. */
bool mcp_outcome_task(struct mcp_result *out, const struct json *result, int64_t token,
		      const struct mcp_offer *offer, struct arena *a);

/* The same: an error that says which links a person has to open before the call can be made
 * again, as questions in a; 0: it is no such error, or names what we do not ask. */
size_t mcp_outcome_links(const struct json *error, struct arena *a,
			 const struct mcp_question **out);

/* What a server asks for, {key: {"method", "params"}}, as questions in a; requests may be NULL.
 * E_LIMIT, E_PROTO; E_DENIED: one of them was not offered, and *e says which. */
int mcp_outcome_questions(const struct json *requests, str server,
			  const struct mcp_offer *offer, struct arena *a,
			  const struct mcp_question **out, size_t *n, struct err *e) MUSTUSE;

#endif
