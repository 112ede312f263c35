/*
 * Updates become rows.  A batch is one transaction: rows, what control words do, decisions of
 * presses, and the cursor behind the last of them.  Nothing is asked of Telegram here: a row that
 * needs a file says so, and telegram_files fetches it.
 */
#include "chan/telegram_asks.h"

#include "base/utf.h"
#include "os/log.h"
#include "text/text.h"

#define RETRY_MS 1000
#define TEXT_MIN 4096

/* One update, and what it asks for. */
struct entry {
	struct telegram_event ev;
	enum { SKIP, MESSAGE, CONTROL, COMMAND, PRESS, MOVED } kind;
	str address, text, dedupe, sender;
	enum control what;
	struct control_effect effect;
	str reply;
	str fetch; /* the file that its row waits for */
	str typed; /* by the sender, when it is a message of nothing else */
	struct telegram_taken taken; /* it was a reply to a question */
	struct telegram_press press;
};

struct batch {
	struct telegram *t;
	str cursor_key;
	struct arena *a;
	struct entry *v;
	size_t n;
	int64_t cursor;
};

/* --- what an update asks for ------------------------------------------------------------ */

/* The configuration may know a group by the id it had before it became a supergroup. */
static int64_t configured_chat(struct telegram *t, const struct telegram_event *ev,
			       struct arena *a)
{
	const struct telegram_cfg *cfg = t->opt.cfg;
	int64_t chat, thread;
	str old;

	for (size_t i = 0; i < cfg->groups_n; i++)
		if (!cfg->groups[i].any && cfg->groups[i].id == ev->chat)
			return ev->chat;
	if (ev->chat_type != CHAT_GROUP ||
	    store_address_origin(t->store, CHANNEL, telegram_address(a, ev->chat, 0), a, &old,
				 NULL) < 0 ||
	    !telegram_address_read(old, &chat, &thread))
		return ev->chat;
	return chat;
}

static str joined(struct arena *a, str blocks, str typed)
{
	if (!blocks.n || !typed.n)
		return blocks.n ? blocks : typed;
	return arena_fmt(a, "%.*s\n%.*s", STRF(blocks), STRF(typed));
}

str telegram_batch_text(const struct telegram *t, struct arena *a, str blocks, str typed)
{
	size_t max = (size_t)(t->opt.input_max > TEXT_MIN ? t->opt.input_max : TEXT_MIN);

	typed = utf_head(typed, max);
	if (blocks.n + typed.n + 1 > max)
		blocks = arena_cat(
			a, utf_head(blocks, max - typed.n > 64 ? max - typed.n - 64 : 0),
			S("\n> (cut)"));
	return utf_head(joined(a, blocks, typed), max);
}

static void classify(struct batch *b, struct entry *x, str typed)
{
	struct telegram *t = b->t;
	struct chan_up *up = &t->up;
	const struct telegram_want want = { .bot = t->self.id,
					    .chat = x->ev.chat,
					    .message_id = x->ev.message_id,
					    .media = x->ev.media,
					    .file_id = x->ev.file_id,
					    .bytes = x->ev.bytes,
					    .quoted = x->ev.quoted,
					    .typed = typed };

	if (typed.n && up->control(typed, b->a, &x->what) == OK) {
		x->kind = CONTROL;
		return;
	}
	if (typed.n && up->command(up->arg, CHANNEL, x->address, x->sender, typed, b->a,
				   &x->reply, &t->stop)) {
		x->kind = COMMAND;
		return;
	}
	x->kind = MESSAGE;
	x->text = telegram_batch_text(t, b->a, x->ev.quoted, typed);
	if (x->ev.media == MEDIA_NONE)
		x->typed = typed;
	else
		x->fetch = telegram_media_want(b->a, &want);
}

static void refuse(const struct entry *x, const char *why)
{
	log_info("telegram.refused", "reason=%s chat=%lld from=%lld update=%lld", why,
		 (long long)x->ev.chat, (long long)x->ev.from, (long long)x->ev.update_id);
}

