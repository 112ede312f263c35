/*
 * text/toml_number: numbers, dates and times of TOML, for text/toml_scan.c alone.  Pure.
 */
#ifndef TEXT_TOML_NUMBER_H
#define TEXT_TOML_NUMBER_H

#include "text/toml.h"

/* Fill type and value of out from one word; NULL, or what is wrong with the word. */
const char *toml_number(struct arena *a, str word, struct toml *out);

#endif
