/*
 * text/base64: RFC 4648 base64 with padding, and its form for URLs without.  Pure.
 */
#ifndef TEXT_BASE64_H
#define TEXT_BASE64_H

#include "base/arena.h"

/* Bytes as text, in a. */
str base64_of(struct arena *a, str bytes);
str base64url_of(struct arena *a, str bytes);

#endif
