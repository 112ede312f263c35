/*
 * The server's thread at work: one poll over the pipes of the child, its exit, and the bell
 * of the calls.  Nothing here blocks but that poll and the end of the child.
 *
 * What is written is a frame at a time, whole: a caller that leaves changes nothing about a
 * frame that has begun.  Messages of the session go before calls, at the frame's border.
 */
#include "mcp/client.h"

#include "mcp/child.h"
#include "mcp/flood.h"
#include "mcp/hearer.h"
#include "os/clock.h"
#include "os/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536
#define DRAIN_ROUNDS 64
#define EOF_MS 2000
#define TERM_MS 2000
#define DEAD_EOF_MS 100
#define DEAD_TERM_MS 1000

struct conn {
	const struct mcp_link_opt *opt;
	struct mcp_calls *calls;
	struct proc *proc;
	struct mcp_hearer hear;
	struct mcp_lines lines;
	struct mcp_noise errs, foreign;
	struct mcp_flood flood;
	bool flood_told;
	/* What is being written: a call's frame, or a batch of the session's messages. */
	struct mcp_frame *frame;
	struct arena batch_arena;
	str out;
	size_t out_done;
	bool lent; /* callers may write, see mcp_calls_lend() */
	int64_t stalled_ms; /* since when no byte of it could be written; 0: it moves */
	bool out_open, err_open; /* the child's */
	char chunk[CHUNK];
};

static void noise_init(struct mcp_noise *n, const char *event, const struct mcp_link_opt *opt)
{
	mcp_noise_init(n, event, opt->label);
	n->secrets = opt->secrets;
	n->secrets_n = opt->secrets_n;
}

static struct conn *conn_new(struct arena *a, const struct mcp_link_opt *opt)
{
	struct conn *c = NEW(a, struct conn);

	c->opt = opt;
	c->calls = opt->calls;
	mcp_hearer_init(&c->hear, opt, opt->secrets, opt->secrets_n);
	mcp_lines_init(&c->lines, opt->line_max);
	noise_init(&c->errs, "mcp.stderr", opt);
	noise_init(&c->foreign, "mcp.foreign", opt);
	c->out_open = c->err_open = true;
	return c;
}

static void conn_free(struct conn *c)
{
	proc_close(c->proc);
	mcp_hearer_done(&c->hear);
	mcp_lines_done(&c->lines);
	mcp_frame_free(c->frame);
	arena_free(&c->batch_arena);
}

/* At the border of a frame: may callers write? */
static void lend(struct conn *c, bool may)
{
	if (c->lent != may)
		mcp_calls_lend(c->calls, may ? proc_fd(c->proc, 0) : -1);
	c->lent = may;
}

/* Nothing is being written: take the next thing up, if there is any. */
static void next_output(struct conn *c)
{
	c->out = mcp_hearer_send(&c->hear, &c->batch_arena);
	if (c->out.n) {
		lend(c, false);
	} else if (c->hear.session.phase == MCP_PHASE_READY &&
		   (c->frame = mcp_calls_next(c->calls))) {
		c->lent = false;
		c->out = c->frame->text;
	}
	c->out_done = 0;
}

static void output_done(struct conn *c)
{
	mcp_frame_free(c->frame);
	arena_free(&c->batch_arena);
	c->frame = NULL;
	c->out = (str){ 0 };
}

/* Write as much as the pipe takes. */
static int pump(struct conn *c, struct err *e)
{
	for (;;) {
		ssize_t n;

		if (!c->out.n)
			next_output(c);
		if (!c->out.n)
			return OK;
		n = write(proc_fd(c->proc, 0), c->out.p + c->out_done, c->out.n - c->out_done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			c->stalled_ms = c->stalled_ms ? c->stalled_ms : clock_mono_ms();
			return OK;
		}
		if (n < 0)
			return err_sys(e, "its input is closed");
		c->stalled_ms = 0;
		if (c->frame && c->out_done == 0 && n > 0)
			mcp_calls_wrote(c->calls, c->frame->id);
		c->out_done += (size_t)n;
		if (c->out_done == c->out.n)
			output_done(c);
	}
}

/* Each message of a batch has to own its memory, so each is read again for itself. */
static int take_batch(struct conn *c, const struct json *batch, struct err *e)
{
	for (const struct json *v = batch->child; v; v = v->next) {
		struct arena a = { 0 };
		struct buf b = buf_in(&a, 2 * c->opt->line_max);
		struct mcp_msg m;
		int rc = OK;

		json_write(&b, v);
		mcp_rpc_read(&m, &a, buf_str(&b));
		if (m.kind != MCP_BATCH)
			rc = mcp_hearer_take(&c->hear, &m, 0, &a, e);
		arena_free(&a);
		if (rc < 0)
			return rc;
	}
	return OK;
}

