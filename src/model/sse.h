/*
 * model/sse: the framing of a stream of server-sent events, fed with any splits.  Pure.
 *
 * Lines end with LF, CRLF or CR; comments, ids and retry times are passed over; several
 * data lines of one event are joined by LF; a byte order mark is skipped.  Two liberties
 * that real endpoints need: a field "error" counts as data of an event "error", and a line
 * that is a JSON object without any field name counts as data.
 *
 * Limits  one event of max bytes (E_LIMIT).
 */
#ifndef MODEL_SSE_H
#define MODEL_SSE_H

#include "base/buf.h"
#include "base/err.h"

struct sse {
	struct buf line, data, name;
	size_t max;
	bool has_data; /* the event has a data line, maybe an empty one */
	bool skip_lf; /* the last byte was a CR */
	bool begun; /* past where a byte order mark may be */
	/* Called for each event that has data; < 0 ends the feeding with that code. */
	int (*on_event)(void *arg, str name, str data, struct err *e);
	void *arg;
};

struct sse sse_in(struct arena *a, size_t max,
		  int (*on_event)(void *arg, str name, str data, struct err *e), void *arg);

int sse_feed(struct sse *s, str chunk, struct err *e) MUSTUSE;

/* The stream is over: a last event without its blank line, or even its line end, counts. */
int sse_end(struct sse *s, struct err *e) MUSTUSE;

#endif
