/*
 * mcp/session: the protocol with one server, in every revision known: a server is asked with
 * server/discover what it speaks, and with initialize when it does not answer that (2024-11-05
 * to 2025-11-25; the words of the later ones are in mcp/stateless).  It is told messages and
 * the time, and says what to send and what has happened; the bytes are carried by a link.
 * Pure.
 *
 * Tool calls are not its business: a call is a request like any other to the server, and its
 * answer is handed on.
 *
 * Threads  one.
 */
#ifndef MCP_SESSION_H
#define MCP_SESSION_H

#include "base/str_list.h"
#include "mcp/pages.h"
#include "mcp/question.h"

/* How a server begins. */
enum mcp_era { MCP_ERA_UNKNOWN, MCP_ERA_INITIALIZE, MCP_ERA_STATELESS };

/* What is known of a server from its handshake. */
struct mcp_peer {
	const char *revision; /* agreed */
	bool stateless;
	char server[80]; /* name and version that the server gives itself */
	struct mcp_caps caps;
	struct {
		bool tools, resources, prompts;
	} tells; /* it says when these lists change */
	bool tasks; /* calls of its tools may be made as tasks (2025-11-25) */
};

struct mcp_session_opt {
	const char *version; /* of ours */
	enum mcp_era era; /* as it was the last time; UNKNOWN: probe */
	struct mcp_offer offer;
	/* Absolute paths of the directories to offer, NULL: none.  Another list may stand there
	 * later, when there was one at first. */
	const struct str_list *_Atomic *roots;
	const char *_Atomic
		*level; /* of log messages, where the server has a level; NULL: its own */
	int64_t start_ms; /* limit of the handshake */
	int64_t ping_ms; /* how long silence may last; 0: for ever */
	_Atomic int64_t *ids; /* the last id that was given to a request */
};

enum mcp_phase {
	MCP_PHASE_NEW,
	MCP_PHASE_DISCOVER,
	MCP_PHASE_INITIALIZE,
	MCP_PHASE_LIST,
	MCP_PHASE_READY,
};

struct mcp_session {
	const struct mcp_session_opt *opt;
	enum mcp_phase phase;
	bool probed; /* the era was found out, not remembered */
	struct mcp_peer peer; /* once agreed */
	struct mcp_pages pages; /* its listing is whole after MCP_EVENT_TOOLS */
	/* 0: not asked, or answered. */
	int64_t id_discover, id_initialize, id_ping, id_listen;
	int64_t until_ms; /* of the handshake, or of a listing */
	int64_t probe_until_ms; /* then initialize is tried beside */
	int64_t heard_ms, ping_until_ms;
	int64_t listen_at_ms, listen_pause_ms; /* when to listen; 0: not */
	int64_t listens_ms; /* since when it does, or did */
	struct arena watched_arena;
	const str *watched; /* URIs of resources */
	size_t watched_n;
	const char *level; /* that it was told */
	const struct str_list *roots; /* that it could ask for so far */
};

enum mcp_event_kind {
	MCP_EVENT_NONE,
	MCP_EVENT_TOOLS, /* the list is whole: take pages.listing; the first time: ready */
	MCP_EVENT_ANSWER, /* to a request that is not the session's */
	MCP_EVENT_PROGRESS, /* of a call by its id, of a task, or the end of a link's matter */
	MCP_EVENT_LOG,
	MCP_EVENT_QUESTION, /* a request that whoever made a call has to answer */
	MCP_EVENT_WITHDRAWN, /* such a request is taken back */
	MCP_EVENT_NOTICE, /* see on_notice of mcp_host_opt */
	MCP_EVENT_ODD, /* something went wrong that does not end the session */
};

struct mcp_event {
	enum mcp_event_kind kind;
	int64_t id; /* ANSWER, PROGRESS */
	const struct json *result, *error; /* ANSWER: one of them */
	const struct json *request; /* QUESTION, WITHDRAWN: its id */
	enum mcp_question_kind question; /* QUESTION */
	const struct json *params; /* QUESTION, NOTICE; may be NULL */
	str method; /* NOTICE */
	str task, link; /* PROGRESS: ids that the server gave */
	double done, total; /* PROGRESS; total < 0: unknown */
	str level, text; /* LOG, PROGRESS, ODD and TOOLS (a remark, mostly "") */
};

void mcp_session_init(struct mcp_session *s, const struct mcp_session_opt *opt);
void mcp_session_done(struct mcp_session *s);

/* Each may append whole lines to out.  Failure ends the session, with the reason: E_PROTO,
 * E_LIMIT, E_TIMEOUT.  Text in *ev lives in a. */
void mcp_session_begin(struct mcp_session *s, int64_t now_ms, struct buf *out);
int mcp_session_take(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
		     struct arena *a, struct buf *out, struct mcp_event *ev,
		     struct err *e) MUSTUSE;

/* Time has passed.  idle: no call is open. */
int mcp_session_tick(struct mcp_session *s, int64_t now_ms, bool idle, struct buf *out,
		     struct err *e) MUSTUSE;

/* The resources whose updates are wanted, all of them; copied.  A life begins with asking for
 * them; while it lasts a server with a handshake has been asked by whoever wants them. */
void mcp_session_watch(struct mcp_session *s, const str *uris, size_t n, struct buf *out);

/* When mcp_session_tick() has something to do. */
int64_t mcp_session_due(const struct mcp_session *s, bool idle);

/* The ids of the session's own requests that wait for an answer, at most 5. */
size_t mcp_session_open(const struct mcp_session *s, int64_t ids[5]);

/* For mcp/stateless: a revision of the initialize era, NULL when it is unknown; and what a
 * server says of itself, of which info and caps may be missing. */
const char *mcp_session_revision(str version);
void mcp_session_read_peer(struct mcp_peer *peer, const struct json *info,
			   const struct json *caps);

#endif
