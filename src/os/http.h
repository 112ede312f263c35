/*
 * os/http: one HTTP request over libcurl's multi interface, cancellable in every phase.
 *
 * TLS >= 1.2, always verified.  Proxy variables and a custom CA bundle come from the options
 * (they are read from the environment once, at start, by config).  A pooled handle keeps
 * connections warm between requests; one user at a time.
 *
 * A request whose method is not GET or HEAD is never sent twice: when a warm connection turns
 * out to be dead after the request was written, that is E_IO with maybe_sent.
 *
 * Threads  http_borrow() and http_return() from any thread; a borrowed handle by one.
 * Blocks   http_do() until done, within 50 ms of a cancel.  A cancel during DNS returns
 *          at once (CURLOPT_QUICK_EXIT).
 * Owns     the pool all handles; close it when each is back.
 * Limits   64 KiB and 128 lines of response headers (E_LIMIT); no redirect is followed.
 * Errors   messages name host and req->label, never the URL, query or headers.
 */
#ifndef OS_HTTP_H
#define OS_HTTP_H

#include "base/arena.h"
#include "os/cancel.h"

struct bell;

struct http_opt {
	const char *ca_file; /* NULL: the system's bundle */
	const char *http_proxy; /* each NULL or "" for none */
	const char *https_proxy;
	const char *all_proxy;
	const char *no_proxy;
	const char *user_agent; /* NULL: "gantry" */
};

struct http_pool;
struct http;

/* The options are copied. */
int http_pool_open(struct http_pool **out, const struct http_opt *opt, struct err *e) MUSTUSE;
void http_pool_close(struct http_pool *p);
struct http *http_borrow(struct http_pool *p); /* never NULL */
void http_return(struct http **h); /* for SCOPED */

/* Close the handles, and with them the connections, that nobody has used for idle_ms.  Any
 * thread. */
void http_pool_tidy(struct http_pool *p, int64_t idle_ms);

struct http_header {
	str name, value;
};

struct http_req {
	const char *method; /* NULL: GET, or POST with a body */
	str url;
	const char *label; /* "/chat/completions": what error messages call it */
	const struct http_header *headers; /* control characters in one: E_INVAL */
	size_t headers_n;
	str body;
	/* Phases in ms, 0: no limit but the token's.  first: until the sink first accepts a
	 * chunk as progress (or the body is complete), counted from the connection; idle:
	 * between such chunks.  Connect includes DNS, proxy and TLS. */
	int64_t connect_ms, first_ms, idle_ms, total_ms;
	/* Connect to public addresses only (base/ip.h), whatever the name resolves to, on a
	 * connection of its own and never through a proxy.  E_DENIED: there was no other. */
	bool public_only;
	size_t body_max; /* decoded bytes, 0: 16 MiB; E_LIMIT beyond */
	/* Called for each chunk of a 2xx body, in the borrowing thread.  Return 1: progress
	 * (idle timer restarts), 0: data that does not count, < 0: stop, http_do returns it;
	 * n > 1: all that matters is here, wait at most n ms more for the end of the body and
	 * then be OK in any case.  NULL: the body is collected in resp->body.  Bodies of
	 * other statuses are always collected; after 64 KiB the rest is not awaited. */
	int (*sink)(void *arg, str chunk, struct err *e);
	/* The headers of the answer are there; called like sink.  May be NULL. */
	void (*on_head)(void *arg);
	/* Called in the borrowing thread, between two chunks and outside of libcurl, when wake
	 * rings (it is heard beforehand) or *wake_at_ms has come (monotonic, 0: never; looked at
	 * each time).  It may take as long as it likes: that time counts for no limit of the
	 * request.  < 0: stop, http_do returns it. */
	int (*on_wake)(void *arg, struct err *e);
	const struct bell *wake; /* NULL: none */
	const int64_t *wake_at_ms; /* NULL: never */
	void *arg; /* of all */
};

struct http_resp {
	int status;
	str body;
	const struct http_header *headers; /* names lower-cased */
	size_t headers_n;
	bool maybe_sent; /* the request may have reached the server; also set on failure */
};

/* OK with any status.  *out is always written, status and headers already while the sink is
 * called: on failure it holds what came before it (status 0: nothing).  E_INVAL not an http(s) URL or a bad header, E_IO connection or DNS
 * failed or was cut, E_TIMEOUT a phase took too long (the message names it), E_PROTO not
 * HTTP or TLS refused, E_LIMIT, E_DENIED by public_only, E_CANCELED. */
int http_do(struct http *h, const struct http_req *req, struct arena *a, struct http_resp *out,
	    const struct cancel *c, struct err *e) MUSTUSE;

str http_header(const struct http_resp *r, const char *name); /* "" when absent */

#endif
