/*
 * Writing the text of a page.  Nothing is written before there is text: so an element
 * without any leaves no trace.
 */
#include "text/html_out.h"

#include "base/utf.h"

void html_pad(struct html_out *o, str first, str rest)
{
	if (o->pads_n < PADS_MAX)
		o->pads[o->pads_n] = (struct pad){ first, rest };
	o->pads_n++;
}

void html_unpad(struct html_out *o)
{
	o->pads_n--;
}

void html_break(struct html_out *o, int n)
{
	if (o->flat)
		o->gap = true;
	else if (o->breaks < n)
		o->breaks = n;
}

static void begin_line(struct html_out *o)
{
	for (size_t i = 0; i < o->pads_n && i < PADS_MAX; i++) {
		struct pad *p = &o->pads[i];
		buf_add(&o->b, p->first.n ? p->first : p->rest);
		p->first = (str){ 0 };
	}
}

/* What is wanted before the next text. */
static void flush(struct html_out *o)
{
	bool fresh = o->b.n == 0;

	if (fresh || o->breaks) {
		for (int i = 0; i < o->breaks && !fresh; i++)
			buf_addc(&o->b, '\n');
		begin_line(o);
	} else if (o->gap) {
		buf_addc(&o->b, ' ');
	}
	o->breaks = 0;
	o->gap = false;
	buf_add(&o->b, o->opening);
	o->opening = (str){ 0 };
}

/* Characters that show nothing: they only hide what is written, or write unseen. */
static bool unseen(uint32_t cp)
{
	return cp == 0xad || cp == 0x200b || cp == 0x2060 || cp == 0xfeff ||
	       (cp >= 0xe0000 && cp < 0xe0080);
}

static bool blank(uint32_t cp)
{
	return cp == ' ' || (cp >= '\t' && cp <= '\r') || cp == 0xa0;
}

static void put_char(struct html_out *o, str c)
{
	flush(o);
	if (o->bar && str_eq(c, S("|")))
		buf_addc(&o->b, '\\');
	buf_add(&o->b, c);
}

void html_fold(struct html_out *o, str s)
{
	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);

		if (blank(cp))
			o->gap = true;
		else if (!unseen(cp))
			put_char(o, str_sub(s, i, i + len));
	}
}

void html_lines(struct html_out *o, str s)
{
	for (size_t i = 0, len; i < s.n; i += len) {
		uint32_t cp = utf_next(str_sub(s, i, s.n), &len);

		if (cp == '\n')
			o->breaks++;
		else if (cp != '\r' && !unseen(cp))
			put_char(o, str_sub(s, i, i + len));
	}
}

void html_append(struct html_out *o, str s)
{
	buf_add(&o->b, s);
}

void html_put(struct html_out *o, str s)
{
	flush(o);
	buf_add(&o->b, s);
}
