/*
 * Questions of tool servers in a chat: one message a field, with buttons for what can be chosen;
 * what is typed comes as the next message of whoever is asked.  In a group that has to be a reply
 * to the question, since people talk there.
 *
 * The words are a server's: they are bounded and visible, and say whose they are.
 */
#include "chan/telegram_asks.h"

#include "chan/asks.h"
#include "os/clock.h"
#include "os/log.h"
#include "text/text.h"
#include "text/tghtml.h"

#include <string.h>

#define OPTIONS_MAX 40 /* as buttons; more are typed */
#define BLOCK_CHARS 2000
#define SHORT_CHARS 700 /* of message and block each, where characters take two units */
#define UNITS_MAX (MESSAGE_UNITS - 200) /* room for how it ended */
#define PREFIX "qs:"
#define BUTTONS_MAX 65536
#define VOID_MS 86400000 /* what a crash voided loses its buttons, if it was asked this late */

/* --- showing ---------------------------------------------------------------------------- */

static const struct form_field *field_at(const struct form *f, size_t field)
{
	return field < f->n ? &f->fields[field] : NULL;
}

static bool has_options(const struct form_field *at)
{
	return at && at->options_n && at->options_n <= OPTIONS_MAX;
}

/* What stands in the message of a field, its two parts in at most max characters each. */
static void words(struct arena *a, const struct question *q, const struct form *f, size_t field,
		  size_t max, struct buf *html, struct buf *plain)
{
	bool listed = !has_options(field_at(f, field)), first = field == 0 || q->posts > 1;
	str server = text_line(a, q->server, 64), title = { 0 };
	str block =
		f->link ? form_link(f, a) : text_cut(a, form_block(f, field, listed, a), max);
	str message = text_cut(a, f->message, max);

	if (q->posts > 1) {
		buf_add(html, S("<i>Still waiting:</i>\n"));
		buf_add(plain, S("Still waiting:\n"));
	}
	buf_fmt(html, "<b>The tool server %.*s asks:</b>", STRF(telegram_html(a, server)));
	buf_fmt(plain, "The tool server %.*s asks:", STRF(server));
	if (first && message.n) {
		buf_fmt(html, "\n%.*s", STRF(telegram_html(a, message)));
		buf_fmt(plain, "\n%.*s", STRF(message));
	}
	if (!block.n)
		return;
	buf_fmt(plain, "\n\n%.*s", STRF(block));
	buf_add(html, S("\n\n"));
	if (!f->link)
		title = str_cut(&block, '\n');
	if (title.n)
		buf_fmt(html, "<b>%.*s</b>\n", STRF(telegram_html(a, title)));
	buf_add(html, telegram_html(a, block));
}

static bool typed_kind(const struct form_field *at)
{
	return at && (!at->options_n || at->options_n > OPTIONS_MAX);
}

int telegram_asks_render(struct arena *a, const struct question *q, int64_t field,
			 struct piece_new **out, size_t *n, struct err *e)
{
	struct buf html = buf_in(a, 1 << 20), plain = buf_in(a, 1 << 20);
	struct form_fill x;
	struct form f;
	int rc = asks_form(q, a, &f, &x, e);

	if (rc < 0)
		return rc;
	if (field >= (int64_t)f.n && f.n)
		field = (int64_t)f.n - 1;
	words(a, q, &f, (size_t)field, BLOCK_CHARS, &html, &plain);
	if (tg_length(buf_str(&html)) > UNITS_MAX) {
		buf_reset(&html);
		buf_reset(&plain);
		words(a, q, &f, (size_t)field, SHORT_CHARS, &html, &plain);
	}
	if (typed_kind(field_at(&f, (size_t)field))) {
		bool group = str_starts(q->address, S("-"));
		str how = group ? S("\nReply to this message.") : S("\nReply with a message.");
		buf_fmt(&html, "<i>%.*s</i>", STRF(how));
		buf_add(&plain, how);
	}
	*out = NEW(a, struct piece_new);
	**out = (struct piece_new){ .method = S("send"),
				    .body = buf_str(&html),
				    .plain = buf_str(&plain) };
	*n = 1;
	return OK;
}

int telegram_asks_render_row(struct telegram *t, const struct outbox_row *row, struct arena *a,
			     struct piece_new **out, size_t *n, struct err *e)
{
	struct question q;
	int64_t field = 0;
	int rc = store_question_get(t->store, row->question_id, a, &q, e);

	(void)str_i64(row->text, &field);
	if (rc == E_NOENT || (rc == OK && (q.state != QUESTION_PENDING || q.field != field))) {
		*n = 0; /* answered or gone before it was asked */
		return OK;
	}
	return rc < 0 ? rc : telegram_asks_render(a, &q, field, out, n, e);
}

