/*
 * What a tool gave, as the items of a watch: every one has an id on one line, texts are whole, and
 * what was merged once has nothing new the second time.
 *
 * The first line is what was known before.
 */
#include "text/feed.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf.h"

#define KNOWN 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool one_line(str s)
{
	return !memchr(s.n ? s.p : "", '\n', s.n) && utf_valid(s);
}

static void check_items(const struct feed_item *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!v[i].id.n || !one_line(v[i].id) || !one_line(v[i].title) ||
		    !one_line(v[i].url) || !one_line(v[i].text))
			abort();
}

/* What was known before: the words of a line. */
static str known(struct arena *a, str line)
{
	struct feed_item *v = NEWN(a, struct feed_item, line.n + 1);
	const struct feed_item **fresh = NEWN(a, const struct feed_item *, line.n + 1);
	size_t n = 0;
	str out;

	while (line.n) {
		str word = str_cut(&line, ' ');

		if (word.n)
			v[n++].id = word;
	}
	(void)feed_merge(&out, fresh, a, S(""), v, n, KNOWN);
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size };
	str before = known(&a, str_cut(&in, '\n'));
	struct feed_item *v = NULL;
	const struct feed_item **fresh;
	size_t n = 0, lines = 0;
	struct err e = { 0 };
	str merged, again;

	if (feed_read(&v, &n, &a, in, &e) < 0) {
		if (!e.msg[0])
			abort();
		return 0;
	}
	check_items(v, n);
	fresh = NEWN(&a, const struct feed_item *, n + 1);
	if (feed_merge(&merged, fresh, &a, before, v, n, KNOWN) > n)
		abort();
	for (str rest = merged; rest.n; lines++)
		(void)str_cut(&rest, '\n');
	if (lines > KNOWN)
		abort();
	if (n <= KNOWN && feed_merge(&again, fresh, &a, merged, v, n, KNOWN) != 0)
		abort();
	return 0;
}
