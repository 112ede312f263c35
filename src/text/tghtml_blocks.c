/*
 * Markdown to text with styles: the blocks, and writing the text.
 */
#include "text/tghtml_parse.h"

#include <string.h>

void *tg_more(struct arena *a, void *p, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return p;
	size_t more = *room ? *room * 2 : 16;
	p = arena_grow(a, p, *room * size, more * size);
	*room = more;
	return p;
}

/* --- text ---------------------------------------------------------------------------- */

static bool same_style(struct tg_style x, struct tg_style y)
{
	return x.bits == y.bits && x.link == y.link && x.pre == y.pre && x.quote == y.quote;
}

/* src_n bytes of the source from src, or TG_NO_SOURCE. */
static void put(struct tg_parse *r, str s, struct tg_style style, size_t src, size_t src_n)
{
	struct tg_doc *d = r->d;
	struct tg_run *last = d->runs_n ? &d->runs[d->runs_n - 1] : NULL;
	size_t at = d->text.n;

	if (s.n == 0)
		return;
	buf_add(&d->text, s);
	if (src != TG_NO_SOURCE)
		r->src_end = src + src_n;
	r->took = false;
	if (last && same_style(last->style, style)) {
		bool verbatim = src != TG_NO_SOURCE && last->src != TG_NO_SOURCE &&
				last->src_n == at - last->at && src_n == s.n;
		if (verbatim && last->src + last->src_n == src) {
			last->src_n += src_n;
			return;
		}
		if (src == TG_NO_SOURCE && last->src == TG_NO_SOURCE)
			return;
	}
	TG_MORE(r, d->runs, d->runs_n, d->runs_room);
	d->runs[d->runs_n++] = (struct tg_run){ at, src, src_n, style };
}

static struct tg_style plain_style(const struct tg_parse *r)
{
	return (struct tg_style){ .quote = r->now.quote };
}

/* Telegram takes code neither in links nor in or around other styles. */
static struct tg_style style_now(const struct tg_parse *r)
{
	struct tg_style s = r->now;

	if (s.pre)
		return s;
	if (r->code && !s.link)
		s.bits = TG_CODE;
	else
		s.bits = (r->bold || r->heads ? TG_BOLD : 0u) | (r->italic ? TG_ITALIC : 0u) |
			 (r->strike ? TG_STRIKE : 0u);
	return s;
}

/* What the text before and the one that comes have in common. */
static struct tg_style common_style(const struct tg_parse *r)
{
	struct tg_style s = style_now(r), last = { 0 };

	if (r->d->runs_n)
		last = r->d->runs[r->d->runs_n - 1].style;
	s.bits &= last.bits;
	s.link = s.link == last.link ? s.link : 0;
	s.pre = s.pre == last.pre ? s.pre : 0;
	s.quote = s.quote == last.quote ? s.quote : 0;
	return s;
}

/* A newline that the source has here too is taken from there. */
static void put_newline(struct tg_parse *r, struct tg_style style)
{
	bool there = r->d->text.n && r->src_end < r->d->source.n &&
		     r->d->source.p[r->src_end] == '\n';

	put(r, S("\n"), style, there ? r->src_end : TG_NO_SOURCE, there);
}

size_t tg_depths(const struct tg_parse *r)
{
	return r->levels_n < DEPTH_MAX ? r->levels_n : DEPTH_MAX;
}

/* The marks of items that begin here, and room where those of others were. */
static void put_prefix(struct tg_parse *r)
{
	size_t from = tg_depths(r);

	while (from > 0 && !r->levels[from - 1].quote)
		from--;
	for (size_t i = from; i < tg_depths(r); i++) {
		struct tg_depth *l = &r->levels[i];
		str s = l->fresh ? str_of(l->mark) : str_sub(S("    "), 0, l->width);
		put(r, s, plain_style(r), TG_NO_SOURCE, 0);
		l->fresh = false;
	}
}

/* Did the writer leave a blank line before the byte src? */
static bool spaced(const struct tg_parse *r, size_t src)
{
	bool empty = false;

	for (size_t i = r->src_end; i < src; i++) {
		char c = r->d->source.p[i];
		if (c == '\n' && empty)
			return true;
		empty = c == '\n' || (empty && strchr(" \t>", c));
	}
	return false;
}

