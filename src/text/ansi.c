/*
 * Markdown to ANSI.  md4c finds the structure; a leaf block (paragraph, heading, cell) is
 * collected with style marks in it and then written line by line behind the prefix that its
 * quotes and lists make.  A mark is the byte 1 and a byte of style bits: the text itself
 * holds no control characters by then.
 */
#include "text/ansi.h"

#include "base/utf.h"
#include "text/entity.h"
#include "text/md_text.h"
#include "text/text.h"

#include <string.h>

#define DEPTH_MAX 32
#define OUT_FACTOR 64 /* a prefix of 32 levels before a short line is the worst */
#define OUT_MIN 65536
#define RULE_COLUMNS 40
#define TEXT_COLUMNS_MIN 16 /* however deep the nesting */
#define MARK '\x01'
#define MARK_BIT 0x40u /* keeps the second byte of a mark printable, never a newline */

enum { BOLD = 1, ITALIC = 2, CODE = 4, STRIKE = 8, UNDERLINE = 16, DIM = 32 };

struct level {
	bool quote; /* else a list item */
	bool fresh; /* its bullet is not written yet */
	char bullet[16];
	size_t width;
};

struct list {
	bool ordered;
	unsigned next;
};

struct cell {
	str text;
	size_t width;
	MD_ALIGN align;
};

struct render {
	struct arena *a;
	struct buf out, leaf;
	size_t columns;
	unsigned style;
	bool blank_due;
	struct level levels[DEPTH_MAX];
	struct list lists[DEPTH_MAX];
	size_t levels_n, lists_n; /* may be more than there is room for */
	str link; /* the target of the open link */
	size_t link_from; /* where its text begins in leaf */
	struct cell *cells;
	size_t cells_n, cells_room, table_columns;
};

static void mark(struct render *r, unsigned style)
{
	r->style = style;
	buf_addc(&r->leaf, MARK);
	buf_addc(&r->leaf, (char)(MARK_BIT | style));
}

static void put_style(struct buf *out, unsigned style)
{
	static const char *const codes[] = { ";1", ";3", ";36", ";9", ";4", ";2" };

	buf_add(out, S("\x1b[0"));
	for (size_t i = 0; i < COUNT(codes); i++)
		if (style & 1u << i)
			buf_add(out, str_of(codes[i]));
	buf_addc(out, 'm');
}

static size_t columns_of(str s)
{
	size_t n = 0, len;

	for (size_t i = 0; i < s.n; i += len) {
		len = 2;
		if (s.p[i] != MARK)
			n += (size_t)utf_width(utf_next(str_sub(s, i, s.n), &len));
	}
	return n;
}

/* Marked text onto out; *style is what holds at its start and becomes what holds behind. */
static void put_marked(struct buf *out, str s, unsigned *style)
{
	unsigned now = 0;

	for (size_t i = 0, len; i < s.n; i += len) {
		len = 2;
		if (s.p[i] == MARK && i + 1 < s.n) {
			*style = (unsigned char)s.p[i + 1] & ~MARK_BIT;
			continue;
		}
		if (now != *style)
			put_style(out, now = *style);
		(void)utf_next(str_sub(s, i, s.n), &len);
		buf_add(out, str_sub(s, i, i + len));
	}
	if (now)
		buf_add(out, S("\x1b[0m"));
}

/* --- lines --------------------------------------------------------------------------- */

/* What stands before a line: bars of quotes, bullets or the room they took. */
static size_t put_prefix(struct render *r)
{
	size_t n = r->levels_n < DEPTH_MAX ? r->levels_n : DEPTH_MAX, width = 0;

	for (size_t i = 0; i < n; i++) {
		struct level *l = &r->levels[i];
		width += l->width;
		if (l->quote)
			buf_add(&r->out, S("\x1b[0;2m\xe2\x94\x82\x1b[0m "));
		else if (l->fresh)
			buf_add(&r->out, str_of(l->bullet));
		else
			for (size_t k = 0; k < l->width; k++)
				buf_addc(&r->out, ' ');
		l->fresh = false;
	}
	return width;
}

