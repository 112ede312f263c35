/*
 * base/ascii: what kind of character a byte is, whatever the locale says.
 */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include <stdbool.h>

static inline bool ascii_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_alnum(char c)
{
	return ascii_alpha(c) || ascii_digit(c);
}

/* Of a name: letters, digits, '_' and '-'. */
static inline bool ascii_word(char c)
{
	return ascii_alnum(c) || c == '_' || c == '-';
}

/* Of a variable or a C name; no digit comes first. */
static inline bool ascii_name(char c, bool first)
{
	return ascii_alpha(c) || c == '_' || (!first && ascii_digit(c));
}

/* HTML's white space. */
static inline bool ascii_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

#endif
