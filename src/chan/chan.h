/*
 * chan/chan: where people talk.  A channel turns what comes in into inbox rows (one
 * transaction per batch) and sends the pieces it is given.
 *
 * Only the deliver threads call render and send; live is called by turns.
 */
#ifndef CHAN_CHAN_H
#define CHAN_CHAN_H

#include "os/cancel.h"
#include "os/wait.h"
#include "store/inbox.h"
#include "store/outbox.h"

/* Handed down to a channel at start: what it may ask of the layers above. */
struct chan_up {
	void *arg;
	/* After a commit that added inbox rows. */
	void (*on_inbox)(void *arg);
	/* After a commit that added outbox rows. */
	void (*on_outbox)(void *arg);
	/* A control word took effect: end what runs, the turn (fire its token; "" none) and, for
	 * /stop, the commands of the address. */
	void (*on_control)(void *arg, enum control what, str channel, str address, str turn_id);
	/* Is text a command that is answered beside any turn?  If so, *reply is its answer; the
	 * channel adds it to the outbox in the transaction that records the event.  "": it takes
	 * time, and its answer comes by the outbox later.  Called outside any transaction, from
	 * the channel's thread.  It may wait for the writer, until c ends. */
	bool (*command)(void *arg, str channel, str address, str sender, str text,
			struct arena *a, str *reply, const struct cancel *c);
	/* A question that a call waits for moved on, or ended. */
	void (*on_answer)(void *arg, str turn_id);
	/* The words /stop and /new and their like: OK and *what, or E_NOENT. */
	int (*control)(str text, struct arena *a, enum control *what);
	/* What to tell the user after a control word; before on_control. */
	str (*control_reply)(void *arg, str channel, str address, struct arena *a,
			     enum control what, const struct control_effect *ef);
	/* A poll was completed: the other side is there.  From the first on, questions may
	 * expire.  Cheap; call it after each. */
	void (*on_poll)(void *arg);
	/* The thread that reads moves: call it before each try to reach the other side, at least
	 * once a minute while it waits.  Cheap.  NULL: nobody asks. */
	void (*on_try)(void *arg);
	/* Input ended for good (EOF on a terminal): the daemon drains and stops. */
	void (*on_end)(void *arg);
	/* There will never be any input (a token that is not valid): said in the log; the
	 * daemon stops and fails. */
	void (*on_fatal)(void *arg, int code);
};

enum send_end {
	SEND_OK,
	SEND_RETRY, /* provably unsent: again after retry_after_ms, and the address waits */
	SEND_UNKNOWN, /* may have arrived */
	SEND_DEAD, /* refused for good */
	SEND_FAULT, /* the other side's own trouble (5xx): once more after retry_after_ms, then dead */
};

struct send_result {
	enum send_end end;
	str remote_id;
	int64_t retry_after_ms;
	int64_t all_wait_ms; /* and nothing goes to anyone before */
	str error;
	str moved_to; /* the address became this one: it is moved, and the piece sent again */
};

/* What a turn shows while it works; ephemeral. */
enum live_kind {
	LIVE_START, /* a turn begins */
	LIVE_TEXT, /* the answer so far (all of it) */
	LIVE_TRACE, /* a line about a tool call or the like */
	LIVE_STOP, /* the turn ended; the answer comes by the outbox, or not at all */
	LIVE_SLOW, /* a line about what takes long: also shown where nothing is streamed */
};

struct channel {
	const char *name;
	bool asks; /* it can ask for approvals: rows of kind approval, and turns that park */
	/* Start and stop its thread(s). */
	int (*start)(struct channel *self, struct store *s, const struct chan_up *up,
		     const struct cancel *c, struct err *e);
	void (*stop)(struct channel *self);
	/* Cut a raw row into pieces.  A row with a live_id begins with an edit of that message.
	 * Called inside a transaction: pure, but for reading the store. */
	int (*render)(struct channel *self, const struct outbox_row *row, struct arena *a,
		      struct piece_new **out, size_t *n, struct err *e);
	void (*send)(struct channel *self, const struct outbox_row *row,
		     const struct piece *piece, struct arena *a, struct send_result *out,
		     const struct cancel *c);
	/* Never waits.  turn_id is what store_outbox_reserve() wants to know. */
	void (*live)(struct channel *self, str turn_id, str address, enum live_kind kind,
		     str text);
	/* A line beside all rows, shown soon or never; "" is whoever owns the bot.  Never waits.
	 * NULL: it is shown as a trace line.  Only for chan_notice(). */
	void (*notice)(struct channel *self, str address, str text);
	_Atomic int64_t full_at_ms; /* chan_notice()'s own */
};

/* Nothing can be kept, because the disk is full: the one thing that is told without a row.
 * Call it each time that is met, also many times; the user hears of it when some minutes went
 * by without. */
void chan_notice(struct channel *self, str address);

/* A render for channels that show a row as it is: one piece, borrowing the row's text. */
int chan_render_whole(struct channel *self, const struct outbox_row *row, struct arena *a,
		      struct piece_new **out, size_t *n, struct err *e);

#endif