/* --- buttons ---------------------------------------------------------------------------- */

static void add_button(struct buf *b, const struct question *q, str text, const char *what)
{
	if (b->p[b->n - 1] == '}')
		buf_addc(b, ',');
	buf_add(b, S("{"));
	buf_json_member(b, "text", text);
	buf_json_key(b, "callback_data");
	buf_fmt(b, "\"" PREFIX "%.*s:%lld:%s\"}", STRF(q->id), (long long)q->field, what);
}

static void new_row(struct buf *b)
{
	buf_add(b, S("],["));
}

static void add_options(struct buf *b, const struct question *q, const struct form_field *at,
			struct arena *a)
{
	for (size_t i = 0; i < at->options_n; i++) {
		bool picked = i < q->picks.n && q->picks.p[i] == '1';
		str label = at->options[i].label;
		if (at->kind == FORM_MANY)
			label = arena_fmt(a, "%s %.*s", picked ? "☑" : "☐", STRF(label));
		add_button(b, q, label, arena_fmt(a, "%zu", i).p);
		if (at->kind != FORM_BOOLEAN || i + 1 == at->options_n)
			new_row(b);
	}
	if (at->kind == FORM_MANY) {
		add_button(b, q, S("Done"), "d");
		new_row(b);
	}
}

str telegram_asks_buttons(const struct question *q, struct arena *a)
{
	struct buf b = buf_in(a, BUTTONS_MAX);
	const struct form_field *at = NULL;
	struct form_fill x = { 0 };
	struct form f = { 0 };

	if (asks_form(q, a, &f, &x, NULL) == OK)
		at = field_at(&f, x.field);
	buf_add(&b, S("{\"inline_keyboard\":[["));
	if (has_options(at))
		add_options(&b, q, at, a);
	if (at && (at->def.n || !at->required)) {
		add_button(&b, q,
			   at->def.n ? arena_fmt(a, "Default: %.*s",
						 STRF(text_line(a, at->def, 40)))
				     : S("Skip"),
			   "s");
		new_row(&b);
	}
	if (f.link || f.n == 0)
		add_button(&b, q, f.link ? S("I opened it") : S("Accept"), "a");
	add_button(&b, q, S("Decline"), "n");
	add_button(&b, q, S("Cancel"), "c");
	buf_add(&b, S("]]}"));
	return buf_str(&b);
}

/* None, when another field is asked by now. */
str telegram_asks_row_buttons(struct telegram *t, const struct outbox_row *row, struct arena *a)
{
	struct question q;
	int64_t field = -1;

	(void)str_i64(row->text, &field);
	return store_question_get(t->store, row->question_id, a, &q, NULL) == OK &&
			       q.state == QUESTION_PENDING && q.field == field
		       ? telegram_asks_buttons(&q, a)
		       : S("{\"inline_keyboard\":[]}");
}

/* "qs:ID:FIELD:WHAT". */
static bool parse_button(str data, str *id, int64_t *field, struct form_said *said)
{
	static const struct {
		char word;
		int what;
	} words[] = { { 'd', FORM_SAY_DONE },
		      { 's', FORM_SAY_SKIP },
		      { 'a', FORM_SAY_ACCEPT },
		      { 'n', FORM_SAY_DECLINE },
		      { 'c', FORM_SAY_CANCEL } };
	str rest = str_sub(data, sizeof PREFIX - 1, data.n);
	int64_t option = 0;

	if (!str_starts(data, S(PREFIX)))
		return false;
	*id = str_cut(&rest, ':');
	str at = str_cut(&rest, ':');
	if (id->n != ID_LONG_LEN || !str_i64(at, field) || *field < 0 || !rest.n)
		return false;
	for (size_t i = 0; i < COUNT(words); i++)
		if (rest.n == 1 && rest.p[0] == words[i].word) {
			*said = (struct form_said){ .what = (typeof(said->what))words[i].what };
			return true;
		}
	if (!str_i64(rest, &option) || option < 0)
		return false;
	*said = (struct form_said){ .what = FORM_SAY_OPTION, .option = (size_t)option };
	return true;
}

/* --- presses ---------------------------------------------------------------------------- */

/* Whoever is asked, and who owns the bot. */
static bool may_answer(const struct telegram *t, const struct question *q, int64_t from,
		       struct arena *a)
{
	const struct i64_list *owners = &t->opt.cfg->allow_from;

	for (size_t i = 0; i < owners->n; i++)
		if (owners->v[i] == from)
			return true;
	return str_eq(q->requester, arena_fmt(a, "%lld", (long long)from));
}

