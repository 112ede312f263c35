/*
 * text/toml_scan: the words of a TOML text, for text/toml.c alone: strings, numbers, dates,
 * white space and comments.  Tables and arrays are not known here.
 *
 * Every function moves s->pos behind what it took; on failure s->pos says nothing.
 */
#ifndef TEXT_TOML_SCAN_H
#define TEXT_TOML_SCAN_H

#include "text/toml.h"

struct toml_scan {
	str text; /* valid UTF-8 */
	size_t pos;
	struct arena *a;
};

/* E_INVAL with line and column of the byte at. */
int toml_scan_fail(const struct toml_scan *s, size_t at, struct err *e, const char *fmt, ...)
	PRINTF(4, 5);

/* The byte at the position, -1 at the end. */
int toml_scan_peek(const struct toml_scan *s);
bool toml_scan_take(struct toml_scan *s, const char *word);

/* Spaces and tabs. */
void toml_scan_blank(struct toml_scan *s);

/* Blanks, a comment and the end of the line (or of the text): E_INVAL when there is
 * anything else. */
int toml_scan_eol(struct toml_scan *s, struct err *e) MUSTUSE;

/* Everything that may stand between the elements of an array. */
int toml_scan_space(struct toml_scan *s, struct err *e) MUSTUSE;

/* A key without its dots: bare, "basic" or 'literal'. */
int toml_scan_key(struct toml_scan *s, str *out, struct err *e) MUSTUSE;

/* Any value but arrays and inline tables. */
int toml_scan_scalar(struct toml_scan *s, struct toml *out, struct err *e) MUSTUSE;

#endif
