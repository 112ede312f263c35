/*
 * A judge of Telegram's HTML.  It is stricter than the Bot API: no empty elements, no tag in
 * code, no raw > or quote, no style around code.
 */
#include "unit/tg_judge.h"

#include <string.h>

#include "base/utf.h"
#include "text/tghtml_doc.h"

#define TAGS_MAX 64 /* nested */
#define TAGS_IN_ALL 100
#define LINKS_IN_ALL 9500 /* bytes */

struct judge {
	str open[TAGS_MAX];
	size_t depth;
	size_t filled; /* elements up to this depth have content */
	size_t tags, links; /* how many, and bytes of the targets */
	struct buf text;
};

static bool inside(const struct judge *j, const char *name)
{
	for (size_t i = 0; i < j->depth; i++)
		if (str_eq(j->open[i], str_of(name)))
			return true;
	return false;
}

/* The value of an attribute: no markup, no control characters. */
static bool value_fine(str value, str prefix)
{
	for (size_t i = 0; i < value.n; i++)
		if (strchr("<>\"", value.p[i]) || (unsigned char)value.p[i] <= ' ')
			return false;
	return str_starts(value, prefix) && value.n > prefix.n;
}

static const char *link_fault(str tag)
{
	static const char *const schemes[] = { "http://", "https://", "tg://", "mailto:" };
	str value;

	if (!str_starts(tag, S("a href=\"")) || !str_ends(tag, S("\"")) || tag.n < 10)
		return "a without a proper href";
	value = str_sub(tag, 8, tag.n - 1);
	for (size_t i = 0; i < COUNT(schemes); i++) {
		str s = str_of(schemes[i]);
		if (value.n > s.n && str_ieq(str_sub(value, 0, s.n), s))
			return value_fine(value, S("")) ? NULL : "markup in an href";
	}
	return "a link with that scheme";
}

/* The opening tag of an element that may not stand here? */
static const char *open_fault(const struct judge *j, str tag)
{
	static const char *const plain[] = { "b",          "i",    "u",   "s",
					     "tg-spoiler", "code", "pre", "blockquote" };
	str rest = tag, name = str_cut(&rest, ' ');
	str parent = j->depth ? j->open[j->depth - 1] : S("");
	bool code = str_eq(tag, S("code")) || str_eq(tag, S("pre")), known = false;

	for (size_t i = 0; i < COUNT(plain); i++)
		known |= str_eq(tag, str_of(plain[i]));
	if (str_eq(name, S("code")) && rest.n) {
		if (!str_starts(rest, S("class=\"")) || !str_ends(rest, S("\"")) ||
		    !value_fine(str_sub(rest, 7, rest.n - 1), S("language-")))
			return "code with something else than a language";
		return str_eq(parent, S("pre")) && j->filled < j->depth
			       ? NULL
			       : "a language outside of pre";
	}
	if (inside(j, "pre") || inside(j, "code"))
		return "a tag in code";
	if (str_eq(name, S("a")))
		return inside(j, "a") ? "a link in a link" : link_fault(tag);
	if (!known)
		return "an unknown tag";
	if (inside(j, arena_cstr(j->text.a, tag)))
		return "a tag in itself";
	if (code && j->depth && !str_eq(parent, S("blockquote")))
		return "code in another style";
	if (str_eq(tag, S("blockquote")) && j->depth)
		return "a quote in another tag";
	return NULL;
}

static const char *tag_fault(struct judge *j, str tag)
{
	if (!str_starts(tag, S("/"))) {
		const char *fault = open_fault(j, tag);
		if (!fault && j->depth == TAGS_MAX)
			return "too deep";
		if (fault)
			return fault;
		j->tags += !(inside(j, "pre") && str_starts(tag, S("code ")));
		j->links += str_starts(tag, S("a ")) ? tag.n : 0;
		j->open[j->depth++] = str_cut(&tag, ' ');
		return j->tags > TAGS_IN_ALL     ? "more tags than Telegram looks at"
		       : j->links > LINKS_IN_ALL ? "more links than Telegram takes"
						 : NULL;
	}
	if (!j->depth || !str_eq(str_sub(tag, 1, tag.n), j->open[j->depth - 1]))
		return "a closing tag that closes nothing";
	if (j->filled < j->depth)
		return "an empty element";
	j->filled = --j->depth;
	return NULL;
}

/* A character that html begins with, onto text: its bytes, 0 when it may not stand there. */
static size_t character(str html, struct buf *text)
{
	static const char *const entities[] = { "&lt;<", "&gt;>", "&amp;&", "&quot;\"" };
	char c = html.p[0];

	for (size_t k = 0; k < COUNT(entities); k++) {
		str e = str_of(entities[k]);
		if (!str_starts(html, str_sub(e, 0, e.n - 1)))
			continue;
		buf_addc(text, e.p[e.n - 1]);
		return e.n - 1;
	}
	if (strchr("<>&\"", c) || ((unsigned char)c < ' ' && c != '\n' && c != '\t'))
		return 0;
	buf_addc(text, c);
	return 1;
}