bool telegram_asks_judge(struct telegram *t, const struct telegram_event *ev, struct arena *a,
			 struct telegram_press *out)
{
	int64_t chat = 0, thread = 0;
	struct question q;
	str id;

	if (!parse_button(ev->data, &id, &out->field, &out->said))
		return false;
	if (store_question_get(t->store, id, a, &q, NULL) < 0)
		out->answer = S("This question is unknown or no longer valid.");
	else if (!str_eq(q.channel, CHANNEL) ||
		 !telegram_address_read(q.address, &chat, &thread) || chat != ev->chat)
		out->answer = S("This question was not asked here.");
	else if (!may_answer(t, &q, ev->from, a))
		out->answer = S("This question is for somebody else.");
	else
		out->question = id;
	return true;
}

/* How a question ended, for its message. */
static str end_words(enum question_state state)
{
	static const char *const words[] = {
		[QUESTION_PENDING] = "",
		[QUESTION_ANSWERED] = "✅ Answered",
		[QUESTION_DECLINED] = "❌ Declined",
		[QUESTION_CANCELLED] = "❌ Cancelled",
		[QUESTION_EXPIRED] = "⌛ No longer valid",
		[QUESTION_VOID] = "⌛ No longer valid",
	};

	return str_of(words[state]);
}

/* What was chosen with a press that moved the question on. */
static str chosen(const struct question *before, const struct form_said *said, struct arena *a)
{
	const struct form_field *at;
	struct form_fill x;
	struct form f;

	if (asks_form(before, a, &f, &x, NULL) < 0 || !(at = field_at(&f, x.field)))
		return S("✅ Accepted");
	if (said->what == FORM_SAY_OPTION && said->option < at->options_n)
		return arena_fmt(a, "✅ %.*s", STRF(at->options[said->option].label));
	if (said->what == FORM_SAY_SKIP)
		return at->def.n ? arena_fmt(a, "✅ %.*s", STRF(text_line(a, at->def, 80)))
				 : S("✅ Skipped");
	struct buf b = buf_in(a, 4096);
	buf_add(&b, S("✅"));
	for (size_t i = 0; i < at->options_n && i < before->picks.n; i++)
		if (before->picks.p[i] == '1')
			buf_fmt(&b, "%s %.*s", b.n > 3 ? "," : "", STRF(at->options[i].label));
	return b.n > 3 ? buf_str(&b) : S("✅ None");
}

/* Why not; parts of it may be a server's words. */
static str shown(const struct err *wrong, struct arena *a)
{
	return text_visible(a, str_of(wrong->msg), true);
}

/* It moved on, or not. */
static void tell(struct telegram_press *p, const struct question *before,
		 const struct question *q, const struct err *wrong, struct arena *a)
{
	if (q->state == QUESTION_DECLINED || q->state == QUESTION_CANCELLED) {
		p->decided = p->edit = true;
		p->verdict = end_words(q->state);
		p->answer = wrong->msg[0]
				    ? arena_fmt(a, "Cancelled: %.*s.", STRF(shown(wrong, a)))
				    : arena_dup(a, str_sub(p->verdict, 4, p->verdict.n));
		return;
	}
	if (wrong->msg[0]) {
		p->answer = arena_fmt(a, "Not taken: %.*s.", STRF(shown(wrong, a)));
		return;
	}
	p->edit = true;
	p->decided = q->state != QUESTION_PENDING;
	p->marks = q->state == QUESTION_PENDING && q->field == before->field;
	p->answer = p->marks ? S("") : S("Taken.");
	if (!p->marks)
		p->verdict = chosen(before, &p->said, a);
}

int telegram_asks_decide(struct tx *tx, const struct telegram_event *ev,
			 struct telegram_press *p, struct arena *a, struct err *e)
{
	struct question q, before;
	struct err wrong = { 0 };
	str by = arena_fmt(a, "%lld", (long long)ev->from);
	str here = arena_fmt(a, "%lld", (long long)ev->message_id);
	int rc = store_question_find(tx, p->question, a, &q, e);

	if (rc == E_NOENT || (rc == OK && q.field != p->field)) {
		/* The buttons of an old message go. */
		p->edit = rc < 0 || !str_eq(q.message_id, here);
		p->answer = rc == OK ? S("That was answered already.")
				     : S("Too late: this question is no longer valid.");
		return OK;
	}
	if (rc < 0)
		return rc;
	before = q;
	if ((rc = asks_step(tx, &q, &p->said, by, a, &wrong, e)) < 0)
		return rc;
	p->turn = q.turn_id;
	tell(p, &before, &q, &wrong, a);
	return OK;
}

/* --- replies ---------------------------------------------------------------------------- */