/* The answer to id could not be kept: it is answered with an error of ours. */
static int answer_lost(struct conn *c, int64_t id, const char *why, struct err *e)
{
	char error[128];

	(void)snprintf(error, sizeof(error),
		       "{\"message\":\"the answer was %s and was dropped\"}", why);
	return mcp_hearer_fail(&c->hear, id, str_of(error), e);
}

/* A line that is too long or, as a whole, too deep to read. */
static int take_unread(struct conn *c, const struct mcp_line *line, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t ids[256 + 5], id;
	char why[64];
	size_t n = 0;
	int rc = OK;

	(void)(line->cut
		       ? snprintf(why, sizeof(why), "over the limit of %zu bytes",
				  c->opt->line_max)
		       : snprintf(why, sizeof(why), "nested too deeply or of too many parts"));
	mcp_noise_line(&c->foreign, S("warning"),
		       arena_fmt(&a, "a line was %s and was dropped", why), clock_mono_ms());
	switch (mcp_rpc_lost(line, &id)) {
	case MCP_LOST_NOTHING:
		return OK;
	case MCP_LOST_ONE:
		return answer_lost(c, id, why, e);
	case MCP_LOST_UNKNOWN:
		break;
	}
	n = mcp_session_open(&c->hear.session, ids);
	n += mcp_calls_written(c->calls, ids + n, COUNT(ids) - n);
	for (size_t i = 0; i < n && rc == OK; i++)
		rc = answer_lost(c, ids[i], why, e);
	return rc;
}

static int take_line(struct conn *c, struct mcp_line *line, struct err *e)
{
	struct mcp_msg m;

	if (line->cut)
		return take_unread(c, line, e);
	mcp_rpc_read(&m, &line->a, line->text);
	if (m.kind == MCP_DEEP) {
		line->tail = line->text;
		return take_unread(c, line, e);
	}
	if (m.kind == MCP_BATCH)
		return take_batch(c, m.batch, e);
	if (m.kind == MCP_FOREIGN)
		mcp_noise_line(&c->foreign, (str){ 0 }, line->text, clock_mono_ms());
	return mcp_hearer_take(&c->hear, &m, 0, &line->a, e);
}

/* One read of the child's stdout; *more: there may be more at once. */
static int read_out(struct conn *c, bool *more, struct err *e)
{
	ssize_t n = read(proc_fd(c->proc, 1), c->chunk, sizeof(c->chunk));
	str bytes = { c->chunk, n > 0 ? (size_t)n : 0 };
	int rc = OK;

	*more = n > 0 || (n < 0 && errno == EINTR);
	mcp_flood_note(&c->flood, MCP_FLOOD_BYTES, bytes.n, clock_mono_ms());
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->out_open = false;
	while (bytes.n && rc == OK) {
		struct mcp_line line;

		if (!mcp_lines_take(&c->lines, &bytes, &line))
			break;
		rc = take_line(c, &line, e);
		/* The memory of an answer is with the call that waited for it. */
		if (line.a.used)
			mcp_flood_note(&c->flood, MCP_FLOOD_UNASKED, line.text.n,
				       clock_mono_ms());
		arena_free(&line.a);
	}
	return rc;
}

static bool read_err(struct conn *c)
{
	ssize_t n = read(proc_fd(c->proc, 2), c->chunk, sizeof(c->chunk));
	int64_t now = clock_mono_ms();

	if (n > 0) {
		mcp_flood_note(&c->flood, MCP_FLOOD_STDERR, (size_t)n, now);
		mcp_noise_feed(&c->errs, (str){ c->chunk, (size_t)n }, now);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		mcp_noise_end(&c->errs, now);
		c->err_open = false;
	}
	return n > 0;
}

/* It has ended, or closed its stdout: what it still said is read, within bounds. */
static int drain(struct conn *c, struct err *e)
{
	bool more = c->out_open;
	int rc = OK;

	for (int i = 0; i < DRAIN_ROUNDS && more && rc == OK; i++)
		rc = read_out(c, &more, e);
	for (int i = 0; i < DRAIN_ROUNDS && c->err_open && read_err(c); i++)
		;
	return rc < 0 ? rc : err_set(e, E_IO, "it closed its output");
}

static int64_t wake_at(struct conn *c, bool idle)
{
	int64_t due = mcp_hearer_due(&c->hear, idle);

	if (c->stalled_ms && c->stalled_ms + c->opt->stall_ms < due)
		due = c->stalled_ms + c->opt->stall_ms;
	if (c->flood.until_ms && c->flood.until_ms < due)
		due = c->flood.until_ms;
	return due == INT64_MAX ? 0 : due;
}

/* Who sends more than can be read beside all else waits for a while. */
static bool floods(struct conn *c, int64_t now)
{
	if (!mcp_flood_over(&c->flood, now))
		return false;
	if (!c->flood_told)
		mcp_hearer_remark(
			&c->hear,
			S("it sends more than anybody asked for, and is read slowly"));
	return c->flood_told = true;
}

