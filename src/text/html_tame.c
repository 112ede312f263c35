/*
 * Taming a page before it is parsed.  A parser of HTML can be made to work and to nest
 * without bounds by tags that are never closed; so the page is read here first, by a small
 * tokenizer of our own, and written again with the few tags whose meaning survives as text.
 * Every < of its text is an entity then: what is no tag to us is none to the parser.
 */
#include "text/html_tame.h"

#include "base/ascii.h"
#include "base/utf.h"
#include "text/html.h"

#include <string.h>

#define NAME_MAX_BYTES 16
#define VALUE_MAX 2000

enum kind {
	INLINE, /* written as span; also what is not in the table */
	BLOCK, /* nests */
	FREE, /* closes itself where it must: p, li, td, ... */
	VOID, /* has no content */
	DROP, /* the tag alone is left out */
	SKIP, /* with all its content, up to its first end tag */
	SKIP_NESTED, /* the same, up to the end tag that belongs to it */
	TITLE,
};

static const struct known {
	const char *name;
	enum kind kind;
	const char *attribute; /* that is kept */
} table[] = {
	{ "a", BLOCK, "href" },
	{ "address", BLOCK, NULL },
	{ "applet", SKIP_NESTED, NULL },
	{ "area", DROP, NULL },
	{ "article", BLOCK, NULL },
	{ "aside", BLOCK, NULL },
	{ "audio", SKIP_NESTED, NULL },
	{ "base", DROP, NULL },
	{ "blockquote", BLOCK, NULL },
	{ "body", DROP, NULL },
	{ "br", VOID, NULL },
	{ "canvas", SKIP_NESTED, NULL },
	{ "caption", FREE, NULL },
	{ "center", BLOCK, NULL },
	{ "col", DROP, NULL },
	{ "colgroup", DROP, NULL },
	{ "datalist", SKIP_NESTED, NULL },
	{ "dd", FREE, NULL },
	{ "details", BLOCK, NULL },
	{ "div", BLOCK, NULL },
	{ "dl", BLOCK, NULL },
	{ "dt", FREE, NULL },
	{ "embed", DROP, NULL },
	{ "fieldset", BLOCK, NULL },
	{ "figcaption", BLOCK, NULL },
	{ "figure", BLOCK, NULL },
	{ "footer", BLOCK, NULL },
	{ "form", BLOCK, NULL },
	{ "frame", DROP, NULL },
	{ "frameset", DROP, NULL },
	{ "h1", BLOCK, NULL },
	{ "h2", BLOCK, NULL },
	{ "h3", BLOCK, NULL },
	{ "h4", BLOCK, NULL },
	{ "h5", BLOCK, NULL },
	{ "h6", BLOCK, NULL },
	{ "head", DROP, NULL },
	{ "header", BLOCK, NULL },
	{ "hr", VOID, NULL },
	{ "html", DROP, NULL },
	{ "iframe", SKIP, NULL },
	{ "img", VOID, "alt" },
	{ "input", DROP, NULL },
	{ "li", FREE, NULL },
	{ "link", DROP, NULL },
	{ "main", BLOCK, NULL },
	{ "math", DROP, NULL },
	{ "meta", DROP, NULL },
	{ "nav", BLOCK, NULL },
	{ "noembed", SKIP, NULL },
	{ "noframes", SKIP, NULL },
	{ "noscript", SKIP, NULL },
	{ "object", SKIP_NESTED, NULL },
	{ "ol", BLOCK, "start" },
	{ "p", FREE, NULL },
	{ "param", DROP, NULL },
	{ "plaintext", DROP, NULL },
	{ "pre", BLOCK, NULL },
	{ "script", SKIP, NULL },
	{ "section", BLOCK, NULL },
	{ "select", SKIP_NESTED, NULL },
	{ "source", DROP, NULL },
	{ "style", SKIP, NULL },
	{ "summary", BLOCK, NULL },
	{ "svg", DROP, NULL },
	{ "table", BLOCK, "role" },
	{ "tbody", FREE, NULL },
	{ "td", FREE, NULL },
	{ "template", SKIP_NESTED, NULL },
	{ "textarea", SKIP, NULL },
	{ "tfoot", FREE, NULL },
	{ "th", FREE, NULL },
	{ "thead", FREE, NULL },
	{ "title", TITLE, NULL },
	{ "tr", FREE, NULL },
	{ "track", DROP, NULL },
	{ "ul", BLOCK, NULL },
	{ "video", SKIP_NESTED, NULL },
	{ "wbr", DROP, NULL },
	{ "xmp", SKIP, NULL },
};

static const struct known other = { "span", INLINE, NULL };

struct tame {
	str in;
	size_t i;
	struct buf out;
	const struct known *open[HTML_DEPTH_MAX]; /* BLOCK and INLINE elements */
	size_t open_n, over, tags;
	bool titled, cut;
};

static char at(const struct tame *t, size_t i)
{
	return i < t->in.n ? t->in.p[i] : 0;
}

