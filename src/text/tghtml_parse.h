/*
 * text/tghtml_parse: what the two halves of reading Markdown share, blocks and spans.  For
 * tghtml_blocks.c and tghtml_spans.c only.
 *
 * Breaks between blocks and the marks of list items are written when the text behind them
 * comes, so that what turns out empty leaves no traces.  What a span is, is decided likewise
 * when its first text comes, since only that says where in the source it stands.
 */
#ifndef TEXT_TGHTML_PARSE_H
#define TEXT_TGHTML_PARSE_H

#include "text/tghtml_doc.h"

#include "text/md_text.h"

#define DEPTH_MAX 16 /* what is nested deeper is not indented further */

struct tg_depth {
	bool quote; /* else a list item */
	bool fresh; /* its mark is not written yet */
	bool photo; /* it holds one */
	bool tight;
	char mark[20];
	size_t width;
};

struct tg_list {
	bool ordered, tight;
	unsigned next;
};

struct tg_span {
	MD_SPANTYPE type;
	bool decided, literal;
	bool muted; /* within a photo */
	bool photo;
	const char *before, *after; /* literal: the marks that stay */
	str target;
};

struct tg_parse {
	struct arena *a;
	struct tg_doc *d;
	bool photos;
	struct tg_depth levels[DEPTH_MAX];
	struct tg_list lists[DEPTH_MAX];
	size_t levels_n, lists_n; /* may be more than there is room for */
	struct tg_span *spans;
	size_t spans_n, spans_room;
	unsigned bold, italic, strike, code, links, heads, quotes_open; /* open ones */
	struct tg_style now; /* only link, pre and quote */
	unsigned quotes, last_quote; /* ids */
	size_t breaks; /* newlines that are due before the next text */
	size_t break_depth; /* the outermost level they were asked for in */
	bool together; /* what comes belongs to what is there */
	bool row, line_due; /* in a table; a newline is due in this block */
	bool leaf; /* this block has text */
	size_t code_lines; /* newlines of code that are due */
	size_t cells, src_end, settled;
	size_t links_budget; /* bytes all targets may still have */
	bool mute; /* within a photo, whose text is taken out */
	bool took; /* something was just taken out */
	struct buf alt;
};

/* md4c's callbacks for blocks; arg is the struct tg_parse. */
int tg_enter_block(MD_BLOCKTYPE type, void *detail, void *arg);
int tg_leave_block(MD_BLOCKTYPE type, void *detail, void *arg);

/* Text behind what is due before it: breaks, indentation, the marks of items.  src_n bytes of
 * the source from src, or TG_NO_SOURCE. */
void tg_add(struct tg_parse *r, str s, size_t src, size_t src_n);

/* Text of a block of code, newlines included. */
void tg_add_code(struct tg_parse *r, str s, size_t src);

/* The innermost levels there are room for. */
size_t tg_depths(const struct tg_parse *r);

#define TG_MORE(r, array, n, room)                                                             \
	((array) = tg_more((r)->a, (array), (n), &(room), sizeof *(array)))

#endif
