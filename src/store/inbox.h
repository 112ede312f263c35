/*
 * store/inbox: the one door in.  Whatever starts a turn is a row here.
 */
#ifndef STORE_INBOX_H
#define STORE_INBOX_H

#include "store/store.h"

/* A file that came with a message: photo, ...  The channel writes and fsyncs it under
 * store_blobs() before the row commits; a file that no row names is swept away after an hour,
 * and so are those of messages that were handled. */
struct attachment {
	str kind; /* photo: shown to the model, and marked in the text of its turn */
	str file; /* its name in the blob directory */
	str mime;
	int64_t bytes;
};

/* The directory of the files; it exists. */
str store_blobs(const struct store *s);

/* Remove the files that nothing will read any more. */
int store_blobs_sweep(struct store *s, struct err *e) MUSTUSE;

#define STORE_ALBUM_MS 1500 /* a turn waits this long for one more part of an album */

struct inbox_new {
	str channel, address;
	str session_channel,
		session_address; /* of the session, where it is another; "" the same */
	str dedupe; /* the event (chat + message id, ...); "": none.  Kept seven days */
	str kind; /* message, cli, cron, watch, system */
	str owner; /* "": any daemon worker; else only this instance runs it (cli) */
	str sender; /* who, for the audit */
	str text; /* what the user said, valid UTF-8 */
	str meta; /* JSON object text, "" none */
	str reply_to; /* the channel's message id, "" none */
	str album; /* parts with the same one in a session are one turn; "" none */
	const struct attachment *files;
	size_t files_n;
	str fetch; /* what the channel has yet to fetch for it, in its own words; until then the row
		    * waits, and with it what came after it in its session.  "" nothing */
	int64_t waiting_max; /* with more ready rows of the session than this the address gets one
	                      * notice a burst, in the outbox; 0: never */
};

/* Insert one row, and the session when it is new.  *id is 0 when the channel has seen the
 * event before (nothing inserted). */
int store_inbox_add(struct tx *tx, const struct inbox_new *row, int64_t *id,
		    struct err *e) MUSTUSE;

/* Remember an event that becomes no row; *seen: it was there already. */
int store_inbox_seen(struct tx *tx, str channel, str event, bool *seen, struct err *e) MUSTUSE;

/* A row that waits for its file. */
struct inbox_fetch {
	int64_t id;
	str fetch; /* as it was given */
};

/* The oldest one of a channel whose id leaves rest when divided by of: so many threads may
 * work on them side by side.  E_NOENT. */
int store_fetch_next(struct store *s, str channel, int64_t rest, int64_t of, struct arena *a,
		     struct inbox_fetch *out, struct err *e) MUSTUSE;

/* The fetching is over: the row has this text, and the file (NULL: none came), which is on the
 * disk.  E_NOENT: it was dropped meanwhile, nothing is changed. */
int store_fetch_end(struct tx *tx, int64_t id, str text, const struct attachment *file,
		    struct err *e) MUSTUSE;

/* Is the row still ready: neither claimed nor dropped? */
int store_inbox_waits(struct store *s, int64_t id, bool *waits, struct err *e) MUSTUSE;

/* Rows ready of one session, or with "" of all. */
int store_inbox_ready(struct store *s, str session_id, int64_t *n, struct err *e) MUSTUSE;

/* Messages of a session that could join its running turn now. */
int store_inbox_joinable(struct store *s, str session_id, int64_t *n, struct err *e) MUSTUSE;

/* When the next album is complete, as far as one knows, of those that were not at since_ms: before
 * one looked for work, so that none becomes complete between the two looks.  0 none waits. */
int store_inbox_next_at(struct store *s, int64_t since_ms, int64_t *at_ms,
			struct err *e) MUSTUSE;

/* What the daemons still have to do: rows ready and turns ready or running. */
int store_inbox_open(struct store *s, int64_t *n, struct err *e) MUSTUSE;

/* A channel's position, keyed by (channel, API base, bot id); assigned, never a maximum.
 * 0 when there is none. */
int store_cursor_set(struct tx *tx, str key, int64_t value, struct err *e) MUSTUSE;
int store_cursor_get(struct store *s, str key, int64_t *value, struct err *e) MUSTUSE;

/* Control words take effect in the transaction that recorded them: the session's unfinished
 * turn is marked cancel_requested (a parked one becomes ready, so that a worker ends it), its
 * ready rows are dropped; CONTROL_NEW also bumps the epoch, clears the summary and leaves a
 * system row (SYSTEM_RENEW).  dedupe as
 * above: out->seen tells a repeated event, then nothing is done.  An unknown session is fine. */
enum control { CONTROL_STOP, CONTROL_NEW };

struct control_effect {
	str turn_id; /* to fire; "" none was running */
	int64_t dropped; /* ready rows dropped */
	bool seen;
};

int store_control(struct tx *tx, enum control what, str channel, str address, str dedupe,
		  struct arena *a, struct control_effect *out, struct err *e) MUSTUSE;

#endif
