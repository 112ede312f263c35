/*
 * text/sse: the framing of a stream of server-sent events, fed with any splits.  Pure.
 *
 * Lines end with LF, CRLF or CR; comments are passed over; several data lines of one event
 * are joined by LF; a byte order mark is skipped.  An id holds from the event that brings it
 * until another one comes, also when that event has no data.
 *
 * Limits  one event of max bytes (E_LIMIT); a longer id than SSE_ID_MAX counts as none.
 */
#ifndef TEXT_SSE_H
#define TEXT_SSE_H

#include "base/buf.h"
#include "base/err.h"

#define SSE_ID_MAX 4096

struct sse {
	struct buf line, data, name;
	size_t max;
	/* Two liberties that endpoints of models need: a field "error" counts as data of an
	 * event "error", and a line that is a JSON object without any field name as data. */
	bool lenient;
	bool has_data; /* the event has a data line, maybe an empty one */
	bool skip_lf; /* the last byte was a CR */
	bool begun; /* past where a byte order mark may be */
	bool has_id; /* the event has an id */
	struct buf new_id;
	struct buf last_id; /* of the last whole event that had one; empty: none */
	int64_t retry_ms; /* the last pause that was asked for; -1: none was */
	/* Called for each event that has data; < 0 ends the feeding with that code.  last_id
	 * is that of the event already. */
	int (*on_event)(void *arg, str name, str data, struct err *e);
	void *arg;
};

struct sse sse_in(struct arena *a, size_t max,
		  int (*on_event)(void *arg, str name, str data, struct err *e), void *arg);

int sse_feed(struct sse *s, str chunk, struct err *e) MUSTUSE;

/* The stream is over: a last event without its blank line, or even its line end, counts.
 * Not to be called of a stream that broke off. */
int sse_end(struct sse *s, struct err *e) MUSTUSE;

#endif
