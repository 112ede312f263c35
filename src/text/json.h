/*
 * text/json: reading JSON into a tree in an arena, and writing it onto a buf.
 *
 * Reading repairs invalid UTF-8 and lone surrogate escapes first (each becomes U+FFFD, as
 * does a NUL in a key), keeps NULs in strings, the order of keys, and integers exact to 64
 * bits (beyond that they become JSON_REAL; text that must survive unchanged is passed on as
 * text and never through here).  Of a repeated key the last one counts.  RFC 8259.
 *
 * Limits  nesting 512; the caller bounds the size of the text.
 */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include "base/buf.h"
#include "base/err.h"

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_INT,
	JSON_REAL,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json {
	enum json_type type;
	int64_t i; /* JSON_INT */
	double d; /* JSON_INT and JSON_REAL */
	str s; /* JSON_STRING; NUL-terminated */
	str key; /* when a member of an object */
	struct json *child; /* first element or member */
	struct json *next; /* sibling */
	size_t n; /* elements or members */
};

/* One JSON text with nothing but white space around it; a leading byte order mark is
 * skipped.  E_PROTO with line and column, E_LIMIT too deep. */
int json_read(struct json **out, struct arena *a, str text, struct err *e) MUSTUSE;

/* As json_read(), but a repeated key is E_PROTO too. */
int json_read_once(struct json **out, struct arena *a, str text, struct err *e) MUSTUSE;

/* All of these take NULL for v and answer as for something absent. */
const struct json *json_get(const struct json *v, const char *key);
const struct json *json_at(const struct json *v, size_t i);
bool json_is(const struct json *v, enum json_type type);
str json_text(const struct json *v); /* "" when not a string */
str json_str(const struct json *v, const char *key); /* json_text(json_get()) */
int64_t json_i64(const struct json *v, const char *key, int64_t def); /* integral reals too */
bool json_bool(const struct json *v, const char *key, bool def);

/* Append the value; strings are valid UTF-8 whatever s holds. */
void json_write(struct buf *b, const struct json *v);

/* Append s as a JSON string with quotes; bad UTF-8 becomes U+FFFD. */
void buf_json(struct buf *b, str s);

/* "key":"value" with a comma before it when the buf does not end in { or [ or a comma. */
void buf_json_key(struct buf *b, const char *key);
void buf_json_member(struct buf *b, const char *key, str value);
void buf_json_member_i64(struct buf *b, const char *key, int64_t value);

#endif
