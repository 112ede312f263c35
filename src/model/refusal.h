/*
 * model/refusal: what an endpoint said when it did not answer.  Pure.
 *
 * Error bodies come as an object, a string, an array, a validation report, plain text or
 * HTML; and each kind of server words "the context is too long" in its own way.
 */
#ifndef MODEL_REFUSAL_H
#define MODEL_REFUSAL_H

#include "model/model.h"

struct refusal {
	enum model_kind kind;
	int status; /* HTTP, or what the body gives for one; 0 unknown */
	str message; /* for people: one short line, no secrets, never empty */
	str words; /* message, type, code and the like in lower case, for matching */
	str param; /* the parameter it names, "" none */
	int64_t context_window; /* tokens, as far as it says; 0 unknown */
	int64_t retry_after_ms; /* as far as the body says; 0 unknown */
	bool no_images; /* it does not take image parts */
	bool permanent; /* of a kind that is retried, but in vain: out of quota, say */
};

/* status 0: an error inside an answer of status 200.  secrets never reach the message. */
void refusal_read(struct refusal *out, struct arena *a, int status, str body,
		  const str *secrets, size_t secrets_n);

bool refusal_says(const struct refusal *r, const char *const *any, size_t n);
#define SAYS(r, ...)                                                                           \
	refusal_says(r, (const char *const[]){ __VA_ARGS__ },                                  \
		     COUNT(((const char *const[]){ __VA_ARGS__ })))

#endif
