/*
 * model/quirks: learning from refusals what an endpoint does not take.  Pure.
 *
 * The flags are stored in rows: a bit keeps its meaning for ever.
 */
#ifndef MODEL_QUIRKS_H
#define MODEL_QUIRKS_H

#include "model/refusal.h"

enum {
	QUIRK_MAX_COMPLETION = 1 << 0, /* max_tokens is called max_completion_tokens */
	QUIRK_NO_MAX_TOKENS = 1 << 1, /* neither is taken */
	QUIRK_NO_TEMPERATURE = 1 << 2,
	QUIRK_NO_STREAM_OPTIONS = 1 << 3,
	QUIRK_NO_STREAM = 1 << 4,
	QUIRK_NO_EFFORT = 1 << 5,
	/* An assistant message with calls but no text: content left out, or one of */
	QUIRK_CONTENT_EMPTY = 1 << 6,
	QUIRK_CONTENT_NULL = 1 << 7,
	QUIRK_NO_OPAQUE = 1 << 8, /* signatures and reasoning are refused */
	QUIRK_EMPTY_REASONING = 1 << 9, /* calls without reasoning_content are refused */
	QUIRK_SHORT_IDS = 1 << 10, /* call ids of exactly nine letters or digits */
	QUIRK_PLAIN_SCHEMA = 1 << 11, /* tool schemas in the subset of OpenAPI 3.0 */
	QUIRK_BARE_SCHEMA = 1 << 12, /* types, descriptions and properties only */
	QUIRK_NO_TOOLS = 1 << 13,
	QUIRK_NO_SYSTEM = 1 << 14, /* the system text goes before the first user text */
};

/* What a refused request had in it: only that can be to blame. */
enum {
	SENT_MAX_TOKENS = 1 << 0,
	SENT_MAX_COMPLETION = 1 << 1,
	SENT_TEMPERATURE = 1 << 2,
	SENT_STREAM_OPTIONS = 1 << 3,
	SENT_STREAM = 1 << 4,
	SENT_EFFORT = 1 << 5,
	SENT_BARE_CALLS = 1 << 6, /* calls without text */
	SENT_OPAQUE = 1 << 7,
	SENT_CALLS = 1 << 8,
	SENT_TOOLS = 1 << 9,
	SENT_SYSTEM = 1 << 10,
};

struct lesson {
	uint32_t sent;
	uint32_t shapes_tried; /* of this call: content shapes that were refused */
};

/* One change of *q that answers r, or false when r teaches nothing.  A bounded number of
 * calls in a row can be true. */
bool quirks_learn(struct model_quirks *q, const struct refusal *r, struct lesson *l);

/* "max_completion_tokens no_temperature": for people; "none". */
str quirks_words(struct arena *a, uint32_t flags);

#endif
