/*
 * Pieces become calls, and what comes of a call becomes the fate of its piece.
 *
 * A piece whose markup Telegram refuses goes once more as its plain source, and no other
 * refusal leads there.  A topic that is not one, and an edited message that is gone, cost the
 * topic and the edit, not the text.
 */
#include "chan/telegram_asks.h"

#include "os/clock.h"
#include "os/log.h"
#include "text/tghtml.h"

#define RETRY_FIRST_MS 1000
#define RETRY_MAX_MS 60000
#define EDITS_MAX 5 /* an edit may be repeated, but not for ever */

/* What is sent, and in which of its forms. */
struct sending {
	struct telegram *t;
	const struct outbox_row *row;
	const struct piece *piece;
	const struct cancel *c;
	int64_t chat, thread, reply_to;
	enum { AS_IS, AS_TEXT } form; /* AS_TEXT: as a new text message, whatever it was */
	bool plain; /* without markup */
};

struct buf telegram_params(struct arena *a, int64_t chat, int64_t thread)
{
	struct buf b = buf_in(a, 1 << 20);

	buf_addc(&b, '{');
	buf_json_member_i64(&b, "chat_id", chat);
	if (thread)
		buf_json_member_i64(&b, "message_thread_id", thread);
	return b;
}

struct telegram_reply telegram_do(struct telegram *t, const char *method, struct buf *params,
				  int64_t timeout_ms, struct arena *a, const struct cancel *c)
{
	struct telegram_reply r;

	buf_addc(params, '}');
	telegram_api_call(&t->api,
			  &(struct telegram_call){ .method = method,
						   .params = buf_str(params),
						   .timeout_ms = timeout_ms },
			  a, &r, c);
	return r;
}

/* --- one call --------------------------------------------------------------------------- */

static void add_reply(const struct sending *s, struct buf *b)
{
	if (!s->reply_to)
		return;
	buf_json_key(b, "reply_parameters");
	buf_fmt(b, "{\"message_id\":%lld,\"allow_sending_without_reply\":true}",
		(long long)s->reply_to);
}

static void add_text(const struct sending *s, struct buf *b, const char *key, str html,
		     str plain)
{
	str text = s->plain ? plain : html;

	if (!text.n)
		return;
	buf_json_member(b, key, text);
	if (!s->plain)
		buf_json_member(b, "parse_mode", S("HTML"));
}

/* A photo without its picture: its words, and where the picture is. */
static void photo_as_text(struct sending *s, struct arena *a, str *html, str *plain)
{
	str rest = s->piece->body, url = str_cut(&rest, '\n');
	str link = telegram_html(a, url);

	*html = rest.n ? arena_fmt(a, "%.*s\n%.*s", STRF(rest), STRF(link)) : link;
	*plain = s->piece->plain.n
			 ? arena_fmt(a, "%.*s\n%.*s", STRF(s->piece->plain), STRF(url))
			 : url;
}

static struct telegram_reply call_text(struct sending *s, struct arena *a)
{
	const struct piece *p = s->piece;
	bool edit = str_eq(p->method, S("edit")) && s->form == AS_IS;
	struct buf b = telegram_params(a, s->chat, edit ? 0 : s->thread);
	str html = p->body, plain = p->plain;
	int64_t id = 0;

	if (str_eq(p->method, S("photo")))
		photo_as_text(s, a, &html, &plain);
	if (edit && str_i64(p->remote_id, &id))
		buf_json_member_i64(&b, "message_id", id);
	add_text(s, &b, "text", html, plain);
	if (!edit)
		add_reply(s, &b);
	if (telegram_has_buttons(s->row, p)) {
		buf_json_key(&b, "reply_markup");
		buf_add(&b, s->row->question_id.n ? telegram_asks_row_buttons(s->t, s->row, a)
						  : telegram_buttons(a, s->row->approval_id));
	}
	if (s->row->question_id.n) {
		/* Nobody opens a server's link but the person. */
		buf_json_key(&b, "link_preview_options");
		buf_add(&b, S("{\"is_disabled\":true}"));
	}
	return telegram_do(s->t, edit ? "editMessageText" : "sendMessage", &b, 0, a, s->c);
}

