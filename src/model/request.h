/*
 * model/request: the body of a chat completions request.  Pure.
 *
 * Wire messages are spliced in as they are.  Only where a quirk or a change of issuer asks
 * for it is one taken apart and written again, the same way every time.
 */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include "model/quirks.h"

struct request {
	str body;
	uint32_t sent; /* SENT_..., what it has in it */
	bool stream;
};

/* issuer: who we are; gemini: the endpoint is Google's, which wants a signature on every
 * call.  E_INVAL no messages, an unknown role, a tool result without the id of its call, or
 * a message that is not JSON; E_LIMIT over 64 MiB. */
int request_write(struct request *out, struct arena *a, const struct model_cfg *cfg, str issuer,
		  bool gemini, const struct model_req *req, const struct model_quirks *q,
		  struct err *e) MUSTUSE;

#endif
