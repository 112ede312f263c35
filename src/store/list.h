/*
 * store/list: the rows of a query as an array of structs.  Internal to store/.
 */
#ifndef STORE_LIST_H
#define STORE_LIST_H

#include "store/internal.h"

/* Room for one more in a list that has n: it doubles. */
#define LIST_ROOM(a, list, n) list_room((a), (list), (n), sizeof *(list))
static inline void *list_room(struct arena *a, void *list, size_t n, size_t size)
{
	if (n >= 8 ? (n & (n - 1)) == 0 : n == 0)
		return arena_grow(a, list, n * size, (n ? 2 * n : 8) * size);
	return list;
}

/* All rows of a query, as structs of a size: in a view of their own, or in one that is open.
 * out points to where the pointer to the first one is kept. */
struct list_of {
	size_t size;
	void (*read)(void *one, const struct rows *r, struct arena *a);
	const char *sql;
	const struct db_arg *args;
	size_t args_n;
};
int list_read(struct store *s, const struct list_of *q, struct arena *a, void *out, size_t *n,
	      struct err *e) MUSTUSE;
int list_in(struct db *db, const struct list_of *q, struct arena *a, void *out, size_t *n,
	    struct err *e) MUSTUSE;

/* The first columns of all rows, in a view of their own. */
int list_texts(struct store *s, const char *sql, const struct db_arg *args, size_t args_n,
	       struct arena *a, str **out, size_t *n, struct err *e) MUSTUSE;

#endif
