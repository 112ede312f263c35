/*
 * From a page to text: tame it, let gumbo make the tree, walk the tree without recursion.
 * Each tag has a row that says what happens where it begins and where it ends.
 */
#include "text/html.h"

#include "base/utf.h"
#include "text/html_out.h"
#include "text/html_tame.h"
#include "text/text.h"

#include <gumbo.h>

#define FIRST_MAX 999999999 /* a list that claims to begin later begins at 1 */
#define TITLE_MAX 300
#define TEXT_MAX ((size_t)8 << 20)
#define COUNTERS_MAX 32

struct walk {
	struct html_out o;
	struct arena *a;
	str base, title;
	str href; /* of the link we are in, "" none */
	int64_t counters[COUNTERS_MAX]; /* of the lists we are in; 0: not numbered */
	size_t lists;
	int pre;
};

static const char *attr(const GumboNode *n, const char *name)
{
	const GumboAttribute *at = gumbo_get_attribute(&n->v.element.attributes, name);

	return at ? at->value : NULL;
}

static const GumboNode *child(const GumboNode *n, size_t i)
{
	const GumboVector *v = n->type == GUMBO_NODE_DOCUMENT ? &n->v.document.children
							      : &n->v.element.children;

	if (n->type != GUMBO_NODE_DOCUMENT && n->type != GUMBO_NODE_ELEMENT)
		return NULL;
	return i < v->length ? v->data[i] : NULL;
}

/* The node after n in the tree below top, its children left out. */
static const GumboNode *past(const GumboNode *n, const GumboNode *top)
{
	for (; n != top; n = n->parent) {
		const GumboNode *next = child(n->parent, n->index_within_parent + 1);
		if (next)
			return next;
	}
	return NULL;
}

static bool is(const GumboNode *n, GumboTag tag)
{
	return n->type == GUMBO_NODE_ELEMENT && n->v.element.tag == tag;
}

static bool shown(const GumboNode *n)
{
	return n->type == GUMBO_NODE_ELEMENT && !attr(n, "hidden");
}

/* --- tables ------------------------------------------------------------------------- */

/* A table that only says where things stand: it holds what no cell of data holds. */
static bool layout(const GumboNode *table)
{
	const char *role = attr(table, "role");

	if (role &&
	    (str_ieq(str_of(role), S("presentation")) || str_ieq(str_of(role), S("none"))))
		return true;
	for (const GumboNode *n = child(table, 0), *next; n; n = next) {
		next = child(n, 0);
		if (!next)
			next = past(n, table);
		if (n->type != GUMBO_NODE_ELEMENT)
			continue;
		switch (n->v.element.tag) {
		case GUMBO_TAG_TABLE:
		case GUMBO_TAG_UL:
		case GUMBO_TAG_OL:
		case GUMBO_TAG_DL:
		case GUMBO_TAG_H1:
		case GUMBO_TAG_H2:
		case GUMBO_TAG_H3:
		case GUMBO_TAG_PRE:
		case GUMBO_TAG_BLOCKQUOTE:
		case GUMBO_TAG_FORM:
			return true;
		default:
			break;
		}
	}
	return false;
}

static void table_begin(struct walk *w, const GumboNode *n)
{
	html_break(&w->o, 2);
	if (!w->o.bar && !layout(n))
		w->o.bar = true;
}

static void table_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	w->o.bar = false; /* a table of data has none inside */
	html_break(&w->o, 2);
}

/* A row of data stands on one line: | a | b | */
static void row_begin(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 1);
	if (w->o.bar)
		html_put(&w->o, S("|"));
}

static bool heads(const GumboNode *row)
{
	size_t n = 0;

	for (size_t i = 0; child(row, i); i++) {
		if (is(child(row, i), GUMBO_TAG_TD))
			return false;
		n += is(child(row, i), GUMBO_TAG_TH);
	}
	return n > 0;
}

static void row_end(struct walk *w, const GumboNode *n)
{
	if (w->o.bar && heads(n) && shown(n)) {
		html_break(&w->o, 1);
		html_put(&w->o, S("|"));
		for (size_t i = 0; child(n, i); i++)
			if (is(child(n, i), GUMBO_TAG_TH) && shown(child(n, i)))
				html_append(&w->o, S(" --- |"));
	}
	html_break(&w->o, 1);
}

static void cell_begin(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 1);
	if (!w->o.bar)
		return;
	w->o.breaks = 0;
	w->o.gap = true;
	w->o.flat = true;
}

