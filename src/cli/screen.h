/*
 * cli/screen: a prompt and a text with a cursor in it, drawn on a terminal and drawn again.
 *
 * What comes back is to be written to the terminal before the next call; between calls the
 * cursor must stay where it was put.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "base/arena.h"

struct screen {
	size_t columns, rows; /* of the terminal; set before each call */
	size_t cursor_row; /* below the first row drawn */
};

/* prompt and text hold no control characters but newline and tab; cursor counts its bytes.
 * When it has more rows than the terminal, those around the cursor are shown. */
str screen_draw(struct screen *s, struct arena *a, str prompt, str text, size_t cursor);

/* Go below the text, which stays: the next thing drawn begins anew. */
str screen_leave(struct screen *s, struct arena *a, str prompt, str text);

/* The terminal was resized and has broken its lines anew. */
void screen_resized(struct screen *s, str prompt, str text, size_t cursor);

#endif
