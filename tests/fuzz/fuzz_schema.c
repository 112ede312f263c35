/*
 * Any schema against any value, each JSON on a line of its own: an answer in bounded time and
 * memory, with words where it is no.  Nulls that are dropped leave JSON.
 */
#include "text/schema.h"

#include <stdlib.h>

#include "base/utf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size };
	str first = str_cut(&in, '\n');
	const struct schema_opt opt = { .name = "arguments", .formats = true };
	struct json *schema, *value, *again;
	struct err e = { 0 };

	in = utf_repair(&a, in);
	if (size > 65536 || json_read(&schema, &a, first, &e) < 0 ||
	    json_read(&value, &a, in, &e) < 0)
		return 0;
	e.msg[0] = 0;
	int rc = schema_check_as(&opt, schema, value, &e);
	if ((rc != OK && rc != E_INVAL && rc != E_LIMIT) || (rc < 0 && !e.msg[0]))
		abort();
	str dropped = schema_drop_nulls(schema, in, &a);
	if (dropped.n > in.n || json_read(&again, &a, dropped, &e) < 0)
		abort();
	if (a.used > 256u << 20)
		abort();
	return 0;
}