const char *tg_fault(struct arena *a, str html, str *text)
{
	struct judge j = { .text = buf_in(a, html.n) };
	const char *fault = utf_valid(html) ? NULL : "no UTF-8";

	for (size_t i = 0, n; i < html.n && !fault; i += n) {
		str s = str_sub(html, i, html.n);
		if (s.p[0] == '<') {
			n = str_find(s, S(">"));
			if (n == SIZE_MAX)
				return "a tag without an end";
			fault = tag_fault(&j, str_sub(s, 1, n));
			n++;
			continue;
		}
		n = character(s, &j.text);
		if (n == 0)
			fault = "a raw character";
		j.filled = j.depth;
	}
	*text = buf_str(&j.text);
	return fault ? fault : j.depth ? "a tag that is not closed" : NULL;
}

/* --- pieces -------------------------------------------------------------------------- */

str tg_solid(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n);

	for (size_t i = 0, len; i < s.n; i += len) {
		(void)utf_next(str_sub(s, i, s.n), &len);
		if (tg_visible(str_sub(s, i, i + len)))
			buf_add(&b, str_sub(s, i, i + len));
	}
	return buf_str(&b);
}

static size_t utf16(str s)
{
	size_t n = 0, len;

	for (size_t i = 0; i < s.n; i += len)
		n += utf_next(str_sub(s, i, s.n), &len) >= 0x10000 ? 2 : 1;
	return n;
}

static const char *piece_fault(struct arena *a, const struct tg_piece *p, size_t limit,
			       str *text)
{
	const char *fault = tg_fault(a, p->html, text);
	bool photo = p->kind == TG_PHOTO;

	if (fault)
		return fault;
	if (tg_length(p->html) != utf16(*text))
		return "tg_length() counts otherwise";
	if (utf16(*text) > limit || utf16(p->plain) > limit)
		return "a piece over the limit";
	if (!utf_valid(p->plain))
		return "a plain text that is no UTF-8";
	if (!photo && (!tg_visible(*text) || !tg_visible(p->plain) || p->url.n))
		return "a message with nothing to see";
	if (photo && !str_ieq(str_sub(p->url, 0, 4), S("http")))
		return "a photo without a URL";
	return NULL;
}

/* Is text the one that the photo of a piece brings along itself? */
static bool own_text(struct arena *a, const struct tg_piece *p, str text,
		     const struct tg_doc *d)
{
	for (size_t i = 0; p->kind == TG_PHOTO && i < d->photos_n; i++)
		if (str_eq(d->photos[i].url, p->url))
			return str_starts(tg_solid(a, d->photos[i].alt), text);
	return false;
}

/* Do the pieces say what is left, all of it, in order?  Below a photo stands a part of that or
 * its own text, and where both are alike what follows tells. */
static bool told(struct arena *a, str left, const struct tg_piece *p, size_t n,
		 const struct tg_doc *d)
{
	str text;

	if (n == 0)
		return left.n == 0;
	(void)tg_fault(a, p->html, &text);
	text = tg_solid(a, text);
	if (text.n == 0)
		return told(a, left, p + 1, n - 1, d);
	if (str_starts(left, text) && told(a, str_sub(left, text.n, left.n), p + 1, n - 1, d))
		return true;
	return own_text(a, p, text, d) && told(a, left, p + 1, n - 1, d);
}

const char *tg_pieces_fault(struct arena *a, str markdown, size_t limit)
{
	size_t quarter = limit / 4 < TG_LIMIT_MIN ? TG_LIMIT_MIN : limit / 4;
	const struct tg_limits limits = { limit, quarter };
	struct tg_piece *pieces;
	struct tg_doc d;
	size_t n, photos = 0;
	str text;

	if (!tg_parse(&d, a, markdown, true) ||
	    tg_render_within(a, markdown, limits, &pieces, &n, NULL) < 0)
		return "too long";
	for (size_t i = 0; i < n; i++) {
		bool photo = pieces[i].kind == TG_PHOTO;
		const char *fault = piece_fault(a, &pieces[i], photo ? quarter : limit, &text);
		if (fault)
			return fault;
		photos += photo;
	}
	if (!told(a, tg_solid(a, buf_str(&d.text)), pieces, n, &d))
		return "text is lost, doubled or out of order";
	return photos == d.photos_n ? NULL : "a photo is lost or doubled";
}