/* A link is answered by a button alone, unless somebody replies to it. */
static bool takes_text(const struct question *q, bool direct, struct arena *a)
{
	struct form_fill x;
	struct form f;

	return direct || asks_form(q, a, &f, &x, NULL) < 0 || x.field < f.n;
}

/* Had he seen the question when he wrote?  What is asked once more after a restart had been. */
static bool seen_before(const struct question *q, int64_t message_id)
{
	int64_t at;

	return str_i64(q->message_id, &at) && (q->posts > 1 || message_id > at);
}

/* Which question a message answers: the one that it replies to, or the only one that is open.
 * q->id "": none; *many: it cannot be known which. */
static int find_asked(struct tx *tx, const struct telegram_event *ev,
		      const struct question_find *by, struct arena *a, struct question *q,
		      bool *many, struct err *e)
{
	bool direct = by->message.n > 0;
	struct question *v;
	size_t n;
	int rc = store_question_asking(tx, by, a, &v, &n, e);

	*q = (struct question){ 0 };
	for (size_t i = 0; rc == OK && i < n; i++) {
		if (!direct && !seen_before(&v[i], ev->message_id))
			continue;
		if (!takes_text(&v[i], direct, a))
			continue;
		*many = q->id.n > 0;
		if (*many)
			break;
		*q = v[i];
	}
	return rc;
}

int telegram_asks_reply(struct tx *tx, const struct telegram_event *ev,
			const struct telegram_said *m, struct arena *a,
			struct telegram_taken *out, struct err *e)
{
	bool direct = ev->reply_message > 0, private = ev->chat > 0;
	const struct form_said said = { .what = FORM_SAY_TEXT, .text = m->text };
	const struct question_find by = {
		.channel = CHANNEL,
		.address = m->address,
		.requester = m->sender,
		.message = direct ? arena_fmt(a, "%lld", (long long)ev->reply_message) : S(""),
	};
	struct err wrong = { 0 };
	struct question q;
	bool seen = false, many = false;
	int rc;

	*out = (struct telegram_taken){ 0 };
	if (!m->text.n || (!direct && !private))
		return OK;
	if ((rc = find_asked(tx, ev, &by, a, &q, &many, e)) < 0 || !q.id.n ||
	    (rc = store_inbox_seen(tx, CHANNEL, m->dedupe, &seen, e)) < 0)
		return rc;
	out->taken = true;
	if (many && !seen)
		out->line = S("Not taken: more than one question is open here. Reply to the "
			      "message of the one that you mean.");
	if (seen || many || (rc = asks_step(tx, &q, &said, m->sender, a, &wrong, e)) < 0)
		return rc;
	out->turn = q.turn_id;
	out->decided = q.state != QUESTION_PENDING;
	if (wrong.msg[0] && out->decided)
		out->line = arena_fmt(a, "Cancelled, after too many tries: %.*s.",
				      STRF(shown(&wrong, a)));
	else if (wrong.msg[0])
		out->line = arena_fmt(a, "Not taken: %.*s. Try again, or press a button.",
				      STRF(shown(&wrong, a)));
	return OK;
}

/* --- the messages that asked --------------------------------------------------------------- */

bool telegram_asks_over(struct telegram *t, str id, int64_t message_id, struct arena *a,
			str *verdict)
{
	struct approval p;
	struct question q;
	int64_t stands = 0;
	int rc = store_approval_get(t->store, id, a, &p, NULL);

	if (rc == OK) {
		*verdict = p.state == APPROVAL_EXPIRED  ? S("⌛ No longer valid")
			   : p.state == APPROVAL_DENIED ? S("❌ Denied")
							: S("✅ Approved");
		return p.state != APPROVAL_PENDING;
	}
	*verdict = S("");
	if (store_question_get(t->store, id, a, &q, NULL) < 0)
		return true;
	if (!str_i64(q.message_id, &stands))
		return q.state != QUESTION_PENDING;
	if (stands == message_id)
		*verdict = end_words(q.state);
	return q.state != QUESTION_PENDING || stands != message_id;
}

void telegram_asks_watch_old(struct telegram *t)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t chat, thread, id;
	struct approval *v;
	struct question *w;
	size_t n = 0;

	if (store_approval_list(t->store, CHANNEL, &a, &v, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (str_i64(v[i].message_id, &id) &&
		    telegram_address_read(v[i].address, &chat, &thread))
			telegram_live_watch(t, v[i].id, chat, id);
	if (store_question_shown(t->store, CHANNEL, clock_now_ms() - VOID_MS, &a, &w, &n,
				 NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (str_i64(w[i].message_id, &id) &&
		    telegram_address_read(w[i].address, &chat, &thread))
			telegram_live_watch(t, w[i].id, chat, id);
}
