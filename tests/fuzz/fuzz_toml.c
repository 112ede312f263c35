/*
 * Any bytes as TOML: a tree or an error with a line, never both, never neither.
 */
#include "text/toml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t walk(const struct toml *v)
{
	size_t n = 0;

	if (v->type < TOML_ARRAY && v->child)
		abort();
	for (const struct toml *c = v->child; c; c = c->next, n++)
		(void)walk(c);
	if (n != v->n || v->line < 1)
		abort();
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };
	struct toml *v = NULL;
	int rc = toml_read(&v, &a, (str){ (const char *)data, size }, &e);

	if ((rc == OK) != (v != NULL) || (rc < 0 && !str_starts(str_of(e.msg), S("line "))))
		abort();
	if (v)
		(void)walk(v);
	return 0;
}
