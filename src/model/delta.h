/*
 * model/delta: putting an answer together from the pieces of a stream, or from one whole
 * message.  Pure: JSON trees in, text out.
 *
 * Tool calls are kept apart by id first and index second, because endpoints repeat, omit or
 * misuse either: a new id at an index that belongs to another id is a new call; a piece
 * without id belongs to whatever its index points to now, without both to the last call.
 *
 * Limits  128 calls, content of max bytes (E_LIMIT).
 */
#ifndef MODEL_DELTA_H
#define MODEL_DELTA_H

#include "model/model.h"
#include "text/json.h"

#define CALLS_MAX 128

/* Fields that mean something to their issuer only. They are kept and sent back to it. */
struct opaque_key {
	const char *name;
	bool with_calls; /* worth sending back only in a message with calls */
};
#define OPAQUE_MESSAGE_N 6
#define OPAQUE_CALL_N 3
extern const struct opaque_key opaque_message[OPAQUE_MESSAGE_N];
extern const struct opaque_key opaque_call[OPAQUE_CALL_N];

struct opaque {
	struct buf text; /* strings, joined */
	struct json *v; /* anything else; NULL none */
};

struct answer_call {
	str id; /* "" none so far */
	struct buf name, args;
	int64_t order; /* the index it came with */
	struct opaque opaque[OPAQUE_CALL_N];
};

struct answer {
	struct arena *a;
	size_t max;
	struct buf content, reasoning, refusal;
	struct opaque opaque[OPAQUE_MESSAGE_N];
	struct answer_call *calls[CALLS_MAX];
	size_t calls_n;
	struct answer_call *last; /* what a piece without id and index belongs to */
	struct {
		int64_t index;
		struct answer_call *call;
	} owner[CALLS_MAX]; /* what an index points to */
	size_t owner_n;
	str finish; /* "" none so far */
	str error; /* the JSON with the provider's error, "" none */
	struct model_usage usage;
	bool choices; /* an answer was there at all */
	bool progress; /* the last chunk brought something; set by answer_chunk() */
};

struct answer answer_in(struct arena *a, size_t max);

/* One chunk of a stream (whole: a complete answer).  E_PROTO when it reports an error, which
 * then is in .error; E_LIMIT.  JSON that is no answer at all changes nothing. */
int answer_chunk(struct answer *s, const struct json *chunk, bool whole, struct err *e) MUSTUSE;

#endif
