/*
 * text/html: a web page as text that a model can read.
 *
 * Headings, links, lists, tables, quotations and preformatted text are kept in the way of
 * Markdown; scripts, styles, forms' fields and what the page hides are left out.  Nothing in
 * a page makes this slow, deep or large: tags beyond HTML_TAGS_MAX and bytes of text beyond
 * HTML_BYTES_MAX are left out, and elements nested deeper than HTML_DEPTH_MAX count as text.
 *
 * Pure; some 100 ns for each byte.
 */
#ifndef TEXT_HTML_H
#define TEXT_HTML_H

#include "base/buf.h"

#define HTML_TAGS_MAX 50000
#define HTML_BYTES_MAX ((size_t)2 << 20)
#define HTML_DEPTH_MAX 200

struct html_text {
	str title; /* one line, "" none */
	str text;
	bool cut; /* a limit was met */
};

/* html is valid UTF-8.  Links are made absolute against base, an http(s) URL; what leads
 * nowhere (fragments, scripts) is text only. */
void html_text(struct html_text *out, struct arena *a, str html, str base);

/* ref as seen from base; "" when it is no http, https or mailto link, or too long. */
str html_link(struct arena *a, str base, str ref);

#endif