static struct telegram_reply call_photo(struct sending *s, struct arena *a)
{
	struct buf b = telegram_params(a, s->chat, s->thread);
	str rest = s->piece->body, url = str_cut(&rest, '\n');

	buf_json_member(&b, "photo", url);
	add_text(s, &b, "caption", rest, s->piece->plain);
	add_reply(s, &b);
	return telegram_do(s->t, "sendPhoto", &b, 0, a, s->c);
}

static struct telegram_reply call_document(struct sending *s, struct arena *a)
{
	struct buf b = telegram_params(a, s->chat, s->thread);
	const struct telegram_file file = { "document", S("command.txt"), S("text/plain"),
					    s->piece->body };
	struct telegram_reply r;

	if (s->piece->plain.n)
		buf_json_member(&b, "caption", s->piece->plain);
	add_reply(s, &b);
	buf_addc(&b, '}');
	telegram_api_call(&s->t->api,
			  &(struct telegram_call){ .method = "sendDocument",
						   .params = buf_str(&b),
						   .file = &file },
			  a, &r, s->c);
	return r;
}

static struct telegram_reply call(struct sending *s, struct arena *a)
{
	if (s->form == AS_IS && str_eq(s->piece->method, S("photo")))
		return call_photo(s, a);
	if (s->form == AS_IS && str_eq(s->piece->method, S("document")))
		return call_document(s, a);
	return call_text(s, a);
}

/* Another form that may be taken where this one was not; false: there is none. */
static bool otherwise(struct sending *s, const struct telegram_reply *r)
{
	bool text = str_eq(s->piece->method, S("send")) || s->form == AS_TEXT;

	switch (r->end) {
	case TELEGRAM_MARKUP:
		if (s->plain)
			return false;
		return s->plain = true;
	case TELEGRAM_NO_THREAD:
		if (!s->thread)
			return false;
		s->thread = 0;
		return true;
	case TELEGRAM_NO_REPLY:
		if (!s->reply_to)
			return false;
		s->reply_to = 0;
		return true;
	case TELEGRAM_REFUSED:
		/* The message to edit is gone, or the picture could not be had; whoever blocked
		 * us would refuse the text alike. */
		if (text || r->status == 403 || str_eq(s->piece->method, S("document")))
			return false;
		s->form = AS_TEXT;
		return true;
	default:
		return false;
	}
}

/* --- what becomes of the piece ---------------------------------------------------------- */

static int64_t retry_wait(int attempts)
{
	int n = attempts > 0 ? attempts - 1 : 0;
	int64_t ms = n < 6 ? (int64_t)RETRY_FIRST_MS << n : RETRY_MAX_MS;

	ms = ms > RETRY_MAX_MS ? RETRY_MAX_MS : ms;
	return ms / 2 + (int64_t)((double)ms / 2 * random_unit());
}

static void fate_of_unknown(const struct sending *s, const struct telegram_reply *r,
			    struct send_result *out)
{
	bool harmless = (str_eq(s->piece->method, S("edit")) && s->form == AS_IS) ||
			s->row->approval_id.n > 0 || s->row->question_id.n > 0;
	bool again = harmless && s->piece->attempts < EDITS_MAX;

	/* An edit made twice is the same edit, and a question asked twice one question. */
	out->end = again ? SEND_RETRY : SEND_UNKNOWN;
	out->retry_after_ms = again && !r->canceled ? retry_wait(s->piece->attempts) : 0;
}

