/*
 * The poll: who we are, what the menu offers, and then updates for ever.
 *
 * The cursor moves with the rows, in their transaction; only the next poll confirms it to
 * Telegram.  A fault is said once, when it begins, and once when it is over; between the two
 * the waits grow.
 */
#include "chan/telegram_internal.h"

#include "os/clock.h"
#include "os/log.h"
#include "store/state.h"

#define POLL_S 30
#define POLL_MARGIN_MS 10000 /* how much later than promised an answer may be */
#define WAIT_FIRST_MS 500
#define WAIT_MAX_MS 60000
#define QUICK_MS 1000 /* an empty answer before this was not waited for */
#define WAITING_MAX 20000 /* rows in the inbox before we take no more */
#define WAITING_LOOK_MS 1000
#define IDLE_KEPT_MS 60000 /* a connection nobody uses */

struct poller {
	struct telegram *t;
	str key; /* of the cursor */
	int64_t cursor;
	int faults; /* in a row */
	enum telegram_end fault; /* the last one */
	bool unhooked; /* the webhook was removed once */
	bool met; /* a poll was answered */
};

/* Longer after each fault, and never in step with others. */
static int64_t growing_wait(int n)
{
	int64_t ms = n < 8 ? (int64_t)WAIT_FIRST_MS << n : WAIT_MAX_MS;

	ms = ms > WAIT_MAX_MS ? WAIT_MAX_MS : ms;
	return ms / 2 + (int64_t)((double)ms / 2 * random_unit());
}

static bool stopped(struct poller *p)
{
	return cancel_reason(&p->t->stop) != CANCEL_NONE;
}

/* For whoever watches over this thread. */
static void moves(struct poller *p)
{
	if (p->t->up.on_try)
		p->t->up.on_try(p->t->up.arg);
}

/* Wait, or until the end; the next look at the token tells. */
static void rest(struct poller *p, int64_t ms)
{
	for (; ms > WAIT_MAX_MS; ms -= WAIT_MAX_MS) {
		moves(p);
		if (wait_ms(WAIT_MAX_MS, &p->t->stop, NULL) < 0)
			return;
	}
	moves(p);
	if (wait_ms(ms, &p->t->stop, NULL) < 0)
		return;
}

static void unhook(struct poller *p, struct arena *a)
{
	struct telegram *t = p->t;
	struct buf none = buf_in(a, 16), keep = buf_in(a, 64);
	struct telegram_reply r;
	str url, host;

	buf_addc(&none, '{');
	r = telegram_do(t, "getWebhookInfo", &none, 0, a, &t->stop);
	url = json_str(r.result, "url");
	size_t at = str_find(url, S("://"));
	host = at == SIZE_MAX ? S("somewhere") : str_sub(url, at + 3, url.n);
	host = str_cut(&host, '/');
	log_warn("telegram.webhook",
		 "host=%.*s; a webhook is set for this bot, so its messages go there; it is "
		 "removed now, and nothing that waits is dropped",
		 STRF(log_q(a, host)));
	buf_add(&keep, S("{\"drop_pending_updates\":false"));
	r = telegram_do(t, "deleteWebhook", &keep, 0, a, &t->stop);
	if (r.end != TELEGRAM_OK)
		log_warn("telegram.webhook", "err=%.*s; remove it by hand (deleteWebhook)",
			 STRF(log_q(a, r.error)));
	p->unhooked = true;
}

/* For `gantry status`; what the log says too, so it may fail. */
static void tell(struct poller *p, str why)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct err e = { 0 };

	if (store_begin(&tx, p->t->store, &p->t->stop, &e) == OK &&
	    store_trouble(&tx, S("poll"), why, &e) == OK && store_commit(&tx, &e) == OK)
		return;
	log_debug("telegram.status", "err=%s", e.msg);
}

static const char *advice(enum telegram_end end)
{
	switch (end) {
	case TELEGRAM_RIVAL:
		return "; another instance polls this token: stop one of them";
	case TELEGRAM_WEBHOOK:
		return "; a webhook was set again: whoever does that takes the messages";
	case TELEGRAM_TOKEN:
		return "; the token is not valid any more (it was revoked, or the server is "
		       "another "
		       "one): set the new one and start again; tried once a minute";
	default:
		return "";
	}
}

/* A call that had to work did not: say so when that is news, and wait. */
static void fault(struct poller *p, const struct telegram_reply *r, struct arena *a)
{
	int64_t wait = growing_wait(p->faults);

	if (r->canceled || stopped(p))
		return;
	if (r->end == TELEGRAM_WEBHOOK && !p->unhooked) {
		unhook(p, a);
		return;
	}
	if (r->retry_after_ms > wait)
		wait = r->retry_after_ms;
	if (r->end == TELEGRAM_TOKEN && p->met)
		wait = WAIT_MAX_MS;
	if (p->faults == 0 || p->fault != r->end) {
		log_warn("telegram.unreachable", "err=%.*s%s", STRF(log_q(a, r->error)),
			 advice(r->end));
		tell(p, arena_fmt(a, "%.*s%s", STRF(r->error), advice(r->end)));
	} else
		log_debug("telegram.unreachable", "err=%.*s wait_ms=%lld",
			  STRF(log_q(a, r->error)), (long long)wait);
	p->faults++;
	p->fault = r->end;
	rest(p, wait);
}

static void fine(struct poller *p)
{
	if (p->faults) {
		log_info("telegram.back", "after=%d", p->faults);
		tell(p, S(""));
	}
	p->faults = 0;
}

static void end_daemon(struct poller *p, int code)
{
	p->t->up.on_fatal(p->t->up.arg, code);
}

