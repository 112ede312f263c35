/*
 * mcp/calls: the open calls to one server, and the frames that wait to be written to it.
 *
 * A caller puts a frame into the queue and waits for its own bell and nothing else.  The
 * server's thread takes frames out, writes each whole, and hands the answers in.  While that
 * thread has nothing to write, callers write short frames themselves: whole, or not at all.  A call whose
 * caller left is forgotten: its answer is dropped, and the server is told.
 *
 * A call that was not written yet survives the death of its server: it waits for the next
 * life of it, until mcp_calls_shut() says that there is none to wait for.
 *
 * Threads  mcp_calls_do() from any thread, many at once; the rest from the server's thread.
 * Limits   256 open calls, 512 frames in the queue.
 */
#ifndef MCP_CALLS_H
#define MCP_CALLS_H

#include "mcp/rpc.h"
#include "mcp/session.h"
#include "os/wait.h"

struct mcp_calls;

/* One message on its way out; owns itself. */
struct mcp_frame {
	struct arena a;
	struct mcp_frame *next;
	str text;
	int64_t id; /* of the call; 0: a notice */
};
void mcp_frame_free(struct mcp_frame *f);

/* server: its name for messages, borrowed.  ids: as in struct mcp_session_opt. */
int mcp_calls_new(struct mcp_calls **out, str server, _Atomic int64_t *ids,
		  struct err *e) MUSTUSE;
void mcp_calls_free(struct mcp_calls *c); /* nobody is in mcp_calls_do() */

/* As mcp_host_call(); call->server is not looked at. */
int mcp_calls_do(struct mcp_calls *c, const struct mcp_call *call, int64_t timeout_ms,
		 struct arena *a, struct mcp_result *result, const struct cancel *cancel,
		 struct err *e) MUSTUSE;

/* Rings when there is a frame to write. */
const struct bell *mcp_calls_bell(const struct mcp_calls *c);

/* Until the next frame is taken, or fd is -1: callers may write to fd, which does not block,
 * themselves.  For a thread that has nothing to write, at the border of a frame; taken back
 * before fd is closed. */
void mcp_calls_lend(struct mcp_calls *c, int fd);

/* The next frame, NULL when there is none; mcp_calls_wrote() once a byte of it has left. */
struct mcp_frame *mcp_calls_next(struct mcp_calls *c);
void mcp_calls_wrote(struct mcp_calls *c, int64_t id);

bool mcp_calls_idle(struct mcp_calls *c); /* no call is open */

/* The answer to call id: line's arena, in which result and error live, is taken over when
 * a caller waits for it. */
void mcp_calls_answer(struct mcp_calls *c, const struct mcp_event *ev, struct arena *line);
void mcp_calls_progress(struct mcp_calls *c, const struct mcp_event *ev);

/* The ids of the calls that were written, at most max. */
size_t mcp_calls_written(struct mcp_calls *c, int64_t *ids, size_t max);

/* A server is there or will be soon: calls are taken. */
void mcp_calls_open(struct mcp_calls *c);
/* It died.  Calls that were written fail with why; unwritten is the frame that was next. */
void mcp_calls_broken(struct mcp_calls *c, struct mcp_frame *unwritten, const char *why);
/* There is none for a while: those that wait, and those to come, fail with why. */
void mcp_calls_shut(struct mcp_calls *c, const char *why);

#endif
