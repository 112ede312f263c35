/*
 * mcp/question: what a server asks in the midst of a call of ours, and what it is answered.
 *
 * In the initialize era a question is a request of the server's and the call waits; in the
 * stateless era the call's result is "input_required", and the call is made again with the
 * answers.
 */
#ifndef MCP_QUESTION_H
#define MCP_QUESTION_H

#include "text/json.h"

enum mcp_question_kind {
	MCP_ELICIT, /* elicitation/create: of the person */
	MCP_SAMPLE, /* sampling/createMessage: of the model */
	MCP_ROOTS, /* roots/list; answered below the host, but listed by the stateless era */
};

struct mcp_question {
	enum mcp_question_kind kind;
	str server;
	str key; /* stateless era: its key among inputRequests; else "" */
	const struct json *params;
	size_t before; /* questions that were asked in the same call before this one */
	/* Set before the token of the answering fires: what a link was for has been done, so it
	 * is accepted.  NULL: nobody would say so. */
	const _Atomic bool *done;
};

/* What a server may ask in the midst of a call, as far as whoever makes the calls answers it;
 * nothing else is announced, and all else is refused. */
struct mcp_offer {
	bool form, url; /* elicitation/create, by mode */
	bool sampling; /* sampling/createMessage; of a server whose manifest entry allows it */
	bool sampling_tools; /* with tools; set by the entry */
};

/* The result, JSON object text on one line; or code != 0: an error. */
struct mcp_answer {
	str result;
	int code; /* of JSON-RPC */
	str message;
};

#endif
