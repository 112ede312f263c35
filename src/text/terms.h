/*
 * text/terms: the words of a text, as they are looked for: folded, without those that every
 * sentence has, and with a stem that finds their other forms.  Scripts that put no blanks
 * between words (Chinese, Japanese, Thai, ...) give pairs of characters, "grams".
 *
 * Pure.  Any bytes will do; bad UTF-8 separates words.
 */
#ifndef TEXT_TERMS_H
#define TEXT_TERMS_H

#include "base/arena.h"

struct term {
	str text; /* lower case, Latin letters without their marks */
	size_t stem; /* bytes of it that its other forms begin with; 0: it has none */
	bool gram; /* of a script without blanks */
	bool weak; /* says little: a gram of grammar alone */
};

struct terms {
	const struct term *v;
	size_t n;
};

/* All words and grams of a text, in order.  Of a run of characters the last one is a gram of
 * its own, so that every single character begins one. */
struct terms terms_all(struct arena *a, str text);

/* What to look for, at most max: each once, without stop words (of English, German, Spanish,
 * French, Italian and Portuguese) unless there is nothing else.  A gram of a single character
 * stands for all that begin with it; characters of Han are added so, as weak ones. */
struct terms terms_wanted(struct arena *a, str query, size_t max);

/* How well a word of a text fits a term: 1 the same, less for another form or a part of it, 0
 * not at all. */
double term_fits(const struct term *wanted, const struct term *found);

/* What a term is in the second index: its stem, or itself. */
str terms_key(const struct term *t);

/* The second index of a text: the keys of all its terms, with blanks between them. */
str terms_index(struct arena *a, str text);

/* The same statement, but for case, marks, white space and punctuation. */
bool terms_same(struct arena *a, str x, str y);

#endif
