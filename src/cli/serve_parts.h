/*
 * cli/serve_parts: what the files of cli/serve have of each other.
 */
#ifndef CLI_SERVE_PARTS_H
#define CLI_SERVE_PARTS_H

#include "cli/serve.h"

#define OUT_MAX ((size_t)64 << 20) /* a host that takes no more is gone */
#define OUT_HIGH ((size_t)4 << 20) /* so much waits: nothing more is read */
#define LINE_EXTRA (64u << 10) /* around the text of an ask, which may be escaped */

struct tidy;

/* --- serve.c ------------------------------------------------------------------------------------ */

/* A line that answers: alone, or as a part of its batch's answer. */
void serve_emit(struct serve *s, struct serve_batch *b, str line);

/* One answer less is missing. */
void serve_batch_flush(struct serve *s, struct serve_batch *b);

/* --- serve_table.c: all of it main's ----------------------------------------------------------- */

/* A call of the host's: begin it, or go on with one that asked.  Is its id in use? */
void serve_table_begin(struct serve *s, const struct mcp_serve_event *ev,
		       struct serve_batch *batch, struct tidy *tidy);
void serve_table_resume(struct serve *s, const struct mcp_serve_event *ev);
bool serve_table_has(const struct serve *s, str id);

/* The host wants no answer any more; it answers a question of ours. */
void serve_table_cancel(struct serve *s, str id);
void serve_table_answer(struct serve *s, const struct mcp_serve_event *ev);

/* Look at all calls; *open: how many are not over.  When something has to be looked at again,
 * monotonic, INT64_MAX never. */
int64_t serve_table_look(struct serve *s, struct tidy *tidy, int *open);

void serve_table_ring(struct serve *s); /* all threads look again */
void serve_table_stop(struct serve *s); /* end all calls, like /stop */
void serve_table_drop(struct serve *s); /* and wait for that, at the end */

/* --- serve_shared.c: what threads and main have in common --------------------------------------- */

/* A copy of what a thread left. */
struct serve_seen {
	char lines[SERVE_LINES][SERVE_LINE];
	size_t lines_n;
	struct mcp_serve_form asking; /* in the arena; message "" nothing */
	int64_t number; /* of it */
	bool over, answered;
	bool again; /* it was cancelled before its turn could be ended */
	char turn[ID_LEN + 1];
};

void serve_shared_init(struct serve *s);
void serve_shared_done(struct serve *s);

/* An empty place; it counts as taken from the serial on, until that is 0 again. */
void serve_shared_clear(struct serve *s, struct serve_call *k);
void serve_shared_place(struct serve_call *k, int64_t serial);

/* Is no earlier ask of its session open, and fewer than most of all? */
bool serve_shared_first(struct serve_call *k, int64_t most);

/* The row of an ask, before it can be claimed; then what its turn does, by the address. */
void serve_shared_row(struct serve_call *k, int64_t row);
struct serve_call *serve_shared_start(struct serve *s, str address, str turn_id);
void serve_shared_line(struct serve *s, str address, str line);
void serve_shared_say(struct serve *s, str address, str text);
/* A turn that consumed row has ended: it may be that of an earlier one. */
void serve_shared_turn_over(struct serve_call *k, int64_t row, int rc);
bool serve_shared_is_over(struct serve_call *k, int *rc);
bool serve_shared_begun(struct serve_call *k);

void serve_shared_over(struct serve_call *k); /* the thread is through */
void serve_shared_cancel(struct serve_call *k, char turn[ID_LEN + 1]);
void serve_shared_deaf(struct serve *s); /* nobody can be asked any more */
void serve_shared_see(struct serve_call *k, struct arena *a, struct serve_seen *v);

/* What came of a question. */
struct serve_answer {
	bool lost; /* nobody hears it any more */
	bool yes;
	enum mcp_serve_reply replied;
	str reply; /* in the arena */
};

/* A thread asks: false, nobody hears it.  Then, until it is true or .lost: was it answered?  With
 * enough it is taken back.  The form and asker live until then. */
bool serve_shared_ask(struct serve_call *k, const struct mcp_serve_form *form,
		      const struct bell *asker);
bool serve_shared_asked(struct serve_call *k, bool enough, struct arena *a,
			struct serve_answer *out);
/* The answer to the question of that number; to an earlier one it is none. */
void serve_shared_answer(struct serve_call *k, int64_t number, const struct json *result);

/* --- serve_calls.c: what a call does, in its thread -------------------------------------------- */

/* What is wrong with the call's arguments before it is begun, "" nothing; sets .label and
 * .address. */
str serve_call_check(struct serve_call *k, str host);

/* Do it, and leave text, structured and failed. */
void serve_call_do(struct serve_call *k);

extern const struct mcp_serve_tool serve_ask_tool;

/* --- serve_ask.c: a turn ------------------------------------------------------------------------ */

void serve_ask(struct serve_call *k);

/* --- serve_person.c: asking the person behind the host ---------------------------------------- */

/* Asks for the call it belongs to, which may change while nobody asks.  Of the tools of one turn,
 * which may all want to ask, one does at a time. */
struct serve_person {
	struct approver base;
	struct permit turn;
	struct serve_call *k; /* NULL: nobody can be asked */
	const struct bell *bell; /* of the thread that asks */
};

int serve_person_init(struct serve_person *p, struct serve_call *k, const struct bell *bell,
		      struct err *e) MUSTUSE;
void serve_person_done(struct serve_person *p);

#endif
