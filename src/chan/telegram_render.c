/*
 * Outbox rows as pieces.  A reply is Markdown; a notice and a question are our own words.
 *
 *	send, edit   body: HTML; plain: what is sent when Telegram cannot parse that
 *	photo        body: the URL, a newline, the caption as HTML; plain: the caption's source
 *	document     body: the file; plain: its caption
 *
 * A question shows all of its command before its buttons: in the same message, in several, or
 * as a file.  The message with the buttons is the last one, and the only one that does not end
 * in a block of code.
 */
#include "chan/telegram_asks.h"

#include "base/utf.h"
#include "text/text.h"
#include "text/tghtml.h"

#define PRE_UNITS 3000 /* of one message */
#define PRE_MESSAGES 4 /* more than this is a file */
#define PRE_END "</pre>"
#define REASON_CHARS 500
#define TEXT_CHARS 1000000 /* of an answer that is too long to be handled */

str telegram_html(struct arena *a, str text)
{
	struct buf b = buf_in(a, text.n * 5 + 16);

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (c == '&')
			buf_add(&b, S("&amp;"));
		else if (c == '<')
			buf_add(&b, S("&lt;"));
		else if (c == '>')
			buf_add(&b, S("&gt;"));
		else
			buf_addc(&b, c);
	}
	return buf_str(&b);
}

/* --- questions ------------------------------------------------------------------------ */

bool telegram_has_buttons(const struct outbox_row *row, const struct piece *piece)
{
	return row->question_id.n || (row->approval_id.n && str_eq(piece->method, S("send")) &&
				      !str_ends(piece->body, S(PRE_END)));
}

str telegram_buttons(struct arena *a, str id)
{
	return arena_fmt(
		a,
		"{\"inline_keyboard\":[[{\"text\":\"Yes\",\"callback_data\":\"ok:%.*s\"},"
		"{\"text\":\"No\",\"callback_data\":\"no:%.*s\"}],[{\"text\":"
		"\"Always allow exactly this\",\"callback_data\":\"al:%.*s\"}]]}",
		STRF(id), STRF(id), STRF(id));
}

/* The first part of *rest of at most max units; better at the end of a line. */
static str take_units(str *rest, size_t max)
{
	size_t units = 0, i = 0, line = 0;

	for (size_t len; i < rest->n; i += len) {
		uint32_t cp = utf_next(str_sub(*rest, i, rest->n), &len);
		units += cp >= 0x10000 ? 2 : 1;
		if (units > max)
			break;
		if (rest->p[i] == '\n')
			line = i + 1;
	}
	if (i < rest->n && line > i / 2)
		i = line;
	str part = str_sub(*rest, 0, i);
	*rest = str_sub(*rest, i, rest->n);
	return part;
}

static size_t units_of(str s)
{
	size_t n = 0;

	for (size_t i = 0, len; i < s.n; i += len)
		n += utf_next(str_sub(s, i, s.n), &len) >= 0x10000 ? 2 : 1;
	return n;
}

/* The closing message: what is asked, and the reason. */
static struct piece_new question(struct arena *a, const struct approval *q, str command)
{
	str tool = text_line(a, q->tool, 200);
	str reason = text_visible(a, text_cut(a, q->reason, REASON_CHARS), false);
	struct buf html = buf_in(a, 1 << 20), plain = buf_in(a, 1 << 20);

	if (q->posts > 1) {
		buf_add(&html, S("<i>Still waiting:</i>\n"));
		buf_add(&plain, S("Still waiting:\n"));
	}
	buf_fmt(&html, "<b>May I run</b> <code>%.*s</code><b>?</b>",
		STRF(telegram_html(a, tool)));
	buf_fmt(&plain, "May I run %.*s?", STRF(tool));
	if (command.n) {
		buf_fmt(&html, "\n<pre>%.*s" PRE_END, STRF(telegram_html(a, command)));
		buf_fmt(&plain, "\n%.*s", STRF(command));
	}
	if (reason.n) {
		buf_fmt(&html, "\nReason: %.*s", STRF(telegram_html(a, reason)));
		buf_fmt(&plain, "\nReason: %.*s", STRF(reason));
	}
	buf_add(&html, S("\nNo answer means no."));
	buf_add(&plain, S("\nNo answer means no."));
	return (struct piece_new){ .method = S("send"),
				   .body = buf_str(&html),
				   .plain = buf_str(&plain) };
}

