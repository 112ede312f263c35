/*
 * A question of a tool server where a person sits at a terminal: text, and the next line is the
 * reply, field by field.  It lives as long as the call that it came in.
 */
#include "agent/asks.h"

#include "base/buf.h"
#include "os/clock.h"
#include "text/text.h"

#define TEXT_MAX 65536

static void add_indented(struct buf *b, str text)
{
	while (text.n) {
		buf_add(b, S("    "));
		buf_add(b, str_cut(&text, '\n'));
		buf_addc(b, '\n');
	}
}

/* What may be said now; the words have a slash in front, as any other text is an answer. */
static void add_words(struct buf *b, const struct form *f, const struct form_fill *x)
{
	const struct form_field *at = x->field < f->n ? &f->fields[x->field] : NULL;

	if (!at)
		buf_fmt(b, "%s? [y/N, /cancel] ",
			f->link ? "Open it yourself, and say that you did" : "Accept");
	else
		buf_fmt(b, "Your answer (%s/decline, /cancel): ",
			at->def.n      ? "empty: the default; "
			: at->required ? ""
				       : "empty: none; ");
}

/* The first time with who asks, and why; later with what was wrong, or nothing. */
static str prompt_of(const struct form *f, const struct form_fill *x, str server, bool first,
		     const struct err *wrong, struct arena *a)
{
	struct buf b = buf_in(a, TEXT_MAX);

	if (wrong->msg[0])
		buf_fmt(&b, "%.*s\n", STRF(text_visible(a, str_of(wrong->msg), true)));
	if (first) {
		buf_fmt(&b, "\nThe tool server %.*s asks:\n", STRF(text_line(a, server, 64)));
		add_indented(&b, f->message);
	}
	if (f->link && first)
		add_indented(&b, form_link(f, a));
	if (x->field < f->n && !wrong->msg[0])
		add_indented(&b, form_block(f, x->field, true, a));
	add_words(&b, f, x);
	return buf_str(&b);
}

static struct form_said said_of(const struct form *f, const struct form_fill *x, str line)
{
	str word = str_trim(line);

	if (str_ieq(word, S("/decline")))
		return (struct form_said){ .what = FORM_SAY_DECLINE };
	if (str_ieq(word, S("/cancel")) || str_ieq(word, S("/stop")))
		return (struct form_said){ .what = FORM_SAY_CANCEL };
	if (x->field < f->n)
		return (struct form_said){ .what = FORM_SAY_TEXT, .text = line };
	bool yes = str_ieq(word, S("y")) || str_ieq(word, S("yes"));
	return (struct form_said){ .what = yes ? FORM_SAY_ACCEPT : FORM_SAY_DECLINE };
}

int asks_by_line(struct approver *by, const struct form *f, str server, int64_t timeout_ms,
		 struct arena *a, struct form_fill *x, const struct cancel *c, struct err *e)
{
	int64_t until = clock_mono_ms() + timeout_ms, left;
	struct err wrong = { 0 };
	bool first = true;

	while (x->end == FORM_OPEN && (left = until - clock_mono_ms()) > 0) {
		const struct line_ask ask = {
			.text = prompt_of(f, x, server, first, &wrong, a),
			.max = FORM_TYPED,
			.timeout_ms = left,
		};
		str line = S("");
		wrong = (struct err){ 0 };
		int rc = by->line(by, &ask, a, &line, c, e);
		if (rc < 0 && rc != E_LIMIT)
			return rc;
		struct form_said said = said_of(f, x, line);
		if (rc == E_LIMIT)
			wrong = *e;
		else if (form_step(f, &said, x, a, &wrong) < 0 && x->end == FORM_CANCELLED)
			return OK;
		first = false;
	}
	return x->end == FORM_OPEN ? err_set(e, E_TIMEOUT, "nobody answered in time") : OK;
}