/* The name that begins at i, cut off where it is too long to be known. */
static str name_at(const struct tame *t, size_t i)
{
	size_t from = i;

	while (i < t->in.n && !ascii_space(t->in.p[i]) && t->in.p[i] != '/' &&
	       t->in.p[i] != '>')
		i++;
	return str_sub(t->in, from, i);
}

/* The table is sorted by name. */
static const struct known *known_of(str name)
{
	size_t from = 0, to = COUNT(table);
	char lower[NAME_MAX_BYTES];

	if (name.n >= sizeof lower)
		return &other;
	for (size_t i = 0; i < name.n; i++)
		lower[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] + 32)
								: name.p[i];
	while (from < to) {
		size_t mid = (from + to) / 2;
		int c = str_cmp((str){ lower, name.n }, str_of(table[mid].name));
		if (c == 0)
			return &table[mid];
		if (c < 0)
			to = mid;
		else
			from = mid + 1;
	}
	return &other;
}

/* --- attributes --------------------------------------------------------------------- */

struct attr {
	str name, value;
};

/* The next attribute of a tag; false at its end, behind which *i is then. */
static bool next_attr(const struct tame *t, size_t *i, struct attr *out, bool *closed)
{
	size_t k = *i, from;

	for (; k < t->in.n && (ascii_space(t->in.p[k]) || t->in.p[k] == '/'); k++)
		*closed = t->in.p[k] == '/';
	if (k >= t->in.n || t->in.p[k] == '>') {
		*i = k < t->in.n ? k + 1 : k;
		return false;
	}
	*closed = false;
	for (from = k++; k < t->in.n && !ascii_space(t->in.p[k]) && !strchr("/>=", t->in.p[k]);)
		k++;
	*out = (struct attr){ .name = str_sub(t->in, from, k) };
	for (from = k; ascii_space(at(t, from));)
		from++;
	if (at(t, from) == '=') {
		for (k = from + 1; ascii_space(at(t, k));)
			k++;
		char quote = at(t, k);
		if (quote == '"' || quote == '\'') {
			const char *end = memchr(t->in.p + k + 1, quote, t->in.n - k - 1);
			size_t to = end ? (size_t)(end - t->in.p) : t->in.n;
			out->value = str_sub(t->in, k + 1, to);
			k = to + (to < t->in.n);
		} else {
			for (from = k;
			     k < t->in.n && !ascii_space(t->in.p[k]) && t->in.p[k] != '>';)
				k++;
			out->value = str_sub(t->in, from, k);
		}
	}
	*i = k;
	return true;
}

/* Does the style say so?  White space does not count. */
static bool style_hides(str style)
{
	static const char *const ways[] = { "display:none", "visibility:hidden", "opacity:0",
					    "font-size:0" };
	char folded[VALUE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < style.n && n < sizeof folded; i++)
		if (!ascii_space(style.p[i]))
			folded[n++] = style.p[i] >= 'A' && style.p[i] <= 'Z'
					      ? (char)(style.p[i] + 32)
					      : style.p[i];
	for (size_t i = 0; i < COUNT(ways); i++) {
		str way = str_of(ways[i]), rest = { folded, n };
		size_t from = str_find(rest, way);
		if (from == SIZE_MAX)
			continue;
		rest = str_sub(rest, from + way.n, n);
		/* opacity:0.9 and font-size:0.9em are to be seen. */
		if (!str_ends(way, S("0")) || !str_starts(rest, S(".")))
			return true;
	}
	return false;
}

static bool hides(const struct attr *at)
{
	return str_ieq(at->name, S("hidden")) ||
	       (str_ieq(at->name, S("aria-hidden")) && str_ieq(at->value, S("true"))) ||
	       (str_ieq(at->name, S("style")) && style_hides(at->value));
}

/* --- writing ------------------------------------------------------------------------ */

/* Text or a value, in which c cannot be what it was. */
static void put_without(struct buf *b, str s, char c, str instead)
{
	for (size_t i = 0, from = 0; i <= s.n; i++) {
		if (i < s.n && s.p[i] != c && s.p[i] != 0)
			continue;
		buf_add(b, str_sub(s, from, i));
		if (i < s.n && s.p[i] == c)
			buf_add(b, instead);
		from = i + 1;
	}
}

/* In pieces: what does not fit is left out, but no more. */
static void put_text(struct tame *t, str s)
{
	while (s.n && !t->out.full) {
		str piece = utf_head(s, 4096);
		put_without(&t->out, piece, '<', S("&lt;"));
		s = str_sub(s, piece.n, s.n);
	}
}

static void put_close(struct tame *t, const struct known *k)
{
	buf_fmt(&t->out, "</%s>", k->name);
}

static void put_open(struct tame *t, const struct known *k, const struct attr *kept,
		     bool hidden)
{
	buf_fmt(&t->out, "<%s", k->name);
	if (kept->name.n && kept->value.n <= VALUE_MAX) {
		buf_fmt(&t->out, " %s=\"", k->attribute);
		put_without(&t->out, kept->value, '"', S("&quot;"));
		buf_addc(&t->out, '"');
	}
	buf_add(&t->out, hidden ? S(" hidden>") : S(">"));
}

/* --- tags --------------------------------------------------------------------------- */

