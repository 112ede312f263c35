/*
 * config/value: the meaning of one scalar.  Pure.
 *
 * Each answers NULL and sets *out, or says the rule that was broken ("must be ..."), never
 * the value, which may be a secret in the wrong place.  White space around is fine.
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include "base/buf.h"

/* true false yes no on off t f y n 1 0, in any case. */
const char *value_bool(str s, bool *out);

/* Strict decimal within [min, max]. */
const char *value_int(struct arena *a, str s, int64_t min, int64_t max, int64_t *out);

/* A finite decimal number within [min, max]. */
const char *value_real(struct arena *a, str s, int64_t min, int64_t max, double *out);

/* A Go duration ("30s", "5m", "1h30m", "250ms", "1.5h", "0") in whole milliseconds. */
const char *value_ms(struct arena *a, str s, int64_t min, int64_t max, int64_t *out);

/* One of the blank-separated words, in any case; "a=b" in the list reads a as b. */
const char *value_word(struct arena *a, str s, const char *words, str *out);

/* Absolute http or https URL; slashes at its end are dropped. */
const char *value_url(struct arena *a, str s, str *out);

/* "30s", "5m", "24h", "250ms": readable by value_ms(). */
str value_ms_text(struct arena *a, int64_t ms);

/* Can it be the name of a variable: letters, digits and _, no digit first? */
bool value_variable(str s);

/* Is it one word of printable ASCII, as what stands in a header line has to be? */
bool value_one_word(str s);

/* A scalar as YAML: plain where that is safe, else in double quotes. */
str value_yaml(struct arena *a, str s);

/* How many single-character edits (swaps of neighbours included) make a into b. */
size_t value_distance(str a, str b);

#endif
