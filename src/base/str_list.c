/*
 * Lists of texts.
 */
#include "base/str_list.h"

struct str_list str_list_copy(struct arena *a, struct str_list l)
{
	str *v = NEWN(a, str, l.n);

	for (size_t i = 0; i < l.n; i++)
		v[i] = arena_dup(a, l.v[i]);
	return (struct str_list){ v, l.n };
}

bool str_list_eq(struct str_list x, struct str_list y)
{
	if (x.n != y.n)
		return false;
	for (size_t i = 0; i < x.n; i++)
		if (!str_eq(x.v[i], y.v[i]))
			return false;
	return true;
}
