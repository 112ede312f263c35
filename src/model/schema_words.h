/*
 * model/schema_words: what a mapped schema cannot say, in words for its description.  Pure.
 */
#ifndef MODEL_SCHEMA_WORDS_H
#define MODEL_SCHEMA_WORDS_H

#include "model/schema_view.h"

#define SCHEMA_WORDS_MAX 240 /* bytes */

/* What is left out of v when it is written as the one type ("one of 0, 1; format uri"), "" for
 * nothing; in v's arena.  bare: the limits are left out as well. */
str schema_words(const struct view *v, unsigned type, bool bare);

/* Is it a format that may be said? */
bool schema_format_known(unsigned type, str format);

#endif