static void cell_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	w->o.flat = false;
	if (!w->o.bar)
		return;
	w->o.gap = false;
	w->o.breaks = 0;
	html_append(&w->o, S(" |"));
}

/* --- blocks ------------------------------------------------------------------------- */

static void block(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 1);
}

static void paragraph(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 2);
}

static void heading_begin(struct walk *w, const GumboNode *n)
{
	static const char marks[] = "###### ";
	int level = (int)n->v.element.tag - (int)GUMBO_TAG_H1 + 1;

	html_break(&w->o, 2);
	html_pad(&w->o, str_sub(S(marks), (size_t)(6 - level), 7), S(""));
}

static void pad_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_unpad(&w->o);
	html_break(&w->o, 2);
}

static void quote_begin(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 2);
	html_pad(&w->o, S("> "), S("> "));
}

static void list_begin(struct walk *w, const GumboNode *n)
{
	const char *start = attr(n, "start");
	int64_t first = 1;

	if (start &&
	    (!str_i64(str_trim(str_of(start)), &first) || first < 1 || first > FIRST_MAX))
		first = 1;
	html_break(&w->o, w->lists ? 1 : 2);
	if (w->lists < COUNTERS_MAX)
		w->counters[w->lists] = is(n, GUMBO_TAG_OL) ? first : 0;
	w->lists++;
}

static void list_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	w->lists--;
	html_break(&w->o, w->lists ? 1 : 2);
}

static void item_begin(struct walk *w, const GumboNode *n)
{
	size_t in = w->lists - 1;
	str mark = S("- ");

	(void)n;
	if (w->lists && in < COUNTERS_MAX && w->counters[in])
		mark = arena_fmt(w->a, "%lld. ", (long long)w->counters[in]++);
	html_break(&w->o, 1);
	html_pad(&w->o, mark, S("  "));
}

static void item_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_unpad(&w->o);
	html_break(&w->o, 1);
}

static void pre_begin(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 2);
	if (w->pre++ == 0 && !w->o.flat) {
		html_put(&w->o, S("```"));
		html_break(&w->o, 1);
	}
}

static void pre_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	if (--w->pre == 0 && !w->o.flat) {
		w->o.breaks = 1;
		html_put(&w->o, S("```"));
	}
	html_break(&w->o, 2);
}

static void rule(struct walk *w, const GumboNode *n)
{
	(void)n;
	html_break(&w->o, 2);
	if (!w->o.flat)
		html_put(&w->o, S("---"));
	html_break(&w->o, 2);
}

/* --- inside of lines ---------------------------------------------------------------- */

static void line_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	if (w->o.flat)
		w->o.gap = true;
	else if (w->o.breaks < 2)
		w->o.breaks++;
}

static void image(struct walk *w, const GumboNode *n)
{
	const char *alt = attr(n, "alt");
	str text = text_line(w->a, str_of(alt), 200);

	if (!text.n)
		return;
	html_fold(&w->o, S("[image: "));
	html_fold(&w->o, text);
	html_append(&w->o, S("]"));
}

static void link_begin(struct walk *w, const GumboNode *n)
{
	const char *href = attr(n, "href");

	w->href = href ? html_link(w->a, w->base, str_of(href)) : S("");
	if (!w->href.n)
		return;
	w->o.opening = S("[");
}

static void link_end(struct walk *w, const GumboNode *n)
{
	(void)n;
	if (!w->href.n)
		return;
	if (!w->o.opening.n) { /* there was text */
		html_append(&w->o, S("]("));
		html_append(&w->o, w->href);
		html_append(&w->o, S(")"));
	}
	w->o.opening = w->href = (str){ 0 };
}

/* --- the walk ----------------------------------------------------------------------- */

