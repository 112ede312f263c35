/*
 * Open addressing with linear probing, at most half full.  Keys come from our
 * own tables and from bounded foreign input, so an attacker gains a slow lookup at most.
 */
#include "base/map.h"

struct map_slot {
	str key;
	void *value;
	bool used;
};

static struct map_slot *find(const struct map *m, str key)
{
	size_t i = (size_t)str_hash(STR_HASH, key) & (m->cap - 1);

	while (m->slots[i].used && !str_eq(m->slots[i].key, key))
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static void enlarge(struct map *m, struct arena *a)
{
	struct map old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slots = NEWN(a, struct map_slot, m->cap);
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].used)
			*find(m, old.slots[i].key) = old.slots[i];
}

void *map_set(struct map *m, struct arena *a, str key, void *value)
{
	if (m->n * 2 >= m->cap)
		enlarge(m, a);
	struct map_slot *s = find(m, key);
	void *was = s->used ? s->value : NULL;

	m->n += !s->used;
	*s = (struct map_slot){ .key = key, .value = value, .used = true };
	return was;
}

void *map_get(const struct map *m, str key)
{
	return m->cap ? find(m, key)->value : NULL;
}
