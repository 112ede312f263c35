/*
 * text/regex: regular expressions as people write them in a configuration: PCRE2, with the
 * spellings of RE2 meaning what they mean there ($ is the very end, \w \d \s \b are ASCII).
 *
 * A pattern that works too long is given up: the caller decides what that means.
 *
 * Threads  a regex may be used by many at once.
 */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H

#include "base/err.h"
#include "base/str.h"

struct regex;

/* Is the pattern one?  dot_all: a dot also matches a newline.  E_INVAL says what is wrong and
 * at which character, not the pattern. */
int regex_check(str pattern, bool dot_all, struct err *e) MUSTUSE;

/* To be used many times.  As regex_check(). */
int regex_open(struct regex **out, str pattern, bool dot_all, struct err *e) MUSTUSE;
void regex_close(struct regex *re);

/* Bytes that it takes, which may be many times the pattern's. */
size_t regex_size(const struct regex *re);

/* Memory for many searches, one after the other. */
struct regex_room;
struct regex_room *regex_room_new(void);
void regex_room_free(struct regex_room *room);

/* Anywhere in text, whatever bytes it has. */
enum regex_found { REGEX_NO, REGEX_YES, REGEX_GIVEN_UP };
enum regex_found regex_find(const struct regex *re, struct regex_room *room, str text);

/* The same for many texts that may take so much work together (a unit is an item of a pattern
 * that is tried): what was done is taken off *left.  REGEX_GIVEN_UP when that is too little. */
enum regex_found regex_find_within(const struct regex *re, struct regex_room *room, str text,
				   size_t *left);

#endif
