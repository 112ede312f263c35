/*
 * text/base64: RFC 4648 base64 with padding, and its form for URLs without.  Pure.
 */
#ifndef TEXT_BASE64_H
#define TEXT_BASE64_H

#include "base/arena.h"

/* Bytes as text, in a. */
str base64_of(struct arena *a, str bytes);
str base64url_of(struct arena *a, str bytes);

/* The bytes of a text, in a: of this alphabet or the one for URLs, white space and padding read
 * over.  False when anything else is in it; *out is set on true only. */
bool base64_read(struct arena *a, str text, str *out);

#endif
