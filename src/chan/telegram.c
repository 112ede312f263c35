/*
 * The channel as an object: opening, starting and stopping.  What it does is in the files
 * beside: poll, batch, files and media bring messages in, render and send take answers out, live shows
 * what happens between.
 */
#include "chan/telegram_internal.h"

/* Chats that an earlier process was told to leave alone. */
static void hold_on(struct telegram *t)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t chat, thread;
	struct outbox_wait *v;
	size_t n = 0;

	if (store_outbox_waiting(t->store, CHANNEL, &a, &v, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (telegram_address_read(v[i].address, &chat, &thread))
			telegram_hold(t, chat, v[i].left_ms);
}

static int on_start(struct channel *self, struct store *store, const struct chan_up *up,
		    const struct cancel *c, struct err *e)
{
	struct telegram *t = (struct telegram *)self;
	int rc = cancel_init(&t->stop, c, 0, e);

	(void)store; /* known since the opening: deliverers begin before us */
	if (rc < 0)
		return rc;
	t->up = *up;
	hold_on(t);
	if ((rc = telegram_report_start(t, e)) < 0 || (rc = telegram_live_start(t, e)) < 0 ||
	    (rc = telegram_files_start(t, e)) < 0 ||
	    (rc = thread_start(&t->poller, "telegram", telegram_poll_main, t, e)) < 0) {
		cancel_fire(&t->stop, CANCEL_SHUTDOWN);
		telegram_live_stop(t);
		telegram_files_stop(t);
		cancel_done(&t->stop);
	}
	return rc;
}

static void on_stop(struct channel *self)
{
	struct telegram *t = (struct telegram *)self;

	if (!t->poller.running)
		return;
	cancel_fire(&t->stop, CANCEL_SHUTDOWN);
	thread_join(&t->poller);
	telegram_live_stop(t);
	telegram_files_stop(t);
	cancel_done(&t->stop);
}

static str without_slash(struct arena *a, str url)
{
	while (str_ends(url, S("/")))
		url = str_sub(url, 0, url.n - 1);
	return arena_dup(a, url.n ? url : S(TELEGRAM_BASE_URL));
}

int telegram_open(struct channel **out, const struct telegram_opt *opt, struct err *e)
{
	struct arena a = { 0 };
	struct telegram *t = NEW(&a, struct telegram);
	int rc;

	t->base = (struct channel){
		.name = TELEGRAM_CHANNEL,
		.asks = true,
		.start = on_start,
		.stop = on_stop,
		.render = telegram_render,
		.send = telegram_send,
		.live = telegram_live,
		.notice = telegram_live_notice,
	};
	t->opt = *opt;
	t->store = opt->store;
	t->stop.fd = -1;
	t->api.base_url = without_slash(&a, opt->cfg->api_base_url);
	t->api.token = arena_dup(&a, opt->cfg->token);
	t->arena = a;
	if ((rc = telegram_files_open(t, e)) < 0 ||
	    (rc = http_pool_open(&t->pool, &opt->http, e)) < 0 ||
	    (rc = telegram_live_open(t, e)) < 0) {
		telegram_close(&t->base);
		return rc;
	}
	t->api.pool = t->pool;
	*out = &t->base;
	return OK;
}

void telegram_close(struct channel *c)
{
	struct telegram *t = (struct telegram *)c;

	if (!t)
		return;
	on_stop(c);
	telegram_live_close(t);
	telegram_files_close(t);
	http_pool_close(t->pool);
	struct arena a = t->arena;
	arena_free(&a);
}
