/*
 * text/query: names and values as application/x-www-form-urlencoded: the body of a form, the query
 * of a URL.  Pure.
 */
#ifndef TEXT_QUERY_H
#define TEXT_QUERY_H

#include "base/buf.h"

/* Append "name=value", with "&" before it unless b is empty or ends in "?" or "&". */
void query_add(struct buf *b, const char *name, str value);

/* Append s percent-encoded: all but letters, digits and "-._~". */
void query_encode(struct buf *b, str s);

/* The first value of that name in text, decoded into a; false when there is none. */
bool query_get(struct arena *a, str text, const char *name, str *value);

#endif