static void judge_message(struct batch *b, struct entry *x)
{
	struct telegram *t = b->t;
	struct telegram_event seen = x->ev;
	enum telegram_gate g;
	str typed;

	seen.chat = configured_chat(t, &x->ev, b->a);
	g = telegram_gate_message(t->opt.cfg, &t->self, &seen, &typed);
	if (g != GATE_PASS) {
		refuse(x, telegram_gate_word(g));
		return;
	}
	x->address = telegram_address(b->a, x->ev.chat, x->ev.thread);
	x->sender = arena_fmt(b->a, "%lld", (long long)x->ev.from);
	x->dedupe = arena_fmt(b->a, "%lld:%lld:%lld", (long long)t->self.id,
			      (long long)x->ev.chat, (long long)x->ev.message_id);
	classify(b, x, typed);
}

static void judge_press(struct batch *b, struct entry *x)
{
	struct telegram_event seen = x->ev;

	seen.chat = configured_chat(b->t, &x->ev, b->a);
	if (telegram_gate_user(b->t->opt.cfg, &seen) == GATE_PASS) {
		telegram_press_judge(b->t, &x->ev, b->a, &x->press);
	} else {
		refuse(x, "press");
		x->press.answer = S("You are not allowed to decide this.");
	}
	x->kind = PRESS;
}

static void judge(struct batch *b, struct entry *x)
{
	switch (x->ev.kind) {
	case TELEGRAM_IGNORED:
		log_debug("telegram.ignored", "update=%lld why=%s", (long long)x->ev.update_id,
			  log_q(b->a, str_of(x->ev.why)).p);
		break;
	case TELEGRAM_MESSAGE:
		judge_message(b, x);
		break;
	case TELEGRAM_PRESS:
		judge_press(b, x);
		break;
	case TELEGRAM_MOVED:
		x->kind = MOVED;
		break;
	}
}

/* --- rows ------------------------------------------------------------------------------- */

static int add_notice(struct tx *tx, const struct entry *x, str text, struct err *e)
{
	const struct outbox_new row = {
		.channel = CHANNEL,
		.address = x->address,
		.kind = S("notice"),
		.text = text,
	};
	int64_t id;

	return text.n ? store_outbox_add(tx, &row, &id, e) : OK;
}

static int add_message(struct batch *b, struct tx *tx, const struct entry *x, struct err *e)
{
	const struct inbox_new row = {
		.channel = CHANNEL,
		.address = x->address,
		.dedupe = x->dedupe,
		.kind = S("message"),
		.sender = x->sender,
		.text = x->text,
		.reply_to = arena_fmt(b->a, "%lld", (long long)x->ev.message_id),
		.album = x->ev.album,
		.fetch = x->fetch,
		.waiting_max = b->t->opt.waiting_max,
	};
	int64_t id;

	return store_inbox_add(tx, &row, &id, e);
}

/* A message, unless somebody waits for it. */
static int add_said(struct batch *b, struct tx *tx, struct entry *x, struct err *e)
{
	const struct telegram_said said = { x->typed, x->address, x->sender, x->dedupe };
	int rc = telegram_asks_reply(tx, &x->ev, &said, b->a, &x->taken, e);

	if (rc < 0)
		return rc;
	return x->taken.taken ? add_notice(tx, x, x->taken.line, e) : add_message(b, tx, x, e);
}

static int add_control(struct batch *b, struct tx *tx, struct entry *x, struct err *e)
{
	int rc =
		store_control(tx, x->what, CHANNEL, x->address, x->dedupe, b->a, &x->effect, e);

	if (rc < 0 || x->effect.seen)
		return rc;
	return add_notice(tx, x,
			  b->t->up.control_reply(b->t->up.arg, CHANNEL, x->address, b->a,
						 x->what, &x->effect),
			  e);
}

