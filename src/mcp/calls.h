/*
 * mcp/calls: the open calls to one server, and the frames that wait to be written to it.
 *
 * A caller puts a frame into the queue and waits for its own bell and nothing else.  The
 * server's thread takes frames out, writes each whole, and hands the answers in.  While that
 * thread has nothing to write, callers write short frames themselves: whole, or not at all.  A
 * call whose caller left is forgotten: its answer is dropped, and the server is told.
 *
 * A call that was not written yet survives the death of its server: it waits for the next
 * life of it, until mcp_calls_shut() says that there is none to wait for.
 *
 * What the server asks in the midst of a call is answered in its caller's thread.
 *
 * Threads  mcp_calls_do(), mcp_calls_request() and mcp_calls_bell() from any thread, many at
 *          once; the rest from the server's thread.
 * Limits   256 open calls, 512 frames in the queue, 4 questions that wait for one caller,
 *          32 in one call.
 */
#ifndef MCP_CALLS_H
#define MCP_CALLS_H

#include "mcp/frame.h"
#include "mcp/session.h"
#include "os/wait.h"

struct mcp_calls;

/* server: its name for messages, borrowed.  ids: as in struct mcp_session_opt. */
int mcp_calls_new(struct mcp_calls **out, str server, _Atomic int64_t *ids,
		  struct err *e) MUSTUSE;
void mcp_calls_free(struct mcp_calls *c); /* nobody is in mcp_calls_do() */

/* As mcp_host_call(); call->server is not looked at. */
int mcp_calls_do(struct mcp_calls *c, const struct mcp_call *call,
		 const struct mcp_limit *limit, struct arena *a, struct mcp_result *result,
		 const struct cancel *cancel, struct err *e) MUSTUSE;

/* As mcp_host_request(). */
int mcp_calls_request(struct mcp_calls *c, const struct mcp_request *request,
		      const struct mcp_limit *limit, struct arena *a,
		      const struct json **result, const struct cancel *cancel,
		      struct err *e) MUSTUSE;

/* Hear what is said of a task, for ms, less when the server says that it is another now.  E_IO
 * it died; what on_question of the call failed with; the codes of cancel. */
int mcp_calls_linger(struct mcp_calls *c, struct mcp_linger *l, int64_t ms,
		     const struct cancel *cancel, struct err *e) MUSTUSE;

/* The handshake is over: how the server that is there now is to be spoken to. */
void mcp_calls_speak(struct mcp_calls *c, const struct mcp_session *session);

/* Rings when there is a frame to write. */
const struct bell *mcp_calls_bell(const struct mcp_calls *c);

/* Until the next frame is taken, or fd is -1: callers may write to fd, which does not block,
 * themselves.  For a thread that has nothing to write, at the border of a frame; taken back
 * before fd is closed. */
void mcp_calls_lend(struct mcp_calls *c, int fd);

/* A request that its caller carries to the server. */
struct mcp_load {
	struct mcp_frame *frame; /* to be closed */
	const char *method;
	str params; /* JSON object text */
	const struct mcp_limit *limit;
	const struct cancel *cancel;
	/* To be called when bell rings, outside of what must not wait; < 0: give up. */
	int (*serve)(void *arg, struct err *e);
	const struct bell *bell;
	void *arg;
	/* Out, when it failed: provably nothing was done; it is to be carried once more when
	 * mcp_calls_carry() says so the next time. */
	bool not_run, again;
};

struct mcp_carrier {
	/* In the caller's thread.  What comes of it has been handed to mcp_calls_answer() and
	 * its like when this returns OK. */
	int (*carry)(void *arg, struct mcp_load *load, struct err *e);
	void *arg;
};

/* From here on callers carry their requests themselves, NULL: they wait.  carrier stays as long
 * as the calls do. */
void mcp_calls_carry(struct mcp_calls *c, const struct mcp_carrier *carrier);
/* The next frame that is no request, NULL when there is none. */
struct mcp_frame *mcp_calls_notice(struct mcp_calls *c);

/* The next frame, NULL when there is none; mcp_calls_wrote() once a byte of it has left. */
struct mcp_frame *mcp_calls_next(struct mcp_calls *c);
void mcp_calls_wrote(struct mcp_calls *c, int64_t id);
/* The server did not take call id, which was written: that fails with rc and why.  not_run: it
 * provably did nothing. */
void mcp_calls_refused(struct mcp_calls *c, int64_t id, int rc, bool not_run, const char *why);

bool mcp_calls_idle(struct mcp_calls *c); /* no call is open */

/* The answer to call id: line's arena, in which result and error live, is taken over when
 * a caller waits for it. */
void mcp_calls_answer(struct mcp_calls *c, const struct mcp_event *ev, struct arena *line);
void mcp_calls_progress(struct mcp_calls *c, const struct mcp_event *ev);

/* The server asks something of whoever made the call it is about, which is ev->id, or where
 * that is not known (0) the last one that was written and answers questions, if all such have
 * one origin: taken to be answered in that thread, then line's arena is taken over.  False,
 * with *why, where it cannot be: the server is to be refused. */
bool mcp_calls_question(struct mcp_calls *c, const struct mcp_event *ev, struct arena *line,
			const char **why);
/* It takes the question with that id back. */
void mcp_calls_withdraw(struct mcp_calls *c, const struct json *id);

/* Another session with the server begins while calls are open: what was to be said to the one
 * before is not said, and what that one asked is taken back. */
void mcp_calls_anew(struct mcp_calls *c);

/* The ids of the calls that were written, at most max. */
size_t mcp_calls_written(struct mcp_calls *c, int64_t *ids, size_t max);

/* A server is there or will be soon: calls are taken. */
void mcp_calls_open(struct mcp_calls *c);
/* It died.  Calls that were written fail with why; unwritten is the frame that was next. */
void mcp_calls_broken(struct mcp_calls *c, struct mcp_frame *unwritten, const char *why);
/* There is none for a while: those that wait, and those to come, fail with why. */
void mcp_calls_shut(struct mcp_calls *c, const char *why);

#endif