static void put_breaks(struct tg_parse *r, size_t src)
{
	struct tg_doc *d = r->d;
	size_t n = r->breaks;
	struct tg_style style = { 0 };
	bool together = r->together || (d->text.n && d->text.p[d->text.n - 1] == ':');

	if (n == 2 && src != TG_NO_SOURCE && !spaced(r, src))
		n = 1;
	if (n && d->text.n) {
		if (r->last_quote == r->now.quote)
			style.quote = r->now.quote;
		while (n-- > 0)
			put_newline(r, style);
		TG_MORE(r, d->breaks, d->breaks_n, d->breaks_room);
		d->breaks[d->breaks_n++] = (struct tg_break){
			d->text.n,
			together || r->row ? TG_LINE
			: r->break_depth   ? TG_PART
					   : TG_BLOCK,
		};
	}
	r->breaks = 0;
	r->break_depth = SIZE_MAX;
	r->together = false;
}

/* What has to stand before text, which is at src of the source. */
static void start(struct tg_parse *r, size_t src)
{
	if (!r->leaf || r->breaks) {
		put_breaks(r, src);
		if (!r->now.pre)
			put_prefix(r);
	} else if (r->line_due) {
		put_newline(r, common_style(r));
		put_prefix(r);
	}
	r->line_due = false;
	r->leaf = true;
	r->last_quote = r->now.quote;
}

/* Spans end with their block; see the bug that pop() tells of. */
static void drop_spans(struct tg_parse *r)
{
	r->spans_n = 0;
	r->bold = r->italic = r->strike = r->code = r->links = 0;
	r->now.link = 0;
	r->mute = false;
}

static void want_break(struct tg_parse *r, size_t n)
{
	if (n > r->breaks)
		r->breaks = n;
	if (r->levels_n < r->break_depth)
		r->break_depth = r->levels_n;
	r->leaf = false;
	r->line_due = false;
	drop_spans(r);
}

/* Newlines between blocks here. */
static size_t distance(const struct tg_parse *r)
{
	size_t n = tg_depths(r);

	return n && !r->levels[n - 1].quote && r->levels[n - 1].tight ? 1 : 2;
}

void tg_add(struct tg_parse *r, str s, size_t src, size_t src_n)
{
	start(r, src);
	put(r, s, style_now(r), src, src_n);
}

void tg_add_code(struct tg_parse *r, str s, size_t src)
{
	struct tg_style style = style_now(r);

	while (s.n) {
		size_t n = s.n;
		str line = str_cut(&s, '\n');
		if (line.n) {
			if (!r->leaf)
				start(r, src);
			for (; r->code_lines; r->code_lines--)
				put_newline(r, style);
			put(r, line, style, src, src == TG_NO_SOURCE ? 0 : line.n);
		}
		r->code_lines += line.n < n - s.n;
		if (src != TG_NO_SOURCE)
			src += n - s.n;
	}
}

/* --- blocks -------------------------------------------------------------------------- */

/* The marks of empty items around what is about to begin, on a line of their own. */
static void put_fresh(struct tg_parse *r)
{
	for (size_t i = tg_depths(r); i > 0 && !r->levels[i - 1].quote; i--) {
		if (!r->levels[i - 1].fresh)
			continue;
		start(r, TG_NO_SOURCE);
		want_break(r, 1);
		return;
	}
}

static void enter_item(struct tg_parse *r, const MD_BLOCK_LI_DETAIL *d)
{
	struct tg_list *list = &r->lists[(r->lists_n < DEPTH_MAX ? r->lists_n : DEPTH_MAX) - 1];
	struct tg_depth l = { .fresh = true, .tight = list->tight, .width = 2 };
	struct buf b = buf_in(r->a, sizeof l.mark - 1);

	want_break(r, list->tight ? 1 : 2);
	if (list->ordered) {
		buf_fmt(&b, "%u. ", list->next++);
		l.width = b.n < 4 ? b.n : 4;
	}
	if (d->is_task)
		buf_add(&b, d->task_mark == ' ' ? S("\u2610 ") : S("\u2705 "));
	else if (!list->ordered)
		buf_add(&b, S("\u2022 "));
	memcpy(l.mark, b.p, b.n);
	if (r->levels_n < DEPTH_MAX)
		r->levels[r->levels_n] = l;
	r->levels_n++;
}