/* Who are we?  Until an answer comes; false: there is nothing to poll for. */
static bool identify(struct poller *p)
{
	struct telegram *t = p->t;

	while (!stopped(p)) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf none = buf_in(&a, 16);
		buf_addc(&none, '{');
		moves(p);
		struct telegram_reply r = telegram_do(t, "getMe", &none, 0, &a, &t->stop);
		int64_t id = json_i64(r.result, "id", 0);
		str name = json_str(r.result, "username");

		if (r.end == TELEGRAM_TOKEN) {
			log_error("telegram.token",
				  "err=%.*s; Telegram does not know this bot token: check "
				  "TELEGRAM_BOT_TOKEN (and TELEGRAM_API_BASE_URL, if set)",
				  STRF(log_q(&a, r.error)));
			end_daemon(p, E_DENIED);
			return false;
		}
		if (r.end == TELEGRAM_OK && telegram_names_bot(r.result) &&
		    name.n < sizeof t->self_name) {
			__builtin_memcpy(t->self_name, name.p, name.n);
			t->self = (struct telegram_self){ id, { t->self_name, name.n } };
			fine(p);
			log_info("telegram.connected", "bot=%s id=%lld allowed=%zu groups=%zu",
				 t->self_name, (long long)id, t->opt.cfg->allow_from.n,
				 t->opt.cfg->groups_n);
			return true;
		}
		if (r.end == TELEGRAM_OK) {
			r.end = TELEGRAM_UNKNOWN;
			r.error = S("/bot***/getMe: the answer names no bot");
		}
		fault(p, &r, &a);
	}
	return false;
}

static void publish_commands(struct telegram *t)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 65536);

	buf_add(&b, S("{\"commands\":["));
	for (size_t i = 0; i < t->opt.commands_n; i++) {
		buf_add(&b, i ? S(",{") : S("{"));
		buf_json_member(&b, "command", t->opt.commands[i].name);
		buf_json_member(&b, "description", t->opt.commands[i].help);
		buf_addc(&b, '}');
	}
	buf_addc(&b, ']');
	struct telegram_reply r = telegram_do(t, "setMyCommands", &b, 0, &a, &t->stop);
	if (r.end != TELEGRAM_OK && !r.canceled)
		log_warn("telegram.commands", "err=%.*s; the menu stays as it was",
			 STRF(log_q(&a, r.error)));
}

/* Too much waits: what is not fetched is safe with Telegram. */
static bool full(struct poller *p)
{
	int64_t n = 0;

	if (store_inbox_ready(p->t->store, (str){ 0 }, &n, NULL) < 0 || n <= WAITING_MAX)
		return false;
	log_warn("telegram.paused", "waiting=%lld; taking no more until fewer wait",
		 (long long)n);
	rest(p, WAITING_LOOK_MS);
	return true;
}

static struct telegram_reply get_updates(struct poller *p, struct arena *a)
{
	struct buf b = buf_in(a, 1024);

	buf_addc(&b, '{');
	if (p->cursor)
		buf_json_member_i64(&b, "offset", p->cursor);
	/* The first one only asks what waits: questions of an earlier start depend on it. */
	buf_json_member_i64(&b, "timeout", p->met ? POLL_S : 0);
	buf_json_member_i64(&b, "limit", 100);
	buf_json_key(&b, "allowed_updates");
	buf_add(&b, S(TELEGRAM_UPDATES));
	return telegram_do(p->t, "getUpdates", &b, POLL_S * 1000 + POLL_MARGIN_MS, a,
			   &p->t->stop);
}

/* One poll.  idle: how many in a row brought nothing new, and too soon. */
static int poll_once(struct poller *p, int *idle)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t before = clock_mono_ms(), old = p->cursor;
	http_pool_tidy(p->t->pool, IDLE_KEPT_MS);
	struct telegram_reply r = get_updates(p, &a);
	int rc = OK;

	if (r.end == TELEGRAM_OK && !json_is(r.result, JSON_ARRAY)) {
		r.end = TELEGRAM_UNKNOWN;
		r.error = S("/bot***/getUpdates: the result is no list");
	}
	if (r.end != TELEGRAM_OK) {
		fault(p, &r, &a);
		return OK;
	}
	fine(p);
	p->met = true;
	if (r.result->n)
		rc = telegram_batch_take(p->t, p->key, r.result, &p->cursor, &a);
	if (rc == OK)
		p->t->up.on_poll(p->t->up.arg);
	if (rc < 0 || p->cursor != old || clock_mono_ms() - before >= QUICK_MS) {
		*idle = 0;
		return rc;
	}
	/* A server that does not wait, or shows the same again: we do the waiting. */
	if (++*idle > 1)
		rest(p, growing_wait(*idle > 3 ? 1 : *idle - 2));
	return OK;
}

static int load_cursor(struct poller *p, struct arena *a)
{
	struct telegram *t = p->t;
	struct err e = { 0 };
	int rc;

	p->key = arena_fmt(a, "telegram %.*s %lld", STRF(t->api.base_url),
			   (long long)t->self.id);
	while ((rc = store_cursor_get(t->store, p->key, &p->cursor, &e)) < 0 && !stopped(p)) {
		if (rc == E_CORRUPT)
			return rc;
		if (wait_ms(1000, &t->stop, NULL) < 0)
			return E_CANCELED;
	}
	return rc;
}

void *telegram_poll_main(void *arg)
{
	struct poller p = { .t = arg };
	SCOPED(arena_free) struct arena a = { 0 };
	int idle = 0, rc;

	if (!identify(&p))
		return NULL;
	publish_commands(p.t);
	rc = load_cursor(&p, &a);
	for (; rc == OK && !stopped(&p); moves(&p))
		if (!full(&p))
			rc = poll_once(&p, &idle);
	if (rc < 0 && rc != E_CANCELED && !stopped(&p))
		end_daemon(&p, rc);
	return NULL;
}
