/*
 * agent/prompt: the request for a turn as a pure function of rows.
 *
 *	system     persona, durable memory, session summary
 *	history    finished turns, exactly as they were sent
 *	user       the message and one context block
 *
 * Stable first, volatile last; what was sent once is sent again byte for byte.
 */
#ifndef AGENT_PROMPT_H
#define AGENT_PROMPT_H

#include "mcp/host.h"
#include "model/model.h"
#include "store/message.h"
#include "sched/zone.h"

struct prompt_system {
	str persona;
	bool remembers; /* memory is on: its note stands whatever is remembered */
	str memory; /* "\n- ..." lines */
	str summary;
};

/* The one system message; "" when there is nothing to say. */
str prompt_system(struct arena *a, const struct prompt_system *in);

/* The context block of a user message: the clock with weekday and zone, and tool servers in trouble. */
str prompt_context(struct arena *a, int64_t now_ms, const struct zone *zone,
		   const struct mcp_server_status *servers, size_t n);

/* A picture of a user message: its URL, or what is said in its place. */
struct prompt_image {
	int64_t seq; /* of the message; in ascending order */
	str url, note;
};

/* Read the calls of the rows' assistant messages, once for all requests of a turn.  Not
 * needed, but prompt_messages() would do it each time. */
void prompt_read(struct arena *a, struct message *rows, size_t n);

/* Messages as they are sent: collapsed tool results in their one-line form, context blocks
 * joined to user messages that are not collapsed, and repaired: whatever is stored, the
 * result begins with a user message, pairs every call with its results in order, holds
 * nothing empty, and has no two user messages in a row. */
int prompt_messages(struct arena *a, const struct message *rows, size_t n,
		    struct model_msg **out, size_t *out_n, struct err *e) MUSTUSE;

/* The same with pictures, which ride on their messages. */
int prompt_messages_with(struct arena *a, const struct message *rows, size_t n,
			 const struct prompt_image *images, size_t images_n,
			 struct model_msg **out, size_t *out_n, struct err *e) MUSTUSE;

/* What a user or assistant message says; a note has its words in the wire form only. */
str prompt_words(struct arena *a, const struct message *m);

/* The estimated tokens of the messages as they would be sent. */
int64_t prompt_tokens(const struct model_msg *msgs, size_t n);

#endif
