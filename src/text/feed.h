/*
 * text/feed: the items of what a tool gave, for watches: a JSON array, or an object with an array
 * called items, entries, data or tweets.  Pure.
 */
#ifndef TEXT_FEED_H
#define TEXT_FEED_H

#include "base/arena.h"
#include "base/err.h"

struct feed_item {
	str id; /* id, guid or ID (numbers as text), else url, link or href; never with a newline */
	str title, url, text; /* "" none; one line, cut short */
};

/* Items without an id are left out.  "" gives none.  E_PROTO: no JSON, cut off, or no list. */
int feed_read(struct feed_item **out, size_t *n, struct arena *a, str text,
	      struct err *e) MUSTUSE;

/* Ids are kept one a line, the oldest first.  Of the feed's items those that are new get into
 * fresh (room for n), and *merged becomes what is known afterwards: at most max of them, those in
 * the feed last. */
size_t feed_merge(str *merged, const struct feed_item **fresh, struct arena *a, str seen,
		  const struct feed_item *items, size_t n, size_t max);

#endif
