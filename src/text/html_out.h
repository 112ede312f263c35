/*
 * text/html_out: the text of a page while it is written: white space folded, blank lines
 * asked for in advance, and what stands at the beginning of each line.
 */
#ifndef TEXT_HTML_OUT_H
#define TEXT_HTML_OUT_H

#include "base/buf.h"

#define PADS_MAX 64

struct html_out {
	struct buf b;
	/* What each line begins with, outermost first: first once, then rest. */
	struct pad {
		str first, rest;
	} pads[PADS_MAX];
	size_t pads_n; /* may be more than there is room for */
	int breaks; /* line ends wanted before the next text */
	bool gap; /* a blank is wanted before the next text */
	bool flat; /* in a cell: line ends are blanks */
	bool bar; /* | is to be escaped */
	str opening; /* wanted before the next text, without a gap behind it */
};

void html_pad(struct html_out *o, str first, str rest);
void html_unpad(struct html_out *o);

/* At least n line ends before the next text. */
void html_break(struct html_out *o, int n);

/* Text of a page, in which white space is folded; or as it is, line by line. */
void html_fold(struct html_out *o, str s);
void html_lines(struct html_out *o, str s);

/* Text of ours: begins where the last text ended, or after what is wanted. */
void html_append(struct html_out *o, str s);
void html_put(struct html_out *o, str s);

#endif
