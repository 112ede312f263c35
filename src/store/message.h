/*
 * store/message: messages as their exact wire JSON, tool calls and model calls.
 *
 * Within a turn rows are ordered by (round, index): the user message is round 0 index 0, the
 * assistant message of round r index 0, its tool results index 1 to n.  seq counts gapless
 * per session in that order: a step reserves the numbers of its results.
 */
#ifndef STORE_MESSAGE_H
#define STORE_MESSAGE_H

#include "os/clock.h"
#include "store/session.h"

struct json;

struct message {
	int64_t seq, round, index;
	str turn_id, role, wire;
	str text; /* plain, for listing and collapsing */
	str context; /* the context block of a user message, "" none */
	str issuer; /* of an assistant message */
	str tool_name; /* of a tool result */
	bool collapsed; /* tool result: prompts carry its one-line form */
	int64_t created_at_ms;
	const struct json *calls; /* not of the store: what prompt_read() found in wire */
};

enum call_state {
	CALL_PLANNED,
	CALL_RUNNING,
	CALL_DONE, /* has its result */
	CALL_FAILED, /* has its result, which is an error */
	CALL_DENIED, /* has its result, which says so */
	CALL_IN_DOUBT, /* interrupted; the result says it may have happened */
	CALL_CANCELED,
};

/* A tool call, from plan to result: the audit row too. */
struct call {
	char id[ID_LEN + 1]; /* ours */
	int64_t round, index; /* index from 1 */
	str provider_id; /* the model's id of it; of a server's sampling the id of its turn */
	str requested, name; /* as the model wrote it; as resolved, "" when unknown */
	str args;
	bool safe; /* may be repeated after a crash */
	bool interrupted; /* it was running before; planned again because it is safe */
	enum call_state state;
	str decision, rule, decider, requester; /* allow, ...; which rule; policy or who */
	str reason; /* why it is asked; like the next one not kept */
	bool classify; /* a classifier may be asked instead of a person */
	str shown; /* what a person said yes to, in at most so many bytes; not kept either */
	size_t shown_max;
	str result; /* text as the model sees it */
	str result_wire;
	bool truncated, has_exit;
	int64_t exit_code, duration_ms;
	int64_t pid, start_time; /* a child of our own, 0 none */
};

/* The user message of a claimed turn, with what the turn's rows say that are in no message yet;
 * context is kept beside it.  A further one comes after all there is so far, where no call is
 * without its result. */
int store_message_user(struct tx *tx, str turn_id, str wire, str text, str context,
		       struct err *e) MUSTUSE;

/* A user message of the turn becomes another one: what was said with what it stands for.
 * E_CANCELED when the turn is no longer live. */
int store_message_fill(struct tx *tx, str turn_id, int64_t seq, str wire, str text,
		       struct err *e) MUSTUSE;

/* Steps (b) and (c): the assistant message of a round with its calls, each planned or
 * running as its state says, or finished with a result (denied, unknown tool).  Indexes are
 * 1 to n, in order.  Resets the turn's attempts.  E_CANCELED when the turn is no longer
 * running, not this process's, was cancelled, or the epoch moved; E_INVAL the round exists. */
struct turn_step {
	int64_t round;
	str wire, text, issuer; /* of the assistant message */
	const struct call *calls;
	size_t calls_n;
};
int store_turn_step(struct tx *tx, str turn_id, const struct turn_step *step,
		    struct err *e) MUSTUSE;

/* (c) for a call that was planned.  Of call its id, safe, child (pid, start_time) and, unless
 * empty, the decision's fields count.  On a running call it records the child (pid not 0).
 * E_CANCELED as above; E_INVAL it has a result. */
int store_call_start(struct tx *tx, str turn_id, const struct call *call,
		     struct err *e) MUSTUSE;

/* (d): state, result and figures of one call, and its tool message; also for a cancelled
 * turn, while it is this process's (else E_CANCELED).  An empty result_wire is made from
 * result.  Idempotent: a call that has a result keeps it. */
int store_call_finish(struct tx *tx, str turn_id, const struct call *call,
		      struct err *e) MUSTUSE;

/* Is a call running still, in a turn that is live: this process's, not cancelled, of its
 * session's epoch?  Asked before an effect that is to be one commit with the result. */
int store_call_live(struct tx *tx, str turn_id, str call_id, bool *live, struct err *e) MUSTUSE;

/* A call of no turn's messages, which a command or a tool server makes: its audit row, a commit of
 * its own.  Once before it is run (RUNNING, or with its end when it never is), and ended, once
 * after.  Where the process dies in between, recovery closes it as in doubt. */
int store_call_record(struct store *s, const struct call *call, bool ended,
		      const struct cancel *c, struct err *e) MUSTUSE;

/* All of a turn so far, in order, and its calls, in order. */
int store_turn_load(struct store *s, str turn_id, struct arena *a, struct message **msgs,
		    size_t *msgs_n, struct call **calls, size_t *calls_n,
		    struct err *e) MUSTUSE;

/* The finished turns of the session's epoch as they enter prompts, oldest first: at most max
 * messages (whole turns; the newest turn always), of turns that begin at history_from_seq or
 * later; a note turn gives its user message and its note.  Cost does not grow with the
 * session.  Of session its id, epoch and history_from_seq count. */
int store_history(struct store *s, const struct session *session, int64_t max, struct arena *a,
		  struct message **out, size_t *n, struct err *e) MUSTUSE;

/* The same without the turns that a schedule or a watch began. */
int store_history_asked(struct store *s, const struct session *session, int64_t max,
			struct arena *a, struct message **out, size_t *n,
			struct err *e) MUSTUSE;

/* The same of the turns that begin in [from, to): as many as have max messages, the first in any
 * case. */
struct history_part {
	int64_t from, to, max;
	struct message *rows; /* out, with: */
	size_t n;
	int64_t next; /* where the first turn begins that was left out, else to */
};
int store_history_part(struct store *s, const struct session *session,
		       struct history_part *part, struct arena *a, struct err *e) MUSTUSE;

/* All messages of a session for people, oldest first, after_seq on; limit 0: all. */
int store_messages(struct store *s, str session_id, int64_t after_seq, int64_t limit,
		   struct arena *a, struct message **out, size_t *n, struct err *e) MUSTUSE;

/* Mark the tool results and user messages of the session from one seq up to another as
 * collapsed, both included. */
int store_collapse(struct tx *tx, str session_id, int64_t from, int64_t upto,
		   struct err *e) MUSTUSE;

/* Mark all of the session's finished turns from a seq on but the last keep whole results. */
int store_collapse_old(struct tx *tx, str session_id, int64_t from, int64_t keep,
		       struct err *e) MUSTUSE;

#endif
