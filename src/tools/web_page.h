/*
 * tools/web_page: what a server answered, as text for the model.
 */
#ifndef TOOLS_WEB_PAGE_H
#define TOOLS_WEB_PAGE_H

#include "tools/builtin.h"

struct web_page {
	str url, type, body; /* type: the value of Content-Type */
	int64_t status, offset, show_max; /* show_max 0: the default */
	const char *note; /* what is wrong with the body, NULL nothing */
	bool cut; /* set by web_page_text(): not all of it is in the text */
};

/* Is a body of this Content-Type ("" none was given) text? */
bool web_page_readable(str type);

/* Status, type and notes, then the text from p->offset on, fenced as foreign content.
 * E_INVAL: the body is binary after all, or ends before the offset. */
int web_page_text(struct web_page *p, struct arena *a, str *out, struct err *e) MUSTUSE;

#endif
