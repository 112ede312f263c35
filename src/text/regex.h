/*
 * text/regex: regular expressions as people write them in a configuration.
 */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H

#include "base/err.h"
#include "base/str.h"

/* Is the pattern one?  dot_all: a dot also matches a newline.  E_INVAL says what is wrong and
 * at which character, not the pattern. */
int regex_check(str pattern, bool dot_all, struct err *e) MUSTUSE;

#endif