static void put_blank_if_due(struct render *r)
{
	size_t n = r->levels_n < DEPTH_MAX ? r->levels_n : DEPTH_MAX;
	bool due = r->blank_due && r->out.n;

	r->blank_due = false;
	if (!due)
		return;
	for (size_t i = 0; i < n && r->levels[i].quote; i++)
		buf_add(&r->out, S("\x1b[0;2m\xe2\x94\x82\x1b[0m"));
	buf_addc(&r->out, '\n');
}

/* How much of s goes into room columns: up to a newline, a space, or the last that fits. */
static size_t line_end(str s, size_t room)
{
	size_t width = 0, space = 0;

	for (size_t i = 0, len; i < s.n; i += len) {
		len = 2;
		if (s.p[i] == MARK)
			continue;
		if (s.p[i] == '\n')
			return i;
		if (s.p[i] == ' ')
			space = i;
		width += (size_t)utf_width(utf_next(str_sub(s, i, s.n), &len));
		if (width > room)
			return space ? space : i ? i : len;
	}
	return s.n;
}

/* The collected leaf, wrapped. */
static void flush(struct render *r)
{
	str s = buf_str(&r->leaf);
	unsigned style = 0;

	if (columns_of(s) == 0) {
		buf_reset(&r->leaf);
		return;
	}
	put_blank_if_due(r);
	do {
		size_t width = put_prefix(r), room = SIZE_MAX;
		if (r->columns)
			room = r->columns > width + TEXT_COLUMNS_MIN ? r->columns - width
								     : TEXT_COLUMNS_MIN;
		size_t n = line_end(s, room);
		put_marked(&r->out, str_sub(s, 0, n), &style);
		buf_addc(&r->out, '\n');
		s = str_sub(s, n, s.n);
		if (s.n && (s.p[0] == '\n' || s.p[0] == ' '))
			s = str_sub(s, 1, s.n);
	} while (s.n);
	buf_reset(&r->leaf);
}

/* Lines as they are: code. */
static void flush_code(struct render *r)
{
	str s = buf_str(&r->leaf);

	put_blank_if_due(r);
	while (s.n) {
		str line = str_cut(&s, '\n');
		(void)put_prefix(r);
		if (line.n) {
			buf_add(&r->out, S("  "));
			put_style(&r->out, CODE);
			buf_add(&r->out, line);
			buf_add(&r->out, S("\x1b[0m"));
		}
		buf_addc(&r->out, '\n');
	}
	buf_reset(&r->leaf);
}

/* --- tables -------------------------------------------------------------------------- */

static void end_cell(struct render *r, MD_ALIGN align)
{
	if (r->cells_n == r->cells_room) {
		size_t more = r->cells_room ? r->cells_room * 2 : 32;
		r->cells = arena_grow(r->a, r->cells, r->cells_room * sizeof *r->cells,
				      more * sizeof *r->cells);
		r->cells_room = more;
	}
	str text = arena_dup(r->a, buf_str(&r->leaf));
	r->cells[r->cells_n++] = (struct cell){ text, columns_of(text), align };
	buf_reset(&r->leaf);
}

static void pad(struct buf *out, size_t n)
{
	while (n-- > 0)
		buf_addc(out, ' ');
}

static void put_row(struct render *r, const struct cell *row, size_t n, const size_t *widths)
{
	unsigned style;

	(void)put_prefix(r);
	for (size_t i = 0; i < n; i++) {
		size_t room = widths[i] - row[i].width;
		size_t left = row[i].align == MD_ALIGN_RIGHT    ? room
			      : row[i].align == MD_ALIGN_CENTER ? room / 2
								: 0;
		style = 0;
		pad(&r->out, left);
		put_marked(&r->out, row[i].text, &style);
		if (i + 1 < n) {
			pad(&r->out, room - left);
			buf_add(&r->out, S(" \xe2\x94\x82 "));
		}
	}
	buf_addc(&r->out, '\n');
}

