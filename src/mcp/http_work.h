/*
 * mcp/http_work: what the server's thread does over HTTP whenever it has something to do: takes
 * what came, lets the session decide, and sends what is to be sent.  For mcp/http_life alone,
 * which waits and listens meanwhile.
 *
 * Threads  the server's.
 * Blocks   while a message is sent, within the limits of its kind.
 */
#ifndef MCP_HTTP_WORK_H
#define MCP_HTTP_WORK_H

#include "mcp/hearer.h"
#include "mcp/http_link.h"

#define MCP_MIRROR_MAX 8

struct mcp_life {
	struct mcp_http *h;
	const struct mcp_link_opt *opt;
	const struct cancel *stop;
	struct mcp_hearer hear;
	struct mcp_place place;
	struct arena place_arena;
	int64_t asked; /* the request of ours that is under way */
	int64_t wake_at_ms;
	int64_t endpoint_until_ms;
	int64_t ready_ms; /* since when; 0: it is not */
	bool legacy; /* HTTP+SSE: answers come over the stream */
	bool begun; /* legacy: the stream named its endpoint */
	bool deaf; /* there is no stream to listen to */
	bool listening; /* there is one, and it was open at least once */
	bool open; /* calls are carried */
	bool insisted; /* server/discover was sent once more */
	/* No handshake: the request for a stream of changes that is to be made. */
	struct arena listen_arena;
	str listen;
	bool work_failed; /* while that stream was open */
};

/* One round of work.  *fallback: it failed because this is no Streamable HTTP. */
int mcp_work_round(struct mcp_life *l, bool *fallback, struct err *e) MUSTUSE;

/* Take what came; nothing is sent. */
int mcp_work_heard(struct mcp_life *l, struct err *e) MUSTUSE;

/* sift of struct mcp_hearer: parameters that are to be shown as headers.  A tool that asks for
 * that wrongly is left out. */
void mcp_work_sift(void *arg, struct mcp_listing *listing);

/* on_message of struct mcp_ears, of anything that the thread itself reads. */
int mcp_work_hear(void *arg, struct arena *line, const struct mcp_msg *m, struct err *e);

/* Nobody answered the request id: the session hears of an error, of which error is what the
 * server said in body, if it did.  And: the stream that the request id opened broke off. */
int mcp_work_refused(struct mcp_life *l, int64_t id, str body, struct err *e) MUSTUSE;
int mcp_work_broken(struct mcp_life *l, int64_t id, struct err *e) MUSTUSE;

/* Let calls come, if it is time. */
void mcp_work_open(struct mcp_life *l);

#endif
