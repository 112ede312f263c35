/*
 * chan/telegram_internal: what the files of the Telegram channel share.
 */
#ifndef CHAN_TELEGRAM_INTERNAL_H
#define CHAN_TELEGRAM_INTERNAL_H

#include "chan/telegram.h"
#include "chan/telegram_api.h"
#include "chan/telegram_gate.h"
#include "chan/telegram_report.h"
#include "os/thread.h"
#include "store/approval.h"
#include "text/form.h"

#define CHANNEL S(TELEGRAM_CHANNEL)
#define FLOOD_MAX_MS 60000 /* who is told to wait longer gives up */
#define MESSAGE_UNITS 4096 /* Telegram's limit */
#define FETCHERS 3 /* files that are fetched at the same time */

struct telegram_live;
struct telegram;
struct telegram_fetcher {
	struct telegram *t;
	int64_t n; /* which of them */
	struct thread thread;
	struct bell bell;
};

struct telegram {
	struct channel base;
	struct arena arena; /* owns this struct */
	struct telegram_opt opt;
	struct http_pool *pool;
	struct telegram_api api;
	struct store *store;
	struct chan_up up;
	struct cancel stop;
	struct thread poller;
	struct telegram_self self; /* the poller's; set before the first update */
	char self_name[64];
	struct telegram_live *live;
	struct telegram_report report;
	struct telegram_fetcher fetchers[FETCHERS];
};

/* --- telegram_poll.c --- */
void *telegram_poll_main(void *arg);

/* --- telegram_batch.c: updates become rows --- */
/* Take a list of updates: rows and *cursor in one transaction.  *cursor is what was committed.  E_CANCELED, E_CORRUPT; other faults are waited out here. */
int telegram_batch_take(struct telegram *t, str cursor_key, const struct json *updates,
			int64_t *cursor, struct arena *a) MUSTUSE;

/* The text of a message within its limit: foreign words give way, not the sender's. */
str telegram_batch_text(const struct telegram *t, struct arena *a, str foreign, str typed);

/* --- telegram_files.c: rows that wait for their files --- */
int telegram_files_open(struct telegram *t, struct err *e) MUSTUSE;
int telegram_files_start(struct telegram *t, struct err *e) MUSTUSE;
void telegram_files_stop(struct telegram *t); /* the stop token has been fired */
void telegram_files_close(struct telegram *t);
void telegram_files_wake(struct telegram *t);

/* --- telegram_media.c: files that come in --- */
/* What is to be fetched for a message, as its row keeps it. */
struct telegram_want {
	int64_t bot, chat, message_id;
	enum telegram_media media;
	str file_id;
	int64_t bytes; /* as stated, 0 unknown */
	str quoted, typed; /* its words so far */
};
str telegram_media_want(struct arena *a, const struct telegram_want *w);
/* E_PROTO: the row holds something else. */
int telegram_media_read(struct arena *a, str text, struct telegram_want *w,
			struct err *e) MUSTUSE;

/* Fetch it.  An image: *file, and true.  A text: its words are in *words.  What could not be
 * had is said in *words.  E_CANCELED. */
int telegram_media_fetch(struct telegram *t, const struct telegram_want *w, struct arena *a,
			 struct attachment *file, bool *have, str *words) MUSTUSE;

/* The type of an image by its first bytes, "" when it is none that models take (pure). */
str telegram_media_mime(str data);

/* --- telegram_press.c: buttons --- */
struct telegram_press {
	str approval; /* "" not a button of ours, or: */
	str question; /* of a tool server: */
	int64_t field;
	struct form_said said;
	str turn; /* that waits for it */
	bool marks; /* only what is picked changed: the buttons are to show it */
	bool yes, always;
	str answer; /* what the presser is told, "" nothing */
	bool decided, edit; /* a verdict was made; the prompt is to say how it ended */
	str verdict; /* "": it says so already, or nothing can be said; its buttons go */
};
/* Before the transaction: whose button, and may he? */
void telegram_press_judge(struct telegram *t, const struct telegram_event *ev, struct arena *a,
			  struct telegram_press *out);
int telegram_press_decide(struct tx *tx, const struct telegram_event *ev,
			  struct telegram_press *p, struct arena *a, struct err *e) MUSTUSE;
/* "ok:ID", "no:ID", "al:ID" (pure). */
bool telegram_press_parse(str data, str *id, bool *yes, bool *always);

/* --- telegram_render.c: rows become pieces --- */
int telegram_render(struct channel *self, const struct outbox_row *row, struct arena *a,
		    struct piece_new **out, size_t *n, struct err *e);
/* The pieces of a question (pure). */
int telegram_render_approval(struct arena *a, const struct approval *q, struct piece_new **out,
			     size_t *n, struct err *e) MUSTUSE;
str telegram_html(struct arena *a, str text); /* escaped */
bool telegram_has_buttons(const struct outbox_row *row, const struct piece *piece);
str telegram_buttons(struct arena *a, str approval_id);

/* --- telegram_send.c --- */
void telegram_send(struct channel *self, const struct outbox_row *row,
		   const struct piece *piece, struct arena *a, struct send_result *out,
		   const struct cancel *c);
/* {"chat_id":..,"message_thread_id":..  without the closing brace. */
struct buf telegram_params(struct arena *a, int64_t chat, int64_t thread);
struct telegram_reply telegram_do(struct telegram *t, const char *method, struct buf *params,
				  int64_t timeout_ms, struct arena *a, const struct cancel *c);

/* --- telegram_live.c: what is shown while a turn works --- */
int telegram_live_open(struct telegram *t, struct err *e) MUSTUSE;
int telegram_live_start(struct telegram *t, struct err *e) MUSTUSE;
void telegram_live_stop(struct telegram *t);
void telegram_live_close(struct telegram *t);
void telegram_live(struct channel *self, str turn_id, str address, enum live_kind kind,
		   str text);
void telegram_live_notice(struct channel *self, str address, str text);
/* Nothing more is shown for the turn, and nothing of it is on its way. */
void telegram_live_end(struct telegram *t, str turn_id, const struct cancel *c);
/* Is html what the message was last made to show?  Then an edit would change nothing. */
bool telegram_live_shows(struct telegram *t, int64_t chat, int64_t message_id, str html);
void telegram_live_shown(struct telegram *t, int64_t chat, int64_t message_id, str html);
/* A question stands there with buttons: when it ends by itself, they go. */
void telegram_live_watch(struct telegram *t, str approval_id, int64_t chat, int64_t message_id);
/* Tell a presser, and (edit) what became of the question. */
void telegram_live_answer(struct telegram *t, const struct telegram_event *ev,
			  const struct telegram_press *p);

/* A chat that must be left alone for ms; and for how long it still must, 0 not.  *all_ms: the
 * same for every chat there is. */
void telegram_hold(struct telegram *t, int64_t chat, int64_t ms);
int64_t telegram_held(struct telegram *t, int64_t chat, int64_t *all_ms);

#endif
