/*
 * mcp/slots: what mcp/calls and mcp/beside, the callers' side of the open calls, and mcp/slots,
 * the side of the server's thread, share.  For these alone.
 *
 * Threads  all but the two of the lock, mcp_slots_free_asked(), and what a caller does in its
 *          own thread, under the lock.
 */
#ifndef MCP_SLOTS_H
#define MCP_SLOTS_H

#include "mcp/calls.h"

#include <pthread.h>

#define MCP_SLOTS_MAX 256
#define MCP_FRAMES_MAX 512
#define MCP_WHY_MAX 200
#define MCP_META_MAX 1024
#define MCP_QUESTIONS_MAX 4
#define MCP_QUESTIONS_CALL 32

enum mcp_slot_state {
	FREE,
	QUEUED, /* its frame is in the queue */
	TAKEN, /* its frame is with the server's thread, no byte written */
	WRITTEN, /* in part or whole */
	DONE,
};

/* Of the server; owns itself. */
struct mcp_asked {
	struct arena a;
	struct mcp_asked *next;
	const struct json *id;
	struct mcp_question q;
	bool done; /* what its link was for */
};

struct mcp_slot {
	enum mcp_slot_state state;
	int64_t id;
	struct bell bell;
	bool has_bell, answers, has_progress;
	bool lingers; /* it is no request, but hears what is said of a task */
	bool poked; /* and that is another now */
	str task; /* the caller's, while it waits: of what task it is, "" none, */
	int64_t token; /* and of whose progress it hears, too */
	int64_t carry_n; /* since when it is carried, as below */
	str origin; /* the caller's, while it waits */
	struct mcp_asked *asked; /* wait for the caller */
	size_t asked_n, asked_in_all;
	const struct json *asking; /* the id of what the caller is answering */
	str asking_link; /* the id of the link in it, "" none */
	_Atomic bool *asking_done; /* in the caller's frame */
	struct cancel *asking_cancel; /* in the caller's frame */
	bool withdrawn;
	double done, total;
	char message[MCP_WHY_MAX];
	/* The outcome. */
	int rc;
	bool not_sent;
	bool stateless; /* the server has no handshake, */
	struct mcp_offer offer; /* and this was offered to it */
	char why[MCP_WHY_MAX];
	struct arena line;
	const struct json *result, *error;
};

struct mcp_calls {
	struct arena a;
	str server;
	_Atomic int64_t *ids;
	struct bell bell;
	pthread_mutex_t lock;
	/* Under the lock: */
	struct mcp_slot slots[MCP_SLOTS_MAX];
	struct mcp_frame *first, *last;
	size_t frames;
	const struct mcp_carrier *carrier; /* callers carry; NULL: they do not */
	int64_t carry_n; /* counts what was said of that */
	int lent; /* the server's input while its thread writes nothing, else -1 */
	char more[2][MCP_META_MAX]; /* see mcp_calls_speak() */
	bool stateless;
	struct mcp_offer offer;
	const char *_Atomic *level; /* to be said with each request; NULL: it is not */
	bool shut;
	char shut_why[MCP_WHY_MAX];
};

void mcp_slots_lock(struct mcp_calls *c);
void mcp_slots_unlock(struct mcp_calls *c);

/* What a request is, and whom to tell of it. */
struct mcp_ask {
	const struct mcp_call *call; /* NULL: no tool call */
	const char *method;
	str params;
	const struct mcp_limit *limit;
	const struct cancel *cancel;
	str task; /* that it is about, "" none; */
	int64_t token; /* whose progress is its, too */
};

/* A slot for call id, QUEUED. */
int mcp_slots_take(struct mcp_calls *c, int64_t id, struct mcp_slot **out,
		   struct err *e) MUSTUSE;

/* What a caller did when its bell rang. */
struct mcp_attended {
	bool moved; /* progress was told */
	int64_t asked_ms; /* that questions took, for which its limits stand still */
};

/* A caller: its bell rang, so progress is told and questions are answered.  1: the outcome is
 * there, and, when it is to be taken, the slot is free again.  *did is set in any case. */
int mcp_slots_attend(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
		     bool take, struct mcp_slot *got, struct mcp_attended *did,
		     struct err *e) MUSTUSE;

/* A caller: have a question answered; *wanted: somebody still waits for that.  What was done
 * elsewhere is accepted. */
int mcp_slots_have_answered(struct mcp_calls *c, struct mcp_slot *s, const struct mcp_ask *ask,
			    struct mcp_question *q, struct arena *a, struct mcp_answer *out,
			    bool *wanted, struct err *e) MUSTUSE;
/* The id of the link that it is about, "" none. */
str mcp_slots_link(const struct mcp_question *q);
struct mcp_frame *mcp_slots_refusal(const struct mcp_asked *q);

/* mcp/beside: have a person open what is to be opened before the call can be made again.  1: it
 * will not be, and *result says why. */
int mcp_beside_links(struct mcp_calls *c, const struct mcp_ask *ask, const struct json *error,
		     struct arena *a, struct mcp_result *result, struct err *e) MUSTUSE;

void mcp_slots_push(struct mcp_calls *c, struct mcp_frame *f);
/* Take the frames out that are of call id; of no call: 0. */
void mcp_slots_drop(struct mcp_calls *c, int64_t id);
/* Without the lock: the frame of s, written from here on, when callers carry and it waits. */
struct mcp_frame *mcp_slots_claim(struct mcp_calls *c, struct mcp_slot *s,
				  const struct mcp_carrier **by);
/* The same: what became of it, unless there is an outcome.  again: it waits for the next word
 * about carrying, as do all others, true when it was taken over. */
bool mcp_slots_carried(struct mcp_calls *c, struct mcp_slot *s, struct mcp_frame *again, int rc,
		       bool not_run, const char *why);

/* End a request's frame in the words of the server that is there. */
void mcp_slots_close(const struct mcp_calls *c, struct mcp_frame *f);
void mcp_slots_free_asked(struct mcp_asked *q);

#endif
