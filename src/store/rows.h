/*
 * store/rows: what the files of the tables need of each other.  Internal to store/.
 */
#ifndef STORE_ROWS_H
#define STORE_ROWS_H

#include "store/approval.h"
#include "store/inbox.h"
#include "store/internal.h"
#include "store/list.h"
#include "store/model_call.h"
#include "store/outbox.h"
#include "store/question.h"
#include "store/state.h"
#include "store/turn.h"

/* --- session.c --- */
int session_load(struct db *db, str id, struct arena *a, struct session *out,
		 struct err *e) MUSTUSE;
int session_load_at(struct db *db, str channel, str address, struct arena *a,
		    struct session *out, struct err *e) MUSTUSE;

/* --- message.c --- */

/* What the steps ask of a turn's row.  A turn that is gone is neither ours nor live. */
struct turn_row {
	char session_id[ID_LEN + 1];
	bool ours; /* running and claimed by this process */
	bool live; /* ours, not cancelled, of the session's epoch */
	int64_t epoch;
};
int turn_row(struct turn_row *out, struct tx *tx, str turn_id, struct err *e) MUSTUSE;

/* The same, and E_CANCELED when it is not live. */
int turn_row_live(struct turn_row *out, struct tx *tx, str turn_id, struct err *e) MUSTUSE;

/* Take n message numbers of the turn's session; *first is the first of them. */
int seq_take(struct tx *tx, const struct turn_row *t, int64_t n, int64_t *first,
	     struct err *e) MUSTUSE;

struct message_new {
	int64_t seq, round, index;
	const char *role;
	str wire, text, context, issuer, tool_name;
	bool note;
};
int message_insert(struct tx *tx, str turn_id, const struct turn_row *t,
		   const struct message_new *m, struct err *e) MUSTUSE;

/* A step was journaled: attempts start again. */
int turn_progressed(struct tx *tx, str turn_id, struct err *e) MUSTUSE;

/* --- call.c --- */

/* A call of a new round, with its tool message when it has a result already. */
int call_insert(struct tx *tx, str turn_id, const struct turn_row *t, int64_t seq,
		const struct call *call, struct err *e) MUSTUSE;

enum call_state call_state_of(str name);

/* Close every call of a turn that has no result: planned ones as canceled, running ones as
 * in doubt; each gets its tool message. */
int calls_close(struct tx *tx, str turn_id, const struct turn_row *t, struct err *e) MUSTUSE;

/* After an interruption: safe running calls are planned again, others are in doubt. */
int calls_interrupted(struct tx *tx, str turn_id, const struct turn_row *t,
		      struct err *e) MUSTUSE;

/* Calls outside of turns whose command died: nobody knows whether they happened. */
int calls_abandoned(struct tx *tx, str owner, struct err *e) MUSTUSE;

/* --- spend.c --- */

/* What a dead owner held is spent, as estimated. */
int spend_recover(struct tx *tx, str owner, struct err *e) MUSTUSE;

/* --- turn.c --- */

/* End a turn: its open calls, last messages, own row and inbox rows. */
int turn_close(struct tx *tx, str turn_id, const struct turn_row *t,
	       const struct turn_finish *f, struct err *e) MUSTUSE;

/* --- outbox.c --- */

/* A turn is over: what was reserved for its answer says that there is none. */
int outbox_close_reserved(struct tx *tx, str turn_id, bool done, struct err *e) MUSTUSE;

/* Let go what a dead owner was delivering; drop what was for itself. */
int outbox_recover(struct tx *tx, str owner, struct err *e) MUSTUSE;

/* --- approval.c --- */

/* A turn is over or is to end: no answer to its questions counts any more. */
int approvals_close(struct tx *tx, str turn_id, struct err *e) MUSTUSE;

/* --- question.c --- */

/* Its call is over: what only the server knows how to read is kept no longer. */
int questions_forget(struct tx *tx, str turn_id, str call_id, struct err *e) MUSTUSE;

/* The same of what servers asked; and of a call that was cut off. */
int questions_close(struct tx *tx, str turn_id, struct err *e) MUSTUSE;
int questions_void(struct tx *tx, str turn_id, str call_id, struct err *e) MUSTUSE;

/* --- inbox.c --- */

#define INBOX_FETCHING INT64_MAX /* ready_at_ms of a row that waits for its file */

int inbox_add_file(struct db *db, int64_t id, const struct attachment *file,
		   struct err *e) MUSTUSE;

/* All parts of an album are complete at the same time: not before at_ms, nor before the last of
 * their files is there. */
int inbox_album_wait(struct db *db, str session_id, str album, int64_t at_ms,
		     struct err *e) MUSTUSE;

/* The rows of a turn with their files; fresh: only those that are in no message yet. */
int inbox_of_turn(struct tx *tx, str turn_id, bool fresh, struct arena *a,
		  struct inbox_row **out, size_t *n, struct err *e) MUSTUSE;

/* --- system.c --- */

/* Work a dead owner had begun is ready again. */
int system_recover(struct tx *tx, str owner, struct err *e) MUSTUSE;

/* --- state.c --- */
enum usage_kind { USAGE_TURN, USAGE_TOOL_CALL };
int usage_count(struct tx *tx, enum usage_kind what, struct err *e) MUSTUSE;
int usage_model_call(struct tx *tx, const struct model_row *row, struct err *e) MUSTUSE;

#endif
