/*
 * text/base64: RFC 4648 base64 with padding.  Pure.
 */
#ifndef TEXT_BASE64_H
#define TEXT_BASE64_H

#include "base/arena.h"

/* Bytes as text, in a. */
str base64_of(struct arena *a, str bytes);

#endif
