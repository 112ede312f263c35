/*
 * agent/sampling_wire: a tool server's request for a completion (sampling/createMessage) as a
 * request to our model, and the model's answer as the server gets it.  Pure.
 *
 * Limits  256 messages, 256 KiB of text, 8 pictures of 4 MiB each, 64 tools.
 */
#ifndef AGENT_SAMPLING_WIRE_H
#define AGENT_SAMPLING_WIRE_H

#include "mcp/question.h"
#include "mcp/sampling_cfg.h"
#include "model/model.h"

struct sampling_req {
	struct model_req req;
	str text; /* all of it that is text, and something in place of each picture: to be counted */
	str last; /* the last text that is not the model's */
	size_t images;
};

/* Everything that out points to is in a, or in params.  most: tokens of an answer at most, beside
 * what cfg says; 0: as that says.  E_INVAL, E_LIMIT: it is refused with the sentence. */
int sampling_read(struct sampling_req *out, const struct json *params,
		  const struct mcp_sampling_cfg *cfg, int64_t most, struct arena *a,
		  struct err *e) MUSTUSE;

/* The result, on one line. */
str sampling_result(const struct model_reply *reply, str model, bool tools, struct arena *a);

#endif
