/*
 * Any bytes as JSON: a tree or an error.  What was read can be written, and what was
 * written reads back as the same text.
 */
#include "text/json.h"

#include <stdlib.h>

#include "base/utf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf first = buf_in(&a, 16 << 20), second = buf_in(&a, 16 << 20);
	struct err e = { 0 };
	struct json *v = NULL, *again = NULL;
	int rc = json_read(&v, &a, (str){ (const char *)data, size }, &e);

	if ((rc == OK) != (v != NULL) || (rc < 0 && !e.msg[0]))
		abort();
	if (!v)
		return 0;
	json_write(&first, v);
	if (!utf_valid(buf_str(&first)) || json_read(&again, &a, buf_str(&first), &e) < 0)
		abort();
	json_write(&second, again);
	if (!str_eq(buf_str(&first), buf_str(&second)))
		abort();
	return 0;
}