enum { BELL, WATCH, OUT, ERR, IN, EXIT, FDS };

/* One round of waiting and serving. */
static int serve(struct conn *c, const struct cancel *stop, struct err *e)
{
	bool idle = mcp_calls_idle(c->calls), more;
	struct pollfd fds[FDS] = {
		[BELL] = { .fd = mcp_calls_bell(c->calls)->fd, .events = POLLIN },
		[WATCH] = { .fd = mcp_watches_bell(c->opt->watches)->fd, .events = POLLIN },
		[OUT] = { .fd = proc_fd(c->proc, 1), .events = POLLIN },
		[ERR] = { .fd = c->err_open ? proc_fd(c->proc, 2) : -1, .events = POLLIN },
		[IN] = { .fd = -1, .events = POLLOUT },
		[EXIT] = { .fd = proc_exit_fd(c->proc), .events = POLLIN },
	};
	int64_t now = clock_mono_ms();
	int rc = mcp_session_tick(&c->hear.session, now, idle, &c->hear.out, e);

	if (rc < 0 || (rc = pump(c, e)) < 0)
		return rc;
	if (c->stalled_ms && now >= c->stalled_ms + c->opt->stall_ms)
		return err_set(e, E_TIMEOUT, "it read nothing for %lld ms",
			       (long long)c->opt->stall_ms);
	mcp_hearer_tick(&c->hear, now);
	if (floods(c, now))
		fds[OUT].fd = fds[ERR].fd = -1;
	if (c->out.n)
		fds[IN].fd = proc_fd(c->proc, 0);
	else
		lend(c, c->hear.session.phase == MCP_PHASE_READY);
	rc = wait_fds(fds, FDS, wake_at(c, idle), stop, e);
	if (rc < 0)
		return rc == E_TIMEOUT && cancel_reason(stop) == CANCEL_NONE ? OK : rc;
	if (fds[BELL].revents)
		bell_hear(mcp_calls_bell(c->calls));
	if (fds[WATCH].revents)
		mcp_hearer_watch(&c->hear);
	if (fds[ERR].revents)
		(void)read_err(c);
	if (fds[OUT].revents && (rc = read_out(c, &more, e)) < 0)
		return rc;
	if (fds[EXIT].revents || !c->out_open)
		return drain(c, e);
	return OK;
}

/* "exit 1; stderr: its last line", as far as there is such a thing. */
static void say_why(struct conn *c, int rc, const char *why, struct mcp_ended *out)
{
	bool err = c->errs.last[0] || c->hear.was_ready;
	const char *word = err ? "; stderr: " : "; its output is no JSON-RPC 2.0: ";
	const char *said = err ? c->errs.last : c->foreign.last;

	if (!said[0] || (rc != E_IO && c->hear.was_ready))
		word = said = "";
	(void)snprintf(out->why, sizeof(out->why), "%s%s%s", why, word, said);
	out->was_ready = c->hear.was_ready;
	out->probed = rc == E_IO && c->hear.session.phase == MCP_PHASE_DISCOVER;
}

static int end(struct conn *c, int rc, const struct err *e, struct mcp_ended *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool stopping = rc == E_CANCELED;
	struct mcp_frame *unwritten = c->out_done == 0 ? c->frame : NULL;
	const char *why = stopping ? "it was stopped" : e->msg;
	int status;

	lend(c, false);
	if (rc == E_IO &&
	    proc_wait(c->proc, &status, clock_mono_ms() + DEAD_EOF_MS, NULL, NULL) == OK)
		why = proc_status_text(&a, status).p;
	proc_stop(c->proc, stopping ? EOF_MS : DEAD_EOF_MS, stopping ? TERM_MS : DEAD_TERM_MS,
		  NULL);
	while (c->err_open && read_err(c))
		;
	say_why(c, rc, why, out);
	if (unwritten)
		c->frame = NULL;
	mcp_calls_broken(c->calls, unwritten, out->why);
	return rc;
}

int mcp_client_live(const struct mcp_link_opt *opt, const struct cancel *stop,
		    struct mcp_ended *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct conn *c = conn_new(&a, opt);
	struct err e = { 0 };
	int rc = mcp_child_start(&c->proc, opt, stop, &e);

	*out = (struct mcp_ended){ 0 };
	if (rc < 0) {
		(void)snprintf(out->why, sizeof(out->why), "%s", e.msg);
		mcp_calls_broken(opt->calls, NULL, out->why);
		conn_free(c);
		return rc;
	}
	mcp_hearer_watch(&c->hear);
	mcp_hearer_begin(&c->hear);
	while (rc == OK)
		rc = serve(c, stop, &e);
	rc = end(c, rc, &e, out);
	conn_free(c);
	return rc;
}
