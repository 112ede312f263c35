/*
 * The loop of gantry mcp: what comes in, what goes out, and what the calls leave between.  It is
 * the only place that reads or writes, so a frame is never torn, and it never waits for a call.
 */
#include "cli/serve_parts.h"

#include "cli/tidy.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/signals.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#define CHUNK 65536
#define ODD_TOLD 50

static int start(struct serve *s, struct err *e)
{
	int64_t max = s->cfg->limits.input_max_bytes;
	int rc;

	mcp_serve_init(&s->peer, &s->opt);
	mcp_lines_init(&s->lines, (size_t)max * 2 + LINE_EXTRA);
	s->out_buf = buf_in(&s->out_arena, OUT_MAX);
	s->bell.fd = s->deliver.fd = s->claim.fd = -1;
	serve_shared_init(s);
	if ((rc = bell_init(&s->bell, e)) < 0 || (rc = permit_init(&s->claim, e)) < 0)
		return rc;
	return permit_init(&s->deliver, e);
}

static void finish(struct serve *s)
{
	permit_done(&s->deliver);
	permit_done(&s->claim);
	bell_done(&s->bell);
	serve_shared_done(s);
	mcp_lines_done(&s->lines);
	arena_free(&s->out_arena);
}

/* --- output ------------------------------------------------------------------------------------ */

void serve_batch_flush(struct serve *s, struct serve_batch *b)
{
	if (--b->left > 0)
		return;
	if (b->b.n) {
		buf_add(&s->out_buf, buf_str(&b->b));
		buf_add(&s->out_buf, S("]\n"));
	}
	arena_free(&b->a);
}

/* A line that answers: alone, or as a part of its batch's answer. */
void serve_emit(struct serve *s, struct serve_batch *b, str line)
{
	if (!b) {
		buf_add(&s->out_buf, line);
		return;
	}
	buf_addc(&b->b, b->b.n ? ',' : '[');
	buf_add(&b->b, str_trim(line));
	serve_batch_flush(s, b);
}

static void gone(struct serve *s, const char *why)
{
	if (!s->broken)
		log_warn("serve.gone", "reason=\"%s\"", why);
	s->broken = true;
	buf_reset(&s->out_buf);
}

/* What a pipe takes once it polls writable, so that a descriptor that blocks does not. */
static void write_some(struct serve *s)
{
	size_t n = s->out_buf.n < PIPE_BUF ? s->out_buf.n : PIPE_BUF;
	ssize_t done = write(s->out, s->out_buf.p, n);

	if (done < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (done <= 0) {
		gone(s, "standard output takes nothing any more");
		return;
	}
	buf_drop(&s->out_buf, (size_t)done);
	if (s->out_buf.n == 0) {
		arena_free(&s->out_arena);
		s->out_buf = buf_in(&s->out_arena, OUT_MAX);
	}
}

/* --- input ------------------------------------------------------------------------------------- */

static void tell_odd(struct serve *s, str note)
{
	if (s->odd++ < ODD_TOLD)
		log_warn("serve.odd", "note=\"%.*s\"%s", STRF(note),
			 s->odd == ODD_TOLD ? " hint=\"no more of them are told\"" : "");
}

static void take_one(struct serve *s, const struct mcp_msg *m, struct mcp_line *line,
		     struct serve_batch *batch, struct tidy *tidy)
{
	struct buf b = buf_in(&line->a, 1u << 20);
	struct mcp_serve_event ev;
	bool known = s->peer.revision != NULL;

	mcp_serve_take(&s->peer, m, line, &line->a, &b, &ev);
	if (!known && s->peer.revision)
		log_info("serve.host", "name=%.*s revision=%s",
			 STRF(log_q(&line->a, str_of(s->peer.host))), s->peer.revision);
	if (ev.kind == MCP_SERVE_CALL && serve_table_has(s, ev.to.id)) {
		mcp_serve_error(&ev.to, MCP_INVALID_REQUEST, S("the id is in use"), &b);
		ev.kind = MCP_SERVE_NOTHING;
	}
	if (b.n && batch)
		batch->left++;
	if (b.n)
		serve_emit(s, batch, buf_str(&b));
	switch (ev.kind) {
	case MCP_SERVE_CALL:
		if (ev.state.n)
			serve_table_resume(s, &ev);
		else
			serve_table_begin(s, &ev, batch, tidy);
		break;
	case MCP_SERVE_CANCEL:
		serve_table_cancel(s, ev.id);
		break;
	case MCP_SERVE_ANSWER:
		serve_table_answer(s, &ev);
		break;
	case MCP_SERVE_ODD:
		tell_odd(s, ev.note);
		break;
	case MCP_SERVE_NOTHING:
		break;
	}
}

static struct serve_batch *free_batch(struct serve *s)
{
	for (size_t i = 0; i < COUNT(s->batches); i++)
		if (s->batches[i].left == 0)
			return &s->batches[i];
	return NULL;
}

static void take_batch(struct serve *s, const struct mcp_msg *m, struct tidy *tidy)
{
	struct serve_batch *batch = free_batch(s);

	if (!mcp_serve_batches(&s->peer) || m->batch->n > MCP_SERVE_BATCH || !batch) {
		tell_odd(s, S("a batch, which was not agreed upon, or too large"));
		mcp_serve_refuse_batch(&s->peer, S("no batch of that kind is taken here"),
				       &s->out_buf);
		return;
	}
	*batch = (struct serve_batch){ .left = 1 };
	batch->b = buf_in(&batch->a, OUT_MAX / 4);
	for (const struct json *v = m->batch->child; v; v = v->next) {
		struct mcp_line line = { 0 };
		struct buf b = buf_in(&line.a, s->lines.max + LINE_EXTRA);
		struct mcp_msg one;
		json_write(&b, v);
		line.text = buf_str(&b);
		mcp_rpc_read(&one, &line.a, line.text);
		take_one(s, &one, &line, batch, tidy);
		arena_free(&line.a);
	}
	serve_batch_flush(s, batch);
}

static void read_some(struct serve *s, struct tidy *tidy)
{
	static char chunk[CHUNK];
	ssize_t n = read(s->in, chunk, sizeof chunk);
	str bytes = { chunk, n > 0 ? (size_t)n : 0 };
	struct mcp_line line;

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		s->ended = true;
	while (bytes.n && mcp_lines_take(&s->lines, &bytes, &line)) {
		struct mcp_msg m = { .kind = MCP_FOREIGN };
		if (!line.cut)
			mcp_rpc_read(&m, &line.a, line.text);
		if (m.kind == MCP_BATCH)
			take_batch(s, &m, tidy);
		else
			take_one(s, &m, &line, NULL, tidy);
		arena_free(&line.a);
	}
}

/* --- the loop ----------------------------------------------------------------------------------- */

static void hear_signals(struct serve *s)
{
	int signo;

	while ((signo = signals_next(s->signals)) != 0) {
		if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP)
			continue;
		s->signo = signo;
		s->ended = true;
		signals_default();
		serve_table_stop(s);
	}
}

