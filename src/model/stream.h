/*
 * model/stream: the body of an answer, fed with any splits: server-sent events whatever the
 * content type says, or one JSON text.  Pure.
 *
 * An answer is complete when its end was seen (a finish reason or [DONE]); what breaks off
 * before is an error, and so is an error that is reported inside.
 *
 * Owns  nothing; everything is in the arena.  A struct stream must not be moved.
 */
#ifndef MODEL_STREAM_H
#define MODEL_STREAM_H

#include "model/delta.h"
#include "text/sse.h"
#include "model/think.h"

struct stream {
	struct sse sse;
	struct answer answer;
	struct think think;
	struct buf json; /* a body that is not a stream */
	bool sniffed, is_json;
	bool done; /* [DONE] or a whole JSON answer was seen */
	bool ending; /* the body is over: a broken last event is a cut one */
	size_t reasoning_shown;
	void (*on_piece)(void *arg, enum model_event ev, str piece);
	void *arg;
};

/* on_piece gets further pieces of text and reasoning as they come; may be NULL. */
void stream_init(struct stream *s, struct arena *a, size_t max,
		 void (*on_piece)(void *arg, enum model_event ev, str piece), void *arg);

/* For http_req.sink: 0 nothing that counts, 1 progress, more: the answer is complete but for
 * what may come within so many ms; E_PROTO, E_LIMIT. */
int stream_feed(struct stream *s, str chunk, struct err *e) MUSTUSE;

/* The body is over.  OK: .answer is complete.  E_PROTO it is not, or reports an error (then
 * .answer.error has it); E_INVAL this is no model endpoint (html: the body said it was a
 * web page). */
int stream_end(struct stream *s, bool html, struct err *e) MUSTUSE;

#endif