static void flush_table(struct render *r)
{
	size_t n = r->table_columns, *widths = NEWN(r->a, size_t, n + 1);

	for (size_t i = 0; n && i < r->cells_n; i++)
		if (r->cells[i].width > widths[i % n])
			widths[i % n] = r->cells[i].width;
	put_blank_if_due(r);
	for (size_t i = 0; n && i + n <= r->cells_n; i += n) {
		put_row(r, r->cells + i, n, widths);
		if (i > 0)
			continue;
		(void)put_prefix(r);
		for (size_t k = 0; k < n; k++) {
			for (size_t w = 0; w < widths[k]; w++)
				buf_add(&r->out, S("\xe2\x94\x80"));
			buf_add(&r->out, k + 1 < n ? S("\xe2\x94\x80\xe2\x94\xbc\xe2\x94\x80")
						   : S("\n"));
		}
	}
	r->cells_n = 0;
	r->table_columns = 0;
}

/* --- what md4c calls ----------------------------------------------------------------- */

static void push_level(struct render *r, struct level l)
{
	if (r->levels_n < DEPTH_MAX)
		r->levels[r->levels_n] = l;
	r->levels_n++;
}

static void push_list(struct render *r, struct list l)
{
	flush(r);
	if (r->lists_n < DEPTH_MAX)
		r->lists[r->lists_n] = l;
	r->lists_n++;
}

static void enter_item(struct render *r, const MD_BLOCK_LI_DETAIL *d)
{
	struct level l = { .fresh = true };
	size_t at = r->lists_n - 1;
	struct buf b = buf_in(r->a, sizeof l.bullet - 1);

	if (at < DEPTH_MAX && r->lists[at].ordered)
		buf_fmt(&b, "%u. ", r->lists[at].next++);
	else
		buf_add(&b, S("\xe2\x80\xa2 "));
	if (d->is_task)
		buf_add(&b, d->task_mark == ' ' ? S("[ ] ") : S("[x] "));
	memcpy(l.bullet, b.p, b.n);
	l.width = columns_of(buf_str(&b));
	push_level(r, l);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct render *r = arg;

	switch (type) {
	case MD_BLOCK_QUOTE:
		flush(r);
		put_blank_if_due(r);
		push_level(r, (struct level){ .quote = true, .width = 2 });
		break;
	case MD_BLOCK_UL:
		push_list(r, (struct list){ 0 });
		break;
	case MD_BLOCK_OL:
		push_list(r, (struct list){ true, ((MD_BLOCK_OL_DETAIL *)detail)->start });
		break;
	case MD_BLOCK_LI:
		enter_item(r, detail);
		break;
	case MD_BLOCK_H:
		flush(r);
		mark(r, ((MD_BLOCK_H_DETAIL *)detail)->level == 1 ? BOLD | UNDERLINE : BOLD);
		break;
	case MD_BLOCK_TABLE:
		flush(r);
		r->table_columns = ((MD_BLOCK_TABLE_DETAIL *)detail)->col_count;
		break;
	case MD_BLOCK_TH:
		mark(r, BOLD);
		break;
	case MD_BLOCK_P:
	case MD_BLOCK_HR:
	case MD_BLOCK_CODE:
		flush(r);
		break;
	default:
		break;
	}
	return 0;
}

static void put_rule(struct render *r)
{
	size_t n = r->columns && r->columns < RULE_COLUMNS ? r->columns : RULE_COLUMNS;

	put_blank_if_due(r);
	(void)put_prefix(r);
	put_style(&r->out, DIM);
	while (n-- > 0)
		buf_add(&r->out, S("\xe2\x94\x80"));
	buf_add(&r->out, S("\x1b[0m\n"));
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct render *r = arg;

	switch (type) {
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		mark(r, 0);
		end_cell(r, ((MD_BLOCK_TD_DETAIL *)detail)->align);
		return 0;
	case MD_BLOCK_THEAD:
	case MD_BLOCK_TBODY:
	case MD_BLOCK_TR:
		return 0;
	case MD_BLOCK_LI:
		flush(r);
		r->levels_n--;
		return 0;
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		r->blank_due |= --r->lists_n == 0;
		return 0;
	case MD_BLOCK_QUOTE:
		r->levels_n--;
		break;
	case MD_BLOCK_CODE:
		flush_code(r);
		break;
	case MD_BLOCK_TABLE:
		flush_table(r);
		break;
	case MD_BLOCK_HR:
		put_rule(r);
		break;
	default:
		mark(r, 0);
		flush(r);
		break;
	}
	r->blank_due = true;
	return 0;
}

