/*
 * A range of the text as HTML.  What is open is a stack; where styles change, those that end
 * are closed with all above them, and those that begin are opened, the one that lasts longest
 * first.  So whatever the range, tags are balanced, and nothing is closed early without need.
 */
#include "text/tghtml_doc.h"

#include "base/utf.h"
#include "text/entity.h"

/* In the order of opening when two last equally long. */
enum kind { QUOTE, PRE, BOLD, ITALIC, STRIKE, LINK, CODE, KINDS };

#define ESCAPED 6 /* bytes: &quot; */
#define TAGS (TG_LINK_MAX * ESCAPED + 512) /* around one run */
#define ENTITY_MAX 12 /* bytes: &#x0010FFFF; */

struct emit {
	const struct tg_doc *d;
	size_t to;
	struct buf out;
	enum kind stack[KINDS];
	unsigned values[KINDS]; /* of what is on the stack, by kind; 0: not there */
	size_t depth;
};

static unsigned value(const struct tg_style *s, enum kind kind)
{
	switch (kind) {
	case QUOTE:
		return s->quote;
	case PRE:
		return s->pre;
	case LINK:
		return s->link;
	case BOLD:
		return s->bits & TG_BOLD;
	case ITALIC:
		return s->bits & TG_ITALIC;
	case STRIKE:
		return s->bits & TG_STRIKE;
	default:
		return s->bits & TG_CODE;
	}
}

static const char *const opens[KINDS] = { "<blockquote>", "<pre>", "<b>",   "<i>",
					  "<s>",          NULL,    "<code>" };
static const char *const closes[KINDS] = { "</blockquote>", "</pre>", "</b>",   "</i>",
					   "</s>",          "</a>",   "</code>" };

static str language(const struct emit *m, unsigned pre)
{
	return m->d->langs[pre - 1];
}

static void open_tag(struct emit *m, enum kind kind, unsigned v)
{
	m->stack[m->depth++] = kind;
	m->values[kind] = v;
	if (kind == LINK) {
		buf_add(&m->out, S("<a href=\""));
		text_escape(&m->out, m->d->links[v - 1]);
		buf_add(&m->out, S("\">"));
		return;
	}
	buf_add(&m->out, str_of(opens[kind]));
	if (kind == PRE && language(m, v).n)
		buf_fmt(&m->out, "<code class=\"language-%.*s\">", STRF(language(m, v)));
}

static void close_tag(struct emit *m)
{
	enum kind kind = m->stack[--m->depth];

	if (kind == PRE && language(m, m->values[PRE]).n)
		buf_add(&m->out, S("</code>"));
	buf_add(&m->out, str_of(closes[kind]));
	m->values[kind] = 0;
}

/* The run behind the last one in a row that has v, counted from the run r. */
static size_t lasts(const struct emit *m, size_t r, enum kind kind, unsigned v)
{
	const struct tg_doc *d = m->d;

	while (r < d->runs_n && d->runs[r].at < m->to && value(&d->runs[r].style, kind) == v)
		r++;
	return r;
}

static void change_to(struct emit *m, size_t r)
{
	const struct tg_style *s = &m->d->runs[r].style;
	size_t keep = 0, ends[KINDS] = { 0 };

	while (keep < m->depth && value(s, m->stack[keep]) == m->values[m->stack[keep]])
		keep++;
	while (m->depth > keep)
		close_tag(m);
	for (enum kind k = 0; k < KINDS; k++)
		if (value(s, k) && !m->values[k])
			ends[k] = lasts(m, r, k, value(s, k));
	for (;;) {
		enum kind longest = 0;
		for (enum kind k = 1; k < KINDS; k++)
			if (ends[k] > ends[longest])
				longest = k;
		if (ends[longest] == 0)
			break;
		open_tag(m, longest, value(s, longest));
		ends[longest] = 0;
	}
}

str tg_html(const struct tg_doc *d, size_t from, size_t to)
{
	struct emit m = { .d = d, .to = to };

	if (from >= to)
		return S("");
	m.out = buf_in(d->a, (to - from) * ESCAPED + (d->runs_n + 1) * TAGS);
	for (size_t r = tg_run_at(d, from); r < d->runs_n && d->runs[r].at < to; r++) {
		size_t begin = d->runs[r].at > from ? d->runs[r].at : from;
		size_t end =
			r + 1 < d->runs_n && d->runs[r + 1].at < to ? d->runs[r + 1].at : to;
		change_to(&m, r);
		text_escape(&m.out, str_sub((str){ d->text.p, d->text.n }, begin, end));
	}
	while (m.depth)
		close_tag(&m);
	return buf_str(&m.out);
}

/* A numeric entity's character, 0 when it is none. */
static uint32_t numeric(str name)
{
	uint32_t cp = 0, base = 10;
	size_t i = 1;

	if (name.n > 2 && (name.p[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	}
	if (name.n <= i || name.p[0] != '#')
		return 0;
	for (; i < name.n && cp < 0x110000; i++) {
		unsigned char c = (unsigned char)name.p[i];
		unsigned digit =
			c >= '0' && c <= '9' ? c - (unsigned)'0' : (c | 0x20u) - 'a' + 10u;
		if (digit >= base)
			return 0;
		cp = cp * base + digit;
	}
	return cp < 0x110000 ? cp : 0;
}

/* How long the tag or entity at the start of s is, and what it counts; 0 when it is none. */
static size_t markup(str s, size_t *units)
{
	static const str known[] = { { "lt", 2 }, { "gt", 2 }, { "amp", 3 }, { "quot", 4 } };
	size_t n = str_find(str_sub(s, 0, s.p[0] == '&' ? ENTITY_MAX : s.n),
			    s.p[0] == '<' ? S(">") : S(";"));

	*units = 0;
	if (n == SIZE_MAX)
		return 0;
	if (s.p[0] == '<')
		return n + 1;
	str name = str_sub(s, 1, n);
	uint32_t cp = numeric(name);
	*units = cp >= 0x10000 ? 2 : 1;
	for (size_t i = 0; i < COUNT(known) && !cp; i++)
		if (str_eq(name, known[i]))
			cp = 1;
	return cp ? n + 1 : 0;
}

size_t tg_length(str html)
{
	size_t total = 0;

	for (size_t i = 0, len, units; i < html.n; i += len, total += units) {
		str s = str_sub(html, i, html.n);
		len = s.p[0] == '<' || s.p[0] == '&' ? markup(s, &units) : 0;
		if (len == 0)
			units = utf_next(s, &len) >= 0x10000 ? 2 : 1;
	}
	return total;
}