static const struct {
	GumboTag tag;
	void (*begin)(struct walk *w, const GumboNode *n);
	void (*end)(struct walk *w, const GumboNode *n);
} acts[] = {
	{ GUMBO_TAG_A, link_begin, link_end },
	{ GUMBO_TAG_ADDRESS, block, block },
	{ GUMBO_TAG_ARTICLE, paragraph, paragraph },
	{ GUMBO_TAG_ASIDE, paragraph, paragraph },
	{ GUMBO_TAG_BLOCKQUOTE, quote_begin, pad_end },
	{ GUMBO_TAG_BR, NULL, line_end },
	{ GUMBO_TAG_CAPTION, block, block },
	{ GUMBO_TAG_CENTER, block, block },
	{ GUMBO_TAG_DD, block, block },
	{ GUMBO_TAG_DETAILS, block, block },
	{ GUMBO_TAG_DIV, block, block },
	{ GUMBO_TAG_DL, paragraph, paragraph },
	{ GUMBO_TAG_DT, block, block },
	{ GUMBO_TAG_FIELDSET, block, block },
	{ GUMBO_TAG_FIGCAPTION, block, block },
	{ GUMBO_TAG_FIGURE, paragraph, paragraph },
	{ GUMBO_TAG_FOOTER, paragraph, paragraph },
	{ GUMBO_TAG_FORM, block, block },
	{ GUMBO_TAG_H1, heading_begin, pad_end },
	{ GUMBO_TAG_H2, heading_begin, pad_end },
	{ GUMBO_TAG_H3, heading_begin, pad_end },
	{ GUMBO_TAG_H4, heading_begin, pad_end },
	{ GUMBO_TAG_H5, heading_begin, pad_end },
	{ GUMBO_TAG_H6, heading_begin, pad_end },
	{ GUMBO_TAG_HEADER, paragraph, paragraph },
	{ GUMBO_TAG_HR, NULL, rule },
	{ GUMBO_TAG_IMG, NULL, image },
	{ GUMBO_TAG_LI, item_begin, item_end },
	{ GUMBO_TAG_MAIN, paragraph, paragraph },
	{ GUMBO_TAG_NAV, paragraph, paragraph },
	{ GUMBO_TAG_OL, list_begin, list_end },
	{ GUMBO_TAG_P, paragraph, paragraph },
	{ GUMBO_TAG_PRE, pre_begin, pre_end },
	{ GUMBO_TAG_SECTION, paragraph, paragraph },
	{ GUMBO_TAG_SUMMARY, block, block },
	{ GUMBO_TAG_TABLE, table_begin, table_end },
	{ GUMBO_TAG_TD, cell_begin, cell_end },
	{ GUMBO_TAG_TH, cell_begin, cell_end },
	{ GUMBO_TAG_TR, row_begin, row_end },
	{ GUMBO_TAG_UL, list_begin, list_end },
};

static void act(struct walk *w, const GumboNode *n, bool end)
{
	if (n->type != GUMBO_NODE_ELEMENT)
		return;
	for (size_t i = 0; i < COUNT(acts); i++) {
		if (acts[i].tag != n->v.element.tag)
			continue;
		if (end)
			acts[i].end(w, n);
		else if (acts[i].begin)
			acts[i].begin(w, n);
	}
}

/* Begin n; true: its children are of interest. */
static bool enter(struct walk *w, const GumboNode *n)
{
	if (n->type == GUMBO_NODE_TEXT || n->type == GUMBO_NODE_WHITESPACE ||
	    n->type == GUMBO_NODE_CDATA) {
		str text = str_of(n->v.text.text);
		if (w->pre && !w->o.flat)
			html_lines(&w->o, text);
		else
			html_fold(&w->o, text);
		return false;
	}
	if (n->type == GUMBO_NODE_DOCUMENT)
		return true;
	if (!shown(n))
		return false;
	if (is(n, GUMBO_TAG_TITLE)) {
		const GumboNode *text = child(n, 0);
		if (text && text->type == GUMBO_NODE_TEXT && !w->title.n)
			w->title = text_line(w->a, str_of(text->v.text.text), TITLE_MAX);
		return false;
	}
	act(w, n, false);
	return true;
}

static void walk(struct walk *w, const GumboNode *top)
{
	const GumboNode *n = top;

	for (;;) {
		bool in = enter(w, n);
		const GumboNode *next = in ? child(n, 0) : NULL;
		while (!next) {
			if (in)
				act(w, n, true);
			if (n == top)
				return;
			next = child(n->parent, n->index_within_parent + 1);
			if (!next)
				n = n->parent;
			in = true; /* else we would not be below it */
		}
		n = next;
	}
}

void html_text(struct html_text *out, struct arena *a, str html, str base)
{
	struct walk w = { .o.b = buf_in(a, TEXT_MAX), .a = a, .base = base };
	GumboOptions opt = kGumboDefaultOptions;
	bool cut = false;
	str tame = html_tame(a, html, &cut);

	opt.max_errors = 0;
	GumboOutput *tree = gumbo_parse_with_options(&opt, tame.p, tame.n);
	walk(&w, tree->document);
	gumbo_destroy_output(&opt, tree);
	*out = (struct html_text){
		.title = w.title,
		.text = str_trim(utf_repair(a, buf_str(&w.o.b))),
		.cut = cut || w.o.b.full,
	};
}