static void fate(const struct sending *s, const struct telegram_reply *r, struct arena *a,
		 struct send_result *out)
{
	*out = (struct send_result){ .end = SEND_DEAD, .error = r->error };
	switch (r->end) {
	case TELEGRAM_OK:
		out->end = SEND_OK;
		out->remote_id =
			json_i64(r->result, "message_id", 0) > 0
				? arena_fmt(a, "%lld",
					    (long long)json_i64(r->result, "message_id", 0))
				: s->piece->remote_id;
		break;
	case TELEGRAM_SAME:
		out->end = SEND_OK;
		out->remote_id = s->piece->remote_id;
		out->error = S("");
		break;
	case TELEGRAM_UNSENT:
		out->end = SEND_RETRY;
		out->retry_after_ms = r->canceled ? 0 : retry_wait(s->piece->attempts);
		break;
	case TELEGRAM_TOKEN:
	case TELEGRAM_RIVAL:
	case TELEGRAM_WEBHOOK:
		out->end = SEND_RETRY;
		out->retry_after_ms = RETRY_MAX_MS;
		break;
	case TELEGRAM_FLOOD:
		telegram_hold(s->t, s->chat, r->retry_after_ms);
		(void)telegram_held(s->t, s->chat, &out->all_wait_ms);
		out->end = r->retry_after_ms <= FLOOD_MAX_MS ? SEND_RETRY : SEND_DEAD;
		out->retry_after_ms = r->retry_after_ms;
		break;
	case TELEGRAM_UNKNOWN:
		fate_of_unknown(s, r, out);
		break;
	case TELEGRAM_SERVER:
		out->end = SEND_FAULT;
		out->retry_after_ms = RETRY_FIRST_MS;
		break;
	case TELEGRAM_MIGRATED:
		out->end = SEND_RETRY;
		out->moved_to = telegram_address(a, r->moved_to, s->thread);
		break;
	case TELEGRAM_MARKUP:
	case TELEGRAM_NO_THREAD:
	case TELEGRAM_NO_REPLY:
	case TELEGRAM_REFUSED:
		break;
	}
}

/* The first part of an answer says what it answers. */
static int64_t replied(const struct outbox_row *row, const struct piece *piece)
{
	int64_t id = 0;

	return piece->order == 1 && str_i64(row->reply_to, &id) ? id : 0;
}

/* The whole answer stood there already before the turn ended. */
static bool shown_already(const struct sending *s)
{
	int64_t id = 0;

	return str_eq(s->piece->method, S("edit")) && str_i64(s->piece->remote_id, &id) &&
	       telegram_live_shows(s->t, s->chat, id, s->piece->body);
}

void telegram_send(struct channel *self, const struct outbox_row *row,
		   const struct piece *piece, struct arena *a, struct send_result *out,
		   const struct cancel *c)
{
	struct sending s = { .t = (struct telegram *)self,
			     .row = row,
			     .piece = piece,
			     .c = c,
			     .reply_to = replied(row, piece) };
	struct telegram_reply r;
	int64_t held, all;

	if (!telegram_address_read(row->address, &s.chat, &s.thread)) {
		*out = (struct send_result){ .end = SEND_DEAD,
					     .error = S("the address is no chat of Telegram") };
		return;
	}
	/* For long, then let Telegram say so. */
	held = telegram_held(s.t, s.chat, &all);
	if (held > 0 && held <= FLOOD_MAX_MS) {
		*out = (struct send_result){ .end = SEND_RETRY,
					     .retry_after_ms = held,
					     .all_wait_ms = all,
					     .error = S("the chat has to wait") };
		return;
	}
	if (row->turn_id.n && piece->order == 1)
		telegram_live_end(s.t, row->turn_id, c);
	if (shown_already(&s)) {
		*out = (struct send_result){ .end = SEND_OK, .remote_id = piece->remote_id };
		return;
	}
	do
		r = call(&s, a);
	while (otherwise(&s, &r));
	fate(&s, &r, a, out);
	if (out->end == SEND_OK && telegram_has_buttons(row, piece))
		telegram_live_watch(s.t,
				    row->question_id.n ? row->question_id : row->approval_id,
				    s.chat, json_i64(r.result, "message_id", 0));
	if (s.plain || s.form == AS_TEXT)
		log_debug("telegram.fallback", "row=%lld piece=%lld plain=%d text=%d",
			  (long long)row->id, (long long)piece->order, s.plain,
			  s.form == AS_TEXT);
}
