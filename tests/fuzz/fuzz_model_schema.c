/*
 * Any schema, mapped down both ways: JSON with no other words than those that are taken, arrays
 * with items, alternatives alone, and not much of it, whatever the schema is.
 */
#include "model/schema.h"

#include <stdlib.h>

#include "base/utf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool known(str key, bool bare)
{
	static const char *const words[] = { "type",  "description", "enum", "properties",
					     "items", "required",    "anyOf" };
	static const char *const more[] = { "nullable",  "format",    "minimum",  "maximum",
					    "minLength", "maxLength", "minItems", "maxItems" };

	for (size_t i = 0; i < COUNT(words) - bare; i++)
		if (str_is(key, words[i]))
			return true;
	for (size_t i = 0; i < COUNT(more) && !bare; i++)
		if (str_is(key, more[i]))
			return true;
	return false;
}

static void look(const struct json *s, bool bare)
{
	const struct json *p = json_get(s, "properties"), *any = json_get(s, "anyOf");

	if (!json_is(s, JSON_OBJECT) || (any && s->n != 1) || (!any && !json_str(s, "type").n))
		abort();
	for (const struct json *m = s->child; m; m = m->next)
		if (!known(m->key, bare))
			abort();
	for (const struct json *m = any ? any->child : NULL; m; m = m->next)
		look(m, bare);
	for (const struct json *m = p ? p->child : NULL; m; m = m->next)
		look(m, bare);
	if (str_is(json_str(s, "type"), "array"))
		look(json_get(s, "items"), bare);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = utf_repair(&a, (str){ (const char *)data, size });
	struct json *schema, *again;

	if (size > 65536 || json_read(&schema, &a, in, NULL) < 0)
		return 0;
	for (int bare = 0; bare < 2; bare++) {
		struct buf b = buf_in(&a, 64u << 20);

		schema_write_plain(&b, schema, bare);
		if (b.full || b.n > (size + 1000) * SCHEMA_NODES ||
		    json_read(&again, &a, buf_str(&b), NULL) < 0)
			abort();
		look(again, bare);
	}
	if (a.used > 256u << 20)
		abort();
	return 0;
}
