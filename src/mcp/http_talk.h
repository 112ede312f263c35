/*
 * mcp/http_talk: one request over HTTP to a server, and the messages that come back for it: as
 * one JSON text, or as a stream of events, which is taken up again where it broke off.
 *
 * What has provably not been run is sent again by itself: when there was no connection, and
 * when the server said to come back later (429; 503, which some say of what they began, only
 * for what does not act), a few times, with pauses.  No redirect is followed.
 *
 * Threads  any, many at once; what struct mcp_wire points at is not changed meanwhile.
 * Blocks   until the answer or its limit, within 50 ms of a cancel.
 * Limits   one message of message_max bytes; of headers as os/http has them.
 */
#ifndef MCP_HTTP_TALK_H
#define MCP_HTTP_TALK_H

#include "mcp/auth.h"
#include "mcp/rpc.h"
#include "os/http.h"
#include "os/wait.h"

#define MCP_SESSION_ID_MAX 1024

/* What all requests to a server have in common. */
struct mcp_wire {
	struct http_pool *pool;
	struct mcp_auth *auth;
	const struct http_header *headers; /* of the manifest */
	size_t headers_n;
	size_t message_max;
	int64_t connect_ms;
};

/* Where we are with it. */
struct mcp_place {
	str url;
	str session; /* "" none */
	const char *revision; /* agreed; NULL: none yet */
	bool resumes; /* streams can be taken up again */
};

/* What to do with what comes. */
struct mcp_ears {
	/* A message; *line's arena is the one it lives in, and may be taken over.  1: it was a
	 * sign of progress, 2: that for which the request was made, 0: neither; < 0 stops.
	 * Called inside of a transfer: it must not wait. */
	int (*on_message)(void *arg, struct arena *line, const struct mcp_msg *m,
			  struct err *e);
	/* An event of a stream that is no message, by its name; the same
	 * holds.  May be NULL. */
	int (*on_event)(void *arg, str name, str data, struct err *e);
	/* A stream has begun, though nothing may have come yet; the same
	 * holds.  May be NULL. */
	void (*on_open)(void *arg);
	/* As in struct http_req; may be NULL. */
	int (*on_wake)(void *arg, struct err *e);
	const struct bell *wake;
	const int64_t *wake_at_ms;
	void *arg;
};

struct mcp_talk {
	const struct mcp_wire *wire;
	const struct mcp_place *at;
	const char *label; /* what messages call it: the method */
	str body; /* one message */
	const struct http_header *headers; /* of this message */
	size_t headers_n;
	bool asks; /* a request, which wants its answer */
	bool acts; /* made twice it may have its effect twice */
	int64_t call_ms; /* without a sign of progress; 0: no limit */
	int64_t max_ms; /* in all; 0: no limit */
	struct mcp_ears ears;
};

/* How it went, also when it failed. */
struct mcp_told {
	int status; /* of the last answer; 0: none */
	bool not_run; /* the server did provably nothing with it */
	bool no_stream; /* GET: a success with something else */
	bool lost; /* it does not know our session any more */
	str session; /* "" or the session that it began; in the arena, as the next one */
	str body; /* of an answer that is no success */
};

/* POST the message.  OK: it was taken, and answered if it asks.  E_DENIED: a person has to sign
 * in, or something like that; E_PROTO: it is refused, or not understood; E_IO, E_TIMEOUT,
 * E_LIMIT, E_CANCELED. */
int mcp_talk_post(const struct mcp_talk *t, struct arena *a, struct mcp_told *out,
		  const struct cancel *c, struct err *e) MUSTUSE;

/* A stream of its own: GET, from after the event last (may be empty) on.  OK: the server closed
 * it; *last is the id of its last event then, and also after an error, in a; *retry_ms the
 * pause that was asked for, when one was. */
int mcp_talk_listen(const struct mcp_talk *t, struct arena *a, str *last, int64_t *retry_ms,
		    struct mcp_told *out, const struct cancel *c, struct err *e) MUSTUSE;

/* DELETE the session, for at most ms.  What comes of it does not matter. */
void mcp_talk_goodbye(const struct mcp_wire *wire, const struct mcp_place *at, int64_t ms);

#endif