static int add_entry(struct batch *b, struct tx *tx, struct entry *x, struct err *e)
{
	switch (x->kind) {
	case SKIP:
		return OK;
	case MESSAGE:
		return add_said(b, tx, x, e);
	case CONTROL:
		return add_control(b, tx, x, e);
	case COMMAND:
		return add_notice(tx, x, x->reply, e);
	case PRESS:
		return telegram_press_decide(tx, &x->ev, &x->press, b->a, e);
	case MOVED:
		return store_address_move(tx, CHANNEL, telegram_address(b->a, x->ev.chat, 0),
					  telegram_address(b->a, x->ev.moved_to, 0), e);
	}
	return OK;
}

static int64_t behind(const struct batch *b)
{
	int64_t cursor = b->cursor;

	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].ev.update_id >= 0 && b->v[i].ev.update_id < INT64_MAX)
			cursor = b->v[i].ev.update_id + 1;
	return cursor;
}

static int commit_once(struct batch *b, int64_t cursor, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, b->t->store, &b->t->stop, e);

	for (size_t i = 0; i < b->n && rc == OK; i++)
		rc = add_entry(b, &tx, &b->v[i], e);
	if (rc == OK)
		rc = store_cursor_set(&tx, b->cursor_key, cursor, e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

/* The rows are there: wake whom they concern. */
static void announce(struct batch *b)
{
	struct chan_up *up = &b->t->up;
	bool in = false, out = false, files = false;

	for (size_t i = 0; i < b->n; i++) {
		struct entry *x = &b->v[i];
		str asked = x->kind == PRESS ? x->press.turn : x->taken.turn;
		in = in || x->kind == MESSAGE || x->press.decided;
		out = out || asked.n || (x->kind != SKIP && x->kind != PRESS);
		if (asked.n)
			up->on_answer(up->arg, asked);
		files = files || x->fetch.n;
		if (x->kind == CONTROL && !x->effect.seen)
			up->on_control(up->arg, x->what, CHANNEL, x->address,
				       x->effect.turn_id);
		if (x->kind == PRESS)
			telegram_live_answer(b->t, &x->ev, &x->press);
	}
	if (files)
		telegram_files_wake(b->t);
	if (in)
		up->on_inbox(up->arg);
	if (out)
		up->on_outbox(up->arg);
}

/* Into the database, however long that takes. */
static int flush(struct batch *b)
{
	int64_t cursor = behind(b);
	struct err e = { 0 };
	int rc, last = OK;
	str who = { 0 };

	for (size_t i = 0; i < b->n && !who.n; i++)
		who = b->v[i].address;
	while ((rc = commit_once(b, cursor, &e)) < 0) {
		if (rc == E_CANCELED || cancel_check(&b->t->stop, NULL) < 0)
			return E_CANCELED;
		if (rc != last)
			log_error("telegram.not_kept",
				  "err=%.*s; the messages stay with Telegram until it works",
				  STRF(log_q(b->a, str_of(e.msg))));
		if (rc == E_FULL)
			chan_notice(&b->t->base, who);
		if (rc == E_CORRUPT || store_failed(b->t->store, NULL) < 0)
			return rc;
		last = rc;
		if (b->t->up.on_try) /* it waits for room, and is not stuck */
			b->t->up.on_try(b->t->up.arg);
		if (wait_ms(RETRY_MS, &b->t->stop, NULL) < 0)
			return E_CANCELED;
	}
	b->cursor = cursor;
	announce(b);
	return OK;
}

int telegram_batch_take(struct telegram *t, str cursor_key, const struct json *updates,
			int64_t *cursor, struct arena *a)
{
	struct batch b = {
		.t = t,
		.cursor_key = cursor_key,
		.a = a,
		.v = NEWN(a, struct entry, updates->n + 1),
		.cursor = *cursor,
	};

	for (const struct json *u = updates->child; u; u = u->next) {
		struct entry *x = &b.v[b.n++];
		telegram_update_read(u, t->self.id, a, &x->ev);
		judge(&b, x);
	}
	int rc = flush(&b);
	*cursor = b.cursor;
	return rc;
}