static void enter_quote(struct tg_parse *r)
{
	put_fresh(r);
	want_break(r, distance(r));
	if (r->levels_n < DEPTH_MAX)
		r->levels[r->levels_n] = (struct tg_depth){ .quote = true };
	r->levels_n++;
	if (r->quotes_open++ == 0)
		r->now.quote = ++r->quotes;
}

static void push_list(struct tg_parse *r, struct tg_list l)
{
	want_break(r, distance(r));
	if (r->lists_n < DEPTH_MAX)
		r->lists[r->lists_n] = l;
	r->lists_n++;
}

static void enter_code(struct tg_parse *r, const MD_BLOCK_CODE_DETAIL *d)
{
	str lang = md_attribute(r->a, &d->lang, md_entity);

	for (size_t i = 0; i < lang.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+#."
			    "-",
			    lang.p[i]) ||
		    !lang.p[i] || i > 63)
			lang = S("");
	put_fresh(r);
	want_break(r, distance(r));
	TG_MORE(r, r->d->langs, r->d->langs_n, r->d->langs_room);
	r->d->langs[r->d->langs_n++] = lang;
	r->now.pre = (unsigned)r->d->langs_n;
	r->code_lines = 0;
}

int tg_enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct tg_parse *r = arg;

	switch (type) {
	case MD_BLOCK_QUOTE:
		enter_quote(r);
		break;
	case MD_BLOCK_UL:
		push_list(r, (struct tg_list){
				     .tight = ((MD_BLOCK_UL_DETAIL *)detail)->is_tight });
		break;
	case MD_BLOCK_OL:
		push_list(r, (struct tg_list){ true, ((MD_BLOCK_OL_DETAIL *)detail)->is_tight,
					       ((MD_BLOCK_OL_DETAIL *)detail)->start });
		break;
	case MD_BLOCK_LI:
		enter_item(r, detail);
		break;
	case MD_BLOCK_CODE:
		enter_code(r, detail);
		break;
	case MD_BLOCK_TR:
		r->row |= r->cells > 0;
		r->cells = 0;
		want_break(r, r->row ? 1 : distance(r));
		break;
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		drop_spans(r);
		if (r->cells++)
			tg_add(r, S(" | "), TG_NO_SOURCE, 0);
		break;
	case MD_BLOCK_HR:
		want_break(r, distance(r));
		tg_add(r, S("\u2014\u2014\u2014"), TG_NO_SOURCE, 0);
		break;
	case MD_BLOCK_THEAD:
		r->heads++;
		break;
	case MD_BLOCK_TBODY:
		break;
	case MD_BLOCK_H:
		r->heads++;
		want_break(r, distance(r));
		break;
	default:
		want_break(r, distance(r));
		break;
	}
	return 0;
}

/* Photos of a block stand behind it. */
static void settle(struct tg_parse *r)
{
	for (; r->settled < r->d->photos_n; r->settled++)
		r->d->photos[r->settled].at = r->d->text.n;
	r->took = false;
}

static void leave_item(struct tg_parse *r)
{
	struct tg_depth *l = r->levels_n <= DEPTH_MAX ? &r->levels[r->levels_n - 1] : NULL;

	if (l && l->fresh && !l->photo)
		start(r, TG_NO_SOURCE);
	settle(r);
	r->levels_n--;
	want_break(r, 1);
}

int tg_leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct tg_parse *r = arg;

	(void)detail;
	switch (type) {
	case MD_BLOCK_THEAD:
		r->heads--;
		return 0;
	case MD_BLOCK_TBODY:
	case MD_BLOCK_TR:
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		return 0;
	case MD_BLOCK_LI:
		leave_item(r);
		return 0;
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		r->lists_n--;
		break;
	case MD_BLOCK_QUOTE:
		r->levels_n--;
		if (--r->quotes_open == 0)
			r->now.quote = 0;
		break;
	case MD_BLOCK_CODE:
		r->now.pre = 0;
		break;
	case MD_BLOCK_TABLE:
		r->row = false;
		r->cells = 0;
		break;
	case MD_BLOCK_H:
		r->heads--;
		break;
	default:
		break;
	}
	settle(r);
	want_break(r, distance(r));
	r->together = type == MD_BLOCK_H;
	return 0;
}
