/*
 * cli/edit_text: the text that is being edited, and what keys do to it.  Always valid UTF-8,
 * without control characters but newline and tab; the cursor is between characters.
 */
#ifndef CLI_EDIT_TEXT_H
#define CLI_EDIT_TEXT_H

#include "base/arena.h"
#include "cli/edit_keys.h"

struct edit_text {
	struct arena *a;
	char *p;
	size_t n, cap, max;
	size_t cursor; /* bytes */
	str killed; /* for yank */
};

str edit_text_str(const struct edit_text *t);
void edit_text_set(struct edit_text *t, str text); /* the cursor at its end */

/* Insert at the cursor; what is no text is left out (CR and CR LF become a newline).
 * False: it does not fit, nothing was inserted. */
bool edit_text_insert(struct edit_text *t, str text);

/* Do what the key says; false when it says nothing about text or nothing can be done. */
bool edit_text_key(struct edit_text *t, enum key key);

/* One line up (-1) or down (1) within the text; false at its first or last line. */
bool edit_text_line(struct edit_text *t, int by);

#endif
