/*
 * store/turn: the journal of a turn, step by step.
 *
 *	ready -> running -> done | canceled | failed | given_up | interrupted
 *	            |  ^
 *	            v  |
 *	          parked (waits for an approval)
 *
 * (a) claim, turn and user message; (b) the assistant message with its calls planned; (c) calls
 * that start become running; (d) each result; (e) final answer, outbox and inbox done.  Each is
 * one commit.  A turn that is resumed reads its rows and goes on where they end.
 */
#ifndef STORE_TURN_H
#define STORE_TURN_H

#include "store/inbox.h"
#include "store/message.h"
#include "store/session.h"

struct inbox_row {
	int64_t id;
	str channel, address, kind, sender, text, meta, reply_to;
	const struct attachment *files;
	size_t files_n;
	int64_t created_at_ms;
};

struct turn {
	str id;
	struct session session;
	int64_t epoch; /* of the session when it was claimed */
	str kind, sender; /* of its first inbox row */
	str channel, address, reply_to;
	str owner; /* "": any daemon's; else the instance it is reserved for (cli) */
	int attempts; /* claims since the last journaled step, this one included */
	bool resumed; /* it has rows from an earlier run */
	bool no_images; /* the model refused them in this turn */
	bool more; /* another could be claimed now, or soon: its time is known */
	int64_t started_at_ms;
	const struct inbox_row *rows; /* the set it consumes */
	size_t rows_n;
};

/* Claim: either a ready (resumed) turn, or the oldest ready inbox row whose session has no
 * unfinished turn.  only: claim just the rows and turns of this owner ("": those of any
 * daemon).  E_NOENT nothing to do.  The turn is running and owned by store_owner() in the
 * open transaction; for a new one (!resumed) the caller adds the user message with
 * store_message_user() and commits. */
int store_turn_claim(struct tx *tx, str only, struct arena *a, struct turn *out,
		     struct err *e) MUSTUSE;

enum turn_end {
	TURN_DONE,
	TURN_CANCELED, /* by a user; nothing goes out but what the caller adds */
	TURN_FAILED,
	TURN_GIVEN_UP, /* three claims without a step */
	TURN_INTERRUPTED, /* its creator is gone (cli rows) */
};

/* How the turn enters later prompts. */
enum turn_history { HISTORY_FULL, HISTORY_NOTE, HISTORY_NONE };

struct turn_finish {
	enum turn_end end;
	enum turn_history history;
	str note; /* for HISTORY_NOTE: the assistant note, wire JSON */
	str final_wire; /* the final assistant message, "" none; with its plain text */
	str final_text;
	str issuer;
	int64_t round; /* of the final message */
	str error; /* short, for the row; "" none */
};

/* The assistant note of a turn that ends without an answer: why, its calls and how each ended;
 * "" when no tool saw one of them.  To be asked before the turn is finished. */
int store_turn_note(struct tx *tx, str turn_id, const char *why, struct arena *a, str *wire,
		    struct err *e) MUSTUSE;

/* Step (e).  For TURN_DONE it holds only while the turn is running, not cancelled and of the
 * session's epoch, else E_CANCELED, and the transaction with what was put into the outbox is
 * doomed: finish it as TURN_CANCELED in a new one.  The other ends need only that this process
 * runs the turn (else E_CANCELED); calls without a result become canceled or in doubt, with
 * their messages.  E_INVAL: TURN_DONE with such calls, HISTORY_NOTE without note.  Its inbox
 * rows become done, and no answer to a question of it counts any more.  Outbox rows are added by
 * the caller in the same transaction, before this: a reserved row that is left then says that
 * there is no answer. */
int store_turn_finish(struct tx *tx, const struct turn *t, const struct turn_finish *f,
		      struct err *e) MUSTUSE;

/* Give a turn back unfinished (shutdown): ready again, this claim not counted; its running
 * calls are treated as in store_recover().  E_CANCELED: it is not this process's. */
int store_turn_release(struct store *s, str turn_id, const struct cancel *c,
		       struct err *e) MUSTUSE;

/* What its session has ready joins a running turn, as far as it is complete, in order: *n rows
 * are its own from here on, and the caller adds them as a further user message in the same
 * transaction.  E_CANCELED when the turn is no longer live. */
int store_turn_join(struct tx *tx, str turn_id, struct arena *a, struct inbox_row **rows,
		    size_t *n, struct err *e) MUSTUSE;

/* Turns this process runs whose sessions have rows ready that could join. */
int store_turn_joinable(struct store *s, struct arena *a, str **ids, size_t *n,
			struct err *e) MUSTUSE;

/* A file that came with a message of the turn, in order. */
struct turn_file {
	int64_t seq; /* of the user message it belongs to */
	struct attachment file;
};
int store_turn_files(struct store *s, str turn_id, struct arena *a, struct turn_file **out,
		     size_t *n, struct err *e) MUSTUSE;

/* The model takes no pictures: remembered before it is asked without them. */
int store_turn_no_images(struct tx *tx, str turn_id, struct err *e) MUSTUSE;

/* Has a control word asked the turn to end, or is it no longer running? */
int store_turn_canceled(struct store *s, str turn_id, bool *canceled, struct err *e) MUSTUSE;

/* The word of its state (see the top), and the error it ended with, "" none.  E_NOENT. */
int store_turn_state(struct store *s, str turn_id, struct arena *a, str *state, str *error,
		     struct err *e) MUSTUSE;

/* Turns and claims whose owner's lock is free become ready (cli ones interrupted, their rows
 * dropped); their running calls become planned when safe, else in_doubt.  Sending outbox
 * pieces become ready once more.  Owner files of the dead are removed, and events seen more
 * than seven days ago are forgotten.  *n: how many turns.  What the living hold is left
 * alone, so a daemon may call it at any time.  Only under the daemon lock: a command borrows
 * it for the call, E_BUSY when a daemon has it; E_DENIED for STORE_READ. */
int store_recover(struct store *s, const struct cancel *c, int64_t *n, struct err *e) MUSTUSE;

/* Children of dead owners that were running calls, to be killed before recovery. */
struct stale_child {
	str boot_id;
	int64_t pid, start_time;
};
int store_stale_children(struct store *s, struct arena *a, struct stale_child **out, size_t *n,
			 struct err *e) MUSTUSE;

#endif
