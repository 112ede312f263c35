/*
 * mcp/http_link: what mcp/http, the callers' side, and mcp/http_life, the side of the server's
 * thread, share.  For these alone.
 *
 * Threads  those that say so from any, the others from the server's.
 */
#ifndef MCP_HTTP_LINK_H
#define MCP_HTTP_LINK_H

#include "mcp/http.h"
#include "mcp/http_marks.h"
#include "mcp/http_talk.h"

#include <pthread.h>

/* A message that came to a caller and is for the server's thread; owns itself. */
struct mcp_heard {
	struct arena a;
	struct mcp_heard *next;
	struct mcp_msg m;
	int64_t call; /* the request for which it came; 0: none */
};

/* The marks of a tool. */
struct mcp_marked {
	struct mcp_marked *next;
	str tool;
	struct mcp_mark *marks;
};

/* A header of the manifest, with where its value is. */
struct mcp_http_header {
	str name;
	str value; /* resolved; of a file: its path */
	str missing; /* the variable that is not set; "" none */
	bool file;
};

struct mcp_http {
	struct arena a; /* owns this */
	const struct mcp_link_opt *opt;
	struct mcp_calls *calls;
	struct mcp_carrier carrier;
	struct http_pool *pool;
	struct mcp_auth *auth;
	struct mcp_http_header *headers;
	size_t headers_n;
	const str *secrets; /* of opt, and values of headers */
	size_t secrets_n;
	pthread_mutex_t lock;
	/* Under the lock: */
	struct arena place_arena;
	struct mcp_place place;
	struct arena marked_arena;
	struct mcp_marked *marked;
	const struct http_header *shown; /* what the headers are now */
	int64_t life; /* counts sessions */
	int64_t lost; /* the session of that number is lost */
	struct mcp_heard *heard, **heard_tail;
	size_t heard_n, heard_bytes;
};

/* Where callers carry to from now on; copied. */
void mcp_http_place(struct mcp_http *h, const struct mcp_place *place);

/* A copy of it, and of the headers, in a; any thread.  Its number. */
int64_t mcp_http_where(struct mcp_http *h, struct arena *a, struct mcp_place *place,
		       struct mcp_wire *wire);

/* Put a message in for the server's thread, which takes over *line; any thread, does not wait.
 * Beyond what is kept it is dropped, and when the session of the number life, 0: any, is over;
 * -1: it is what its thread waits for, and kept in any case. */
void mcp_http_hear(struct mcp_http *h, struct arena *line, const struct mcp_msg *m,
		   int64_t call, int64_t life);
/* All of them, in order; the taker frees each. */
struct mcp_heard *mcp_http_heard(struct mcp_http *h);
/* They were of a session that is over. */
void mcp_http_forget(struct mcp_http *h);

/* The tools whose parameters are shown as headers, from now on; takes over *a,
 * where they are. */
void mcp_http_mark(struct mcp_http *h, struct arena *a, struct mcp_marked *list);

/* The headers that a message has from revision 2026-07-28 on; any thread.
 * params may be NULL. */
size_t mcp_http_mirror(struct mcp_http *h, struct arena *a, str method,
		       const struct json *params, struct http_header *v, size_t max);

/* A caller found the session of that number lost; any thread.  And: was the current one? */
void mcp_http_lose(struct mcp_http *h, int64_t life);
bool mcp_http_is_lost(struct mcp_http *h);

/* Read the headers of the manifest anew.  E_DENIED: one of them has no value. */
int mcp_http_headers(struct mcp_http *h, struct err *e) MUSTUSE;

#endif