/* Past the end tag of an element whose content is left out. */
static void skip_content(struct tame *t, str name, bool nested)
{
	size_t depth = 1;

	while (t->i < t->in.n) {
		const char *lt = memchr(t->in.p + t->i, '<', t->in.n - t->i);
		if (!lt)
			break;
		size_t i = (size_t)(lt - t->in.p) + 1;
		bool end = at(t, i) == '/';
		i += end;
		t->i = i;
		if (!ascii_alpha(at(t, i)) || !str_ieq(name_at(t, i), name))
			continue;
		struct attr skipped;
		bool closed = false;
		for (i += name.n; next_attr(t, &i, &skipped, &closed);)
			;
		t->i = i;
		if (end && --depth == 0)
			return;
		depth += !end && nested;
	}
	t->i = t->in.n;
}

static void title(struct tame *t)
{
	size_t from = t->i, to = from;

	while (to < t->in.n && !(t->in.p[to] == '<' && at(t, to + 1) == '/' &&
				 str_ieq(str_sub(t->in, to + 2, to + 7), S("title"))))
		to++;
	t->i = to; /* the end tag is one without a beginning */
	if (t->titled)
		return;
	t->titled = true;
	buf_add(&t->out, S("<title>"));
	put_text(t, str_sub(t->in, from, to));
	buf_add(&t->out, S("</title>"));
}

static bool bounds_scope(const struct known *k)
{
	return str_eq(str_of(k->name), S("table"));
}

static void open_tag(struct tame *t, const struct known *k, str name)
{
	struct attr at, kept = { 0 };
	bool hidden = false, closed = false;

	while (next_attr(t, &t->i, &at, &closed)) {
		if (k->attribute && !kept.name.n && str_ieq(at.name, str_of(k->attribute)))
			kept = at;
		hidden = hidden || hides(&at);
	}
	if (k->kind == DROP || (k->kind == INLINE && closed))
		return;
	if (k->kind == SKIP || k->kind == SKIP_NESTED) {
		skip_content(t, name, k->kind == SKIP_NESTED);
		return;
	}
	if (k->kind == TITLE) {
		title(t);
		return;
	}
	if (t->tags == HTML_TAGS_MAX) {
		t->cut = true;
		return;
	}
	if (k->kind == BLOCK || k->kind == INLINE) {
		if (t->open_n == HTML_DEPTH_MAX) {
			t->over++;
			t->cut = true;
			return;
		}
		t->open[t->open_n++] = k;
	}
	t->tags++;
	put_open(t, k, &kept, hidden);
}

/* An end tag closes what was opened inside of its element first, so that what is written is
 * balanced; one without a beginning is left out. */
static void close_tag(struct tame *t, const struct known *k)
{
	size_t n = t->open_n;
	struct attr skipped;
	bool closed;

	while (next_attr(t, &t->i, &skipped, &closed))
		;
	if (k->kind == FREE) {
		if (t->tags < HTML_TAGS_MAX) {
			t->tags++;
			put_close(t, k);
		}
		return;
	}
	if (k->kind != BLOCK && k->kind != INLINE)
		return;
	if (t->over) {
		t->over--;
		return;
	}
	while (n > 0 && t->open[n - 1] != k && !bounds_scope(t->open[n - 1]))
		n--;
	if (n == 0 || t->open[n - 1] != k)
		return;
	while (t->open_n >= n)
		put_close(t, t->open[--t->open_n]);
}

/* <!-- --> and everything else that begins with <! or <? */
static void declaration(struct tame *t)
{
	str end = S(">");
	size_t from = t->i + 2;

	if (str_starts(str_sub(t->in, t->i, t->in.n), S("<!--"))) {
		from = t->i + 4;
		if (at(t, from) != '>' && !str_starts(str_sub(t->in, from, t->in.n), S("->")))
			end = S("-->");
	}
	size_t to = str_find(str_sub(t->in, from, t->in.n), end);
	t->i = to == SIZE_MAX ? t->in.n : from + to + end.n;
}

static void markup(struct tame *t)
{
	char c = at(t, t->i + 1);
	bool end = c == '/';

	if (c == '!' || c == '?') {
		declaration(t);
		return;
	}
	if (!ascii_alpha(end ? at(t, t->i + 2) : c)) {
		put_text(t, str_sub(t->in, t->i, t->i + 1));
		t->i++;
		return;
	}
	t->i += 1 + end;
	str name = name_at(t, t->i);
	t->i += name.n;
	if (end)
		close_tag(t, known_of(name));
	else
		open_tag(t, known_of(name), name);
}

str html_tame(struct arena *a, str html, bool *cut)
{
	struct tame t = { .in = html, .out = buf_in(a, HTML_BYTES_MAX) };

	buf_add(&t.out, S("<!DOCTYPE html>"));
	while (t.i < html.n && !t.out.full) {
		const char *lt = memchr(html.p + t.i, '<', html.n - t.i);
		size_t to = lt ? (size_t)(lt - html.p) : html.n;

		put_text(&t, str_sub(html, t.i, to));
		t.i = to;
		if (t.i < html.n)
			markup(&t);
	}
	*cut = t.cut || t.out.full;
	return buf_str(&t.out);
}
