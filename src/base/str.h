/*
 * base/str: a borrowed view of bytes, passed by value.
 *
 * Not NUL-terminated unless an arena function made it.  The bytes may be anything;
 * functions that care about UTF-8 are in base/utf.  A zero str is the empty text.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/attr.h"

#include <string.h>

typedef struct str {
	const char *p;
	size_t n;
} str;

/* A literal as a str, and the arguments for a "%.*s". */
#define S(lit) ((str){ (lit), sizeof(lit) - 1 })
#define STRF(s) (int)(s).n, (s).p ? (s).p : ""

/* A C string as a str; NULL gives the empty text. */
str str_of(const char *cstr);

bool str_eq(str a, str b);

/* Is it this C string?  In line, since tables of words are searched with it. */
static inline bool str_is(str s, const char *word)
{
	if (s.n == 0 || s.p[0] != word[0])
		return s.n == 0 && !*word;
	return strlen(word) == s.n && memcmp(s.p, word, s.n) == 0;
}

bool str_ieq(str a, str b); /* ASCII case ignored */
int str_cmp(str a, str b); /* by bytes, as memcmp; shorter first */
int str_by_bytes(const void *a, const void *b); /* the same of two str, for qsort */
bool str_starts(str s, str prefix);
bool str_ends(str s, str suffix);

/* Where needle begins in s, or SIZE_MAX. */
size_t str_find(str s, str needle);
bool str_has(str s, str needle);

/* s[from, to), both clamped to the text. */
str str_sub(str s, size_t from, size_t to);

/* Without the ASCII white space at both ends. */
str str_trim(str s);

/* The text before the first sep; *rest becomes what follows it (empty when there was
 * no sep).  Loop: while (rest.n) { line = str_cut(&rest, '\n'); ... } */
str str_cut(str *rest, char sep);

/* Strict decimal with an optional minus, the whole text; false when it is not, or does
 * not fit.  *out is set on true only. */
bool str_i64(str s, int64_t *out);

/* FNV-1a over the bytes of s, going on from h; STR_HASH to begin with. */
#define STR_HASH UINT64_C(14695981039346656037)
uint64_t str_hash(uint64_t h, str s);

/* Another one for long texts, eight bytes at a time.  Of one byte order; nothing that somebody
 * chose is told apart by it for certain. */
uint64_t str_digest(str s);

/* The value of a hexadecimal digit, -1 when it is none. */
int str_hex(char c);

/* Shell pattern over the whole text: * ? [a-z] [!a-z] and \ escapes; linear in practice
 * (one star is remembered).  A broken bracket matches itself literally. */
bool str_glob(str pattern, str s);

#endif
