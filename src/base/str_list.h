/*
 * base/str_list: texts in an order, passed by value; the array is borrowed.
 */
#ifndef BASE_STR_LIST_H
#define BASE_STR_LIST_H

#include "base/arena.h"

struct str_list {
	const str *v;
	size_t n;
};

/* All of it in a. */
struct str_list str_list_copy(struct arena *a, struct str_list l);

/* The same texts in the same order? */
bool str_list_eq(struct str_list x, struct str_list y);

#endif
