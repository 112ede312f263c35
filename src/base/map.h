/*
 * base/map: text to pointer, in an arena.  Keys and values are borrowed.  No removal:
 * a map is built for one piece of work and dies with its arena.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"

struct map_slot;

struct map {
	struct map_slot *slots;
	size_t n, cap;
};

/* Set key; returns the value it had, or NULL. */
void *map_set(struct map *m, struct arena *a, str key, void *value);

/* The value of key, or NULL. */
void *map_get(const struct map *m, str key);

#endif