static unsigned style_of(MD_SPANTYPE type)
{
	switch (type) {
	case MD_SPAN_EM:
		return ITALIC;
	case MD_SPAN_STRONG:
		return BOLD;
	case MD_SPAN_CODE:
		return CODE;
	case MD_SPAN_DEL:
		return STRIKE;
	case MD_SPAN_A:
	case MD_SPAN_IMG:
		return UNDERLINE;
	default:
		return 0;
	}
}

/* A target as text. */
static str attribute(struct render *r, const MD_ATTRIBUTE *at)
{
	return text_visible(r->a, md_attribute(r->a, at, text_entity), true);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct render *r = arg;

	if (type == MD_SPAN_A || type == MD_SPAN_IMG) {
		r->link =
			attribute(r, type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href
						       : &((MD_SPAN_IMG_DETAIL *)detail)->src);
		mark(r, r->style | style_of(type));
		r->link_from = r->leaf.n;
		return 0;
	}
	mark(r, r->style | style_of(type));
	return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	bool link = type == MD_SPAN_A || type == MD_SPAN_IMG;
	str text = str_sub(buf_str(&r->leaf), r->link_from, r->leaf.n);

	(void)detail;
	bool same = str_eq(text, r->link) || (str_starts(r->link, S("mailto:")) &&
					      str_eq(text, str_sub(r->link, 7, r->link.n)));
	mark(r, r->style & ~style_of(type));
	if (link && r->link.n && !same) {
		buf_add(&r->leaf, S(" ("));
		buf_add(&r->leaf, r->link);
		buf_add(&r->leaf, S(")"));
	}
	if (link)
		r->link = S("");
	return 0;
}

static void add_untabbed(struct render *r, str s, str tab)
{
	while (s.n) {
		size_t before = s.n;
		str part = str_cut(&s, '\t');
		buf_add(&r->leaf, part);
		if (part.n < before)
			buf_add(&r->leaf, tab);
	}
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *arg)
{
	struct render *r = arg;
	str s = { p, n };

	if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR)
		buf_addc(&r->leaf, '\n');
	else if (type == MD_TEXT_NULLCHAR)
		buf_add(&r->leaf, S("\xef\xbf\xbd"));
	else if (type == MD_TEXT_ENTITY)
		/* An entity may stand for a control character. */
		buf_add(&r->leaf, text_visible(r->a, text_entity(r->a, s), true));
	else
		add_untabbed(r, s, type == MD_TEXT_CODE ? S("    ") : S(" "));
	return 0;
}

str text_ansi(struct arena *a, str markdown, size_t columns)
{
	str text = text_visible(a, markdown, false);
	size_t max =
		text.n < SIZE_MAX / (2 * OUT_FACTOR) ? text.n * OUT_FACTOR + OUT_MIN : text.n;
	struct render r = {
		.a = a,
		.out = buf_in(a, max),
		.leaf = buf_in(a, max),
		.columns = columns,
	};
	const MD_PARSER parser = {
		.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS |
			 MD_FLAG_NOHTML | MD_FLAG_PERMISSIVEURLAUTOLINKS,
		.enter_block = enter_block,
		.leave_block = leave_block,
		.enter_span = enter_span,
		.leave_span = leave_span,
		.text = add_text,
	};

	/* It fails only when memory does; then the text is shown as it is. */
	if (text.n > UINT32_MAX / 2 || md_parse(text.p, (MD_SIZE)text.n, &parser, &r) != 0)
		return arena_cat(a, text, S("\n"));
	return buf_str(&r.out);
}
