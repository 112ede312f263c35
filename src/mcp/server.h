/*
 * mcp/server: one server of the manifest, kept alive: its thread runs one life after the
 * other, with pauses that grow as long as it fails.  For mcp/host alone, which keeps what is
 * to be known about it.
 *
 * Threads  all from one (the host's caller) but the calls and requests.
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "mcp/host.h"
#include "mcp/link.h"
#include "os/thread.h"

struct mcp_server;

struct mcp_server_opt {
	const struct mcp_server_cfg *cfg; /* copied */
	const char *const *env; /* copied */
	const char *cwd; /* copied */
	const struct config *config; /* this and vars are read in mcp_server_new() only */
	const struct env *vars; /* of the daemon */
	str root; /* borrowed */
	struct mcp_offer offer;
	/* All from the server's thread.  A life begins or ended; ready: it had come to tools;
	 * retry_ms: the pause before the next one. */
	void (*on_start)(void *arg, struct mcp_server *s);
	void (*on_end)(void *arg, struct mcp_server *s, const struct mcp_ended *ended,
		       bool soon, int64_t retry_ms);
	void (*on_tools)(void *arg, struct mcp_server *s, const struct mcp_session *session,
			 struct mcp_listing *listing);
	void (*on_notice)(void *arg, struct mcp_server *s, str method,
			  const struct json *params);
	void *arg;
};

/* What the host knows about a server, under the host's lock. */
struct mcp_known {
	enum mcp_state state;
	char note[256];
	size_t published;
	int64_t lives, since_ms, tokens;
	int64_t listed_life; /* the life of the last list */
	bool first; /* its first handshake is not over */
	struct mcp_listing listing; /* the last good one */
	uint64_t kept; /* hash of the listing that was saved */
	str kept_peer; /* the server that the kept list was of */
	struct mcp_peer peer; /* of its last handshake */
	size_t users; /* calls in progress */
	uint64_t told[16]; /* tools whose results are not what they promise, by hash */
	size_t told_n;
	struct mcp_sampled sampled;
};

struct mcp_server {
	struct arena a; /* owns the rest */
	struct mcp_server *next;
	struct mcp_server_cfg cfg;
	struct mcp_server_opt opt;
	struct mcp_link_opt link;
	struct mcp_calls *calls;
	struct mcp_http *http; /* NULL: it is a child */
	struct mcp_watches *watches;
	_Atomic int64_t ids;
	const char *_Atomic level; /* of its log messages, as it is to be told */
	const struct str_list *_Atomic roots; /* the same; older lists stay in .a */
	struct cancel stop;
	struct thread thread;
	bool open; /* calls are taken; the thread's own note */
	struct mcp_known known;
};

/* Without a thread yet, so that the host can fill .known. */
int mcp_server_new(struct mcp_server **out, const struct mcp_server_opt *opt,
		   struct err *e) MUSTUSE;
int mcp_server_start(struct mcp_server *s, struct err *e) MUSTUSE;

/* What is kept between runs, JSON text in a: the list, how the server begins, and which
 * server that was found out of.  And what of it is not the list, taken over before
 * there is a thread. */
str mcp_server_kept(const struct mcp_server *s, const struct mcp_session *session,
		    const struct mcp_listing *listing, struct arena *a);
void mcp_server_recall(struct mcp_server *s, const struct json *kept);

/* As of the link, from any thread; and what is to be done again, or waited for, without
 * anybody above having to know of it. */
int mcp_server_call(struct mcp_server *s, const struct mcp_call *call,
		    const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		    const struct cancel *c, struct err *e) MUSTUSE;

/* resources/subscribe and resources/unsubscribe, which hold for all lives of the server. */
int mcp_server_watch(struct mcp_server *s, const struct mcp_request *request,
		     const struct mcp_peer *peer, const struct mcp_limit *limit,
		     struct arena *a, const struct json **result, const struct cancel *c,
		     struct err *e) MUSTUSE;

/* Ask it to end; then wait for that; then free.  NULL is fine for the last. */
void mcp_server_ask_stop(struct mcp_server *s);
void mcp_server_join(struct mcp_server *s);
void mcp_server_free(struct mcp_server *s);

/* Of .known, under the host's lock: what the tool of a call promises and wants, in a; and
 * is this the first result of the tool that is not what it promises?  False too when there
 * were many tools. */
void mcp_server_terms(const struct mcp_server *s, struct mcp_call *call, struct arena *a);
bool mcp_server_first_mismatch(struct mcp_server *s, str tool);

/* Is it what the entry says, or can it become that without another life? */
bool mcp_server_keeps(const struct mcp_server *s, const struct mcp_server_cfg *cfg);

/* Into the log: tools of the list without a usable name, and names in the manifest that
 * it does not have. */
void mcp_server_warn(const struct mcp_server *s, const struct mcp_listing *l);

/* The configuration or its entry is another: so may be what it is to log, and its roots. */
void mcp_server_level(struct mcp_server *s, const struct config *config);
void mcp_server_roots(struct mcp_server *s, const struct mcp_server_cfg *cfg);

/* As mcp_host_sampling(), under the host's lock. */
int mcp_server_sample(struct mcp_server *s, const struct mcp_question *q, struct arena *a,
		      struct mcp_sampling_cfg *out, struct err *e) MUSTUSE;

#endif