/* Nobody hears a question any more, and the calls have a while to end. */
static void begin_end(struct serve *s)
{
	serve_shared_deaf(s);
	serve_table_ring(s);
	s->until_ms = clock_mono_ms() + s->cfg->gateway.grace_ms;
}

static int step(struct serve *s, struct tidy *tidy, int64_t due, struct err *e)
{
	struct pollfd fds[] = {
		{ .fd = s->ended || s->out_buf.n > OUT_HIGH ? -1 : s->in, .events = POLLIN },
		{ .fd = s->out_buf.n && !s->broken ? s->out : -1, .events = POLLOUT },
		{ .fd = s->bell.fd, .events = POLLIN },
		{ .fd = s->signo ? -1 : s->signals, .events = POLLIN },
	};
	int rc;

	if (s->until_ms && s->until_ms < due)
		due = s->until_ms;
	rc = wait_fds(fds, COUNT(fds), due == INT64_MAX ? 0 : due, &s->g->root, e);
	if (rc < 0 && rc != E_TIMEOUT)
		return rc;
	bell_hear(&s->bell);
	if (fds[3].revents)
		hear_signals(s);
	if (fds[1].revents)
		write_some(s);
	if (fds[0].revents)
		read_some(s, tidy);
	if (s->out_buf.full)
		gone(s, "the host does not read what it is sent");
	/* Nothing can be kept any more; the host starts us again, and that mends it. */
	s->ended |= s->broken || store_failed(s->g->store, NULL) < 0;
	if (s->ended && !s->until_ms)
		begin_end(s);
	else if (s->until_ms && s->until_ms != INT64_MAX && clock_mono_ms() >= s->until_ms) {
		serve_table_stop(s);
		s->until_ms = INT64_MAX;
	}
	return OK;
}

int serve_run(struct serve *s, struct err *e)
{
	struct tidy tidy = { .g = s->g, .leave = &s->g->stop };
	int rc = start(s, e), open = 0;

	while (rc == OK) {
		int64_t due = serve_table_look(s, &tidy, &open);
		if (s->ended && open == 0 && (s->broken || s->out_buf.n == 0))
			break;
		rc = step(s, &tidy, due, e);
	}
	serve_table_drop(s);
	tidy_stop(&tidy);
	finish(s);
	if (rc == OK && s->broken)
		return err_set(e, E_IO, "the host took no more answers");
	return rc == OK ? store_failed(s->g->store, e) : rc;
}
