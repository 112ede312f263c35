/*
 * cli/page: one self-contained HTML page: its frame, its colours, text and tables.  It refers to
 * nothing outside of itself and needs no script; its policy forbids both to the browser.
 */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "base/buf.h"

void page_begin(struct buf *b, str title);
void page_end(struct buf *b);

/* Any text, made visible and escaped, for an element or a quoted attribute. */
void page_text(struct buf *b, struct arena *a, str s);

/* A table: heads and n rows of cols cells; cells of all columns but the first are numbers. */
void page_table(struct buf *b, struct arena *a, const str *heads, size_t cols, const str *cells,
		size_t n);

#endif
