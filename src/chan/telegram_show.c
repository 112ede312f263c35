/*
 * What is shown of a running turn, as calls.  From the first message on a reserved row stands
 * for the answer, so that the message becomes the answer's, whatever happens to this process.
 */
#include "chan/telegram_show.h"

#include "chan/telegram_asks.h"

#include "os/log.h"
#include "store/session.h"
#include "text/tghtml.h"

#define CALL_MS 10000
#define TYPING_CALL_MS 4000
#define TAKE_BACK_MS 1000

/* For whoever comes after us too; of a wait of hours the next send will hear itself. */
static int keep_hold(struct telegram *t, int64_t chat, int64_t ms)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct err e = { 0 };
	int rc = store_begin(&tx, t->store, &t->stop, &e);

	if (rc == OK)
		rc = store_outbox_hold(&tx, CHANNEL, telegram_address(&a, chat, 0),
				       clock_now_ms() + ms, &e);
	return rc == OK ? store_commit(&tx, &e) : rc;
}

static void flooded(struct telegram *t, int64_t chat, const struct telegram_reply *r)
{
	if (r->end != TELEGRAM_FLOOD)
		return;
	telegram_hold(t, chat, r->retry_after_ms);
	if (r->retry_after_ms <= FLOOD_MAX_MS)
		(void)keep_hold(t, chat, r->retry_after_ms);
}

void telegram_show_typing(struct telegram *t, const struct telegram_view *v, struct arena *a)
{
	struct buf b = telegram_params(a, v->chat, v->thread);
	struct telegram_reply r;

	buf_json_member(&b, "action", S("typing"));
	r = telegram_do(t, "sendChatAction", &b, TYPING_CALL_MS, a, &t->stop);
	flooded(t, v->chat, &r);
}

/* What the tools do above the answer, as long as both fit. */
static str bubble(struct arena *a, const struct telegram_view *v)
{
	str text = tg_live(a, v->text), trace = str_trim(v->trace), both;

	if (!trace.n)
		return text;
	both = arena_fmt(a, "<i>%.*s</i>%s%.*s", STRF(telegram_html(a, trace)),
			 text.n ? "\n\n" : "", STRF(text));
	return text.n && tg_length(both) > MESSAGE_UNITS ? text : both;
}

/* The message with which an earlier process began to show this turn's answer; 0 none. */
static int64_t begun_earlier(struct telegram *t, const struct telegram_view *v, struct arena *a)
{
	int64_t id = 0;
	str live_id;

	if (store_outbox_reserved(t->store, v->turn, a, &live_id, NULL) < 0 ||
	    !str_i64(live_id, &id))
		return 0;
	return id;
}

/* The row that stands for the answer from now on. */
static int reserve(struct telegram *t, const struct telegram_view *v, int64_t message_id,
		   struct arena *a)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	str address = telegram_address(a, v->chat, v->thread);
	str id = arena_fmt(a, "%lld", (long long)message_id);
	struct session s;
	struct err e = { 0 };
	int rc;

	if ((rc = store_session_find(t->store, CHANNEL, address, a, &s, &e)) < 0 ||
	    (rc = store_begin(&tx, t->store, &t->stop, &e)) < 0 ||
	    (rc = store_outbox_reserve(&tx, CHANNEL, address, v->turn, s.id, id, &e)) < 0)
		return rc;
	return store_commit(&tx, &e);
}

static void take_back(struct telegram *t, const struct telegram_view *v, int64_t message_id,
		      struct arena *a)
{
	SCOPED(cancel_done) struct cancel own = { .fd = -1 };
	struct buf b = telegram_params(a, v->chat, 0);

	/* Also when we are to stop: what stands there twice nobody takes back later. */
	if (cancel_init(&own, NULL, TAKE_BACK_MS, NULL) < 0)
		return;
	buf_json_member_i64(&b, "message_id", message_id);
	(void)telegram_do(t, "deleteMessage", &b, TAKE_BACK_MS, a, &own);
}

static void begin_message(struct telegram *t, struct telegram_view *v, str html,
			  struct arena *a, struct telegram_reply *r)
{
	struct buf b = telegram_params(a, v->chat, v->thread);
	int64_t id;

	buf_json_member(&b, "text", html);
	buf_json_member(&b, "parse_mode", S("HTML"));
	buf_json_key(&b, "disable_notification");
	buf_add(&b, S("true"));
	*r = telegram_do(t, "sendMessage", &b, CALL_MS, a, &t->stop);
	id = json_i64(r->result, "message_id", 0);
	if (r->end != TELEGRAM_OK || id <= 0)
		return;
	/* Its answer is on its way already, or cannot be kept: then this one is too much. */
	if (reserve(t, v, id, a) < 0)
		take_back(t, v, id, a);
	else
		v->message_id = id;
}

static void edit_message(struct telegram *t, const struct telegram_view *v, str html,
			 struct arena *a, struct telegram_reply *r)
{
	struct buf b = telegram_params(a, v->chat, 0);

	buf_json_member_i64(&b, "message_id", v->message_id);
	buf_json_member(&b, "text", html);
	buf_json_member(&b, "parse_mode", S("HTML"));
	*r = telegram_do(t, "editMessageText", &b, CALL_MS, a, &t->stop);
}

