/*
 * model/body: what is told of the body of a request, so that it can be made again.  Pure.
 */
#ifndef MODEL_BODY_H
#define MODEL_BODY_H

#include "base/str.h"

/* The body, and what it was made from beside the request itself. */
struct model_sent {
	uint64_t digest; /* str_digest() of the body */
	size_t bytes; /* 0: none was sent */
	uint32_t quirks;
	bool gemini, has_temperature;
	int64_t max_tokens;
	double temperature;
	str effort; /* of the model's configuration */
};

#endif