int telegram_render_approval(struct arena *a, const struct approval *q, struct piece_new **out,
			     size_t *n, struct err *e)
{
	struct piece_new *v = NEWN(a, struct piece_new, PRE_MESSAGES + 2);
	str command = text_visible(a, q->command, false), rest = command;
	size_t units = units_of(command), k = 0;

	(void)e;
	if (units > (size_t)PRE_UNITS * PRE_MESSAGES) {
		v[k++] = (struct piece_new){
			.method = S("document"),
			.body = command,
			.plain = arena_fmt(a, "All of what %.*s would run",
					   STRF(text_line(a, q->tool, 200))),
		};
		command = S("");
	} else if (units > PRE_UNITS) {
		/* Parts that end with their line are shorter: one more may be needed. */
		while (rest.n && k < PRE_MESSAGES + 1) {
			size_t max = k < PRE_MESSAGES ? PRE_UNITS : SIZE_MAX;
			str part = take_units(&rest, max);
			v[k++] = (struct piece_new){
				.method = S("send"),
				.body = arena_fmt(a, "<pre>%.*s" PRE_END,
						  STRF(telegram_html(a, part))),
				.plain = part,
			};
		}
		command = S("");
	}
	v[k++] = question(a, q, command);
	*out = v;
	*n = k;
	return OK;
}

static int render_question(struct telegram *t, const struct outbox_row *row, struct arena *a,
			   struct piece_new **out, size_t *n, struct err *e)
{
	struct approval q;
	int rc = store_approval_get(t->store, row->approval_id, a, &q, e);

	if (rc == E_NOENT || (rc == OK && q.state != APPROVAL_PENDING)) {
		*n = 0; /* decided or gone before it was asked */
		return OK;
	}
	return rc < 0 ? rc : telegram_render_approval(a, &q, out, n, e);
}

/* --- answers -------------------------------------------------------------------------- */

static struct piece_new piece_of(struct arena *a, const struct tg_piece *p)
{
	if (p->kind == TG_PHOTO)
		return (struct piece_new){ .method = S("photo"),
					   .body = arena_fmt(a, "%.*s\n%.*s", STRF(p->url),
							     STRF(p->html)),
					   .plain = p->plain };
	return (struct piece_new){ .method = S("send"), .body = p->html, .plain = p->plain };
}

/* The message that showed the answer while it was made becomes its first part.  A photo cannot
 * take its place: then it says what follows. */
static void begin_with_edit(struct arena *a, const struct outbox_row *row, struct piece_new **v,
			    size_t *n)
{
	struct piece_new *w;

	if (*n && str_eq((*v)[0].method, S("send"))) {
		(*v)[0].method = S("edit");
		(*v)[0].remote_id = row->live_id;
		return;
	}
	w = NEWN(a, struct piece_new, *n + 1);
	w[0] = (struct piece_new){ .method = S("edit"),
				   .body = *n ? S("…") : S("(no text)"),
				   .plain = *n ? S("…") : S("(no text)"),
				   .remote_id = row->live_id };
	for (size_t i = 0; i < *n; i++)
		w[i + 1] = (*v)[i];
	*v = w;
	*n += 1;
}

int telegram_render(struct channel *self, const struct outbox_row *row, struct arena *a,
		    struct piece_new **out, size_t *n, struct err *e)
{
	struct telegram *t = (struct telegram *)self;
	struct tg_piece *pieces = NULL;
	size_t count = 0;
	int rc;

	*out = NULL;
	if (row->approval_id.n)
		return render_question(t, row, a, out, n, e);
	if (row->question_id.n)
		return telegram_asks_render_row(t, row, a, out, n, e);
	rc = tg_render(a, utf_repair(a, row->text), &pieces, &count, e);
	if (rc == E_LIMIT) /* nobody reads that much; its head and tail then */
		rc = tg_render(a, text_cut(a, utf_repair(a, row->text), TEXT_CHARS), &pieces,
			       &count, e);
	if (rc < 0)
		return rc;
	*out = NEWN(a, struct piece_new, count + 1);
	for (size_t i = 0; i < count; i++)
		(*out)[i] = piece_of(a, &pieces[i]);
	*n = count;
	if (row->live_id.n)
		begin_with_edit(a, row, out, n);
	return OK;
}
