/*
 * agent/sent: what is kept of a request so that it can be made again from the rows, byte for
 * byte (model_calls.request): which messages it had and which of them in their short form,
 * what the model's settings were, and digests of the whole and of each message.
 *
 * The text of a message is not kept a second time.  Of a row that was changed afterwards a
 * digest tells that it was, and which.
 */
#ifndef AGENT_SENT_H
#define AGENT_SENT_H

#include "agent/prompt.h"
#include "model/body.h"

#define SENT_PARTS_MAX 100000

/* Short digests of the messages, one each, as the last request of the turn had them. */
struct sent_parts {
	uint16_t *v;
	size_t n, cap;
};

/* The record of a request that was made of these rows.  parts says what the turn's request
 * before had, and afterwards what this one has; it grows in keep. */
struct sent_of {
	const struct model_sent *sent;
	const struct message *rows;
	size_t rows_n;
	const struct model_msg *msgs;
	size_t msgs_n;
	str system, tools;
	bool no_images;
	str note; /* of a row that only this request had, "" none */
};
str sent_write(struct arena *a, const struct sent_of *of, struct sent_parts *parts,
	       struct arena *keep);

/* The row of such a note. */
struct message sent_note(struct arena *a, str turn_id, str note);

/* A record, read. */
struct sent_record {
	struct model_sent sent;
	bool no_images;
	str note;
	uint16_t system, tools; /* digests */
	str rows, thin; /* ranges of seq */
	int64_t first, last; /* of rows */
};

/* E_NOENT: there is none (made before such records were kept); E_PROTO: it cannot be read.
 * parts as above. */
int sent_read(struct sent_record *out, struct arena *a, str record, struct sent_parts *parts,
	      struct err *e) MUSTUSE;

/* Is the number in one of the ranges? */
bool sent_has(str ranges, int64_t seq);

/* The digests of a message, and of the system message or the tools. */
uint16_t sent_part(const struct model_msg *m);
uint16_t sent_head(str text);

#endif
