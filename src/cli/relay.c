/*
 * Rows of our own on their way to Telegram.  Of a wait that a chat was told to keep the daemon
 * knows as we do, since it is in the database.
 */
#include "cli/relay.h"

#include "chan/telegram_update.h"
#include "gateway/work.h"
#include "os/clock.h"

#define PATIENCE_MS 120000

/* The channel, and what came of the last piece that was not simply sent. */
struct relay {
	struct channel base;
	struct channel *inner;
	enum send_end end;
	int64_t piece; /* whose end that was: sent at another try, it counts no more */
	str error;
	struct arena *a;
};

static int on_render(struct channel *self, const struct outbox_row *row, struct arena *a,
		     struct piece_new **out, size_t *n, struct err *e)
{
	struct relay *r = (struct relay *)self;

	return r->inner->render(r->inner, row, a, out, n, e);
}

static void on_send(struct channel *self, const struct outbox_row *row,
		    const struct piece *piece, struct arena *a, struct send_result *out,
		    const struct cancel *c)
{
	struct relay *r = (struct relay *)self;

	r->inner->send(r->inner, row, piece, a, out, c);
	if (out->end == SEND_OK && r->piece == piece->id)
		r->end = SEND_OK;
	if (out->end == SEND_OK)
		return;
	r->piece = piece->id;
	r->end = out->moved_to.n ? SEND_RETRY : out->end;
	r->error = arena_dup(r->a, out->error);
}

/* Until nothing of ours is left to send. */
static int deliver(struct engine *g, struct relay *r, struct err *e)
{
	const struct work_opt work = { .only = store_owner(g->store), .channel = &r->base };
	int64_t until = clock_mono_ms() + PATIENCE_MS;
	int rc;

	for (;;) {
		int64_t wake_at = 0, ms;
		while ((rc = work_deliver(g, &work, &wake_at, e)) == OK)
			;
		if (rc != E_NOENT || wake_at == 0)
			return rc == E_NOENT ? OK : rc;
		ms = wake_at - clock_now_ms();
		if (clock_mono_ms() + ms > until)
			return err_set(e, E_TIMEOUT, "it could not be sent in time: %.*s",
				       STRF(r->error));
		if ((rc = wait_ms(ms > 0 ? ms : 1, &g->root, e)) < 0)
			return rc;
	}
}

int relay_send(struct engine *g, struct cli *cli, const struct config *cfg, struct err *e)
{
	struct channel *channel = NULL;
	int rc = cli_open_telegram(&channel, cli, cfg, g->store, e);

	if (rc < 0)
		return rc;
	struct relay r = {
		.base = { .name = TELEGRAM_CHANNEL, .render = on_render, .send = on_send },
		.inner = channel,
		.end = SEND_OK,
		.a = cli->a
	};
	rc = deliver(g, &r, e);
	if (rc == OK && r.end == SEND_UNKNOWN)
		rc = err_set(e, E_IO, "it may or may not have arrived: %.*s", STRF(r.error));
	else if (rc == OK && r.end != SEND_OK && r.end != SEND_RETRY)
		rc = err_set(e, E_IO, "%.*s", STRF(r.error));
	telegram_close(channel);
	return rc;
}
