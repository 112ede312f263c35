/*
 * store/adopt_past: a conversation of another program, written as turns a provider will take.
 * Internal to store/.
 */
#ifndef STORE_ADOPT_PAST_H
#define STORE_ADOPT_PAST_H

#include "store/adopt_rows.h"

struct past_call;

struct past {
	struct adopt *ad;
	struct arena calls_arena; /* of the calls of the open round */
	struct past_call *calls;
	size_t calls_n;
	str channel, address;
	char id[ID_LEN + 1], turn[ID_LEN + 1]; /* turn "": none is open */
	int64_t next_seq, calls_seq, round, users, rows, first_seq, at_ms;
	bool answered, asked;
};

struct past_message {
	str role, text;
	const struct json *calls; /* [{id, name, args}], NULL none */
	str call_id, tool_name; /* of a result */
	const char *kind; /* "cron", "watch": who began; "" a person */
	int64_t at_ms;
};

/* The conversation's row.  *known: that chat has one already, which stays as it is; p->id is it. */
int past_begin(struct past *p, struct adopt *ad, const struct session *s, bool *known,
	       struct err *e) MUSTUSE;

/* f: the row it comes from, for notes. */
int past_add(struct past *p, const struct past_message *m, struct foreign_rows *f,
	     struct err *e) MUSTUSE;
int past_end(struct past *p, struct err *e) MUSTUSE;

#endif
