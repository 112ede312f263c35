/*
 * Any bytes as a stream of server-sent events, fed whole and in pieces, which must agree.  The
 * first byte chooses the size of the pieces, and whether liberties are taken.
 */
#include "text/sse.h"

#include <stdlib.h>

#define MAX_BYTES 4000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(void *arg, str name, str data, struct err *e)
{
	struct buf *seen = arg;

	(void)e;
	buf_fmt(seen, "%zu.%zu:", name.n, data.n);
	buf_add(seen, name);
	buf_add(seen, data);
	return OK;
}

static int run(struct arena *a, str body, size_t step, bool lenient, struct buf *seen)
{
	struct sse s = sse_in(a, MAX_BYTES, on_event, seen);
	int rc = OK;

	s.lenient = lenient;
	for (size_t i = 0; i < body.n && rc == OK; i += step)
		rc = sse_feed(&s, str_sub(body, i, i + step), NULL);
	if (rc == OK)
		rc = sse_end(&s, NULL);
	buf_fmt(seen, "%d %lld ", rc, (long long)s.retry_ms);
	buf_add(seen, buf_str(&s.last_id));
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf whole = buf_in(&a, 1 << 20), pieces = buf_in(&a, 1 << 20);
	str body;

	if (size == 0)
		return 0;
	body = (str){ (const char *)data + 1, size - 1 };
	if (run(&a, body, body.n + 1, data[0] & 16, &whole) !=
	    run(&a, body, 1 + data[0] % 16, data[0] & 16, &pieces))
		abort();
	if (!str_eq(buf_str(&whole), buf_str(&pieces)))
		abort();
	return 0;
}