/* The answer before this one is not out yet. */
static bool behind(struct telegram *t, const struct telegram_view *v, struct arena *a)
{
	bool waits = false;

	return store_outbox_waits(t->store, CHANNEL, telegram_address(a, v->chat, v->thread),
				  &waits, NULL) == OK &&
	       waits;
}

bool telegram_show_text(struct telegram *t, struct telegram_view *v, struct arena *a)
{
	struct telegram_reply r = { 0 };
	str html = bubble(a, v);

	if (!html.n)
		return true;
	if (!v->message_id)
		v->message_id = begun_earlier(t, v, a);
	if (!v->message_id && behind(t, v, a))
		return true;
	if (!v->message_id)
		begin_message(t, v, html, a, &r);
	else if (!telegram_live_shows(t, v->chat, v->message_id, html))
		edit_message(t, v, html, a, &r);
	flooded(t, v->chat, &r);
	if (r.end == TELEGRAM_OK || r.end == TELEGRAM_SAME) {
		telegram_live_shown(t, v->chat, v->message_id, html);
		return true;
	}
	log_debug("telegram.live", "err=%.*s", STRF(log_q(a, r.error)));
	return false;
}

void telegram_show_answer(struct telegram *t, str press_id, str text, struct arena *a)
{
	struct buf b = buf_in(a, 4096);
	struct telegram_reply r;

	buf_addc(&b, '{');
	buf_json_member(&b, "callback_query_id", press_id);
	if (text.n)
		buf_json_member(&b, "text", text);
	r = telegram_do(t, "answerCallbackQuery", &b, CALL_MS, a, &t->stop);
	if (r.end != TELEGRAM_OK)
		log_debug("telegram.press", "err=%.*s", STRF(log_q(a, r.error)));
}

static void add_verdict(struct buf *b, const struct piece_new *v, size_t n, str verdict,
			struct arena *a)
{
	buf_json_member(b, "text",
			arena_fmt(a, "%.*s\n<b>%.*s</b>", STRF(v[n - 1].body),
				  STRF(telegram_html(a, verdict))));
	buf_json_member(b, "parse_mode", S("HTML"));
}

/* What was asked, and how it ended. */
static int edit_verdict(struct telegram *t, const struct telegram_over *x, struct buf *b,
			struct arena *a, struct err *e)
{
	struct piece_new *v;
	struct approval p;
	struct question q;
	size_t n;
	int rc = store_approval_get(t->store, x->id, a, &p, e);

	if (rc == OK)
		rc = telegram_render_approval(a, &p, &v, &n, e);
	else if (rc == E_NOENT && (rc = store_question_get(t->store, x->id, a, &q, e)) == OK)
		rc = telegram_asks_render(a, &q, x->field < 0 ? q.field : x->field, &v, &n, e);
	if (rc == OK)
		add_verdict(b, v, n, x->verdict, a);
	return rc;
}

/* The buttons as they are to be now; none when x does not say. */
static int edit_buttons(struct telegram *t, const struct telegram_over *x, struct buf *b,
			struct arena *a, struct err *e)
{
	struct question q;
	int rc = x->marks ? store_question_get(t->store, x->id, a, &q, e) : E_NOENT;

	if (rc == OK && q.state == QUESTION_PENDING && q.field == x->field) {
		buf_json_key(b, "reply_markup");
		buf_add(b, telegram_asks_buttons(&q, a));
	}
	return rc == E_NOENT ? OK : rc;
}

bool telegram_show_verdict(struct telegram *t, const struct telegram_over *x, struct arena *a)
{
	struct buf b = telegram_params(a, x->chat, 0);
	int64_t chat = x->chat;
	struct telegram_reply r;

	buf_json_member_i64(&b, "message_id", x->message_id);
	if ((x->verdict.n ? edit_verdict(t, x, &b, a, NULL) : edit_buttons(t, x, &b, a, NULL)) <
	    0)
		return false;
	r = telegram_do(t, x->verdict.n ? "editMessageText" : "editMessageReplyMarkup", &b,
			CALL_MS, a, &t->stop);
	flooded(t, chat, &r);
	if (r.end == TELEGRAM_OK || r.end == TELEGRAM_SAME)
		return true;
	log_warn("telegram.question", "err=%.*s", STRF(log_q(a, r.error)));
	return r.end == TELEGRAM_REFUSED || r.end == TELEGRAM_MARKUP ||
	       r.end == TELEGRAM_MIGRATED;
}

int64_t telegram_owner_chat(const struct telegram *t)
{
	const struct i64_list *users = &t->opt.cfg->allow_from;

	return users->n ? users->v[0] : 0;
}

void telegram_show_notice(struct telegram *t, int64_t chat, int64_t thread, str text,
			  struct arena *a)
{
	struct buf b = telegram_params(a, chat, thread);
	struct telegram_reply r;

	buf_json_member(&b, "text", text);
	r = telegram_do(t, "sendMessage", &b, CALL_MS, a, &t->stop);
	flooded(t, chat, &r);
	if (r.end != TELEGRAM_OK)
		log_warn("telegram.notice", "err=%.*s", STRF(log_q(a, r.error)));
}
