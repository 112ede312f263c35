/* Server-sent events by the letter of the standard, in every split. */
#include "text/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

struct seen {
	struct buf b;
	struct sse *s;
	int rc;
};

static int on_event(void *arg, str name, str data, struct err *e)
{
	struct seen *seen = arg;

	buf_fmt(&seen->b, "[%.*s|%.*s|%.*s]", STRF(buf_str(&seen->s->last_id)), STRF(name),
		STRF(data));
	return seen->rc < 0 ? err_set(e, seen->rc, "enough") : OK;
}

/* What comes of text, fed in pieces of step bytes; .retry_ms behind it when there was one. */
static str seen_of(struct arena *a, str text, size_t step, bool lenient, bool whole)
{
	struct seen seen = { .b = buf_in(a, 1 << 16) };
	struct sse s = sse_in(a, 4096, on_event, &seen);

	seen.s = &s;
	s.lenient = lenient;
	for (size_t i = 0; i < text.n; i += step)
		assert_int_equal(sse_feed(&s, str_sub(text, i, i + step), NULL), OK);
	if (whole)
		assert_int_equal(sse_end(&s, NULL), OK);
	if (s.retry_ms >= 0)
		buf_fmt(&seen.b, "%lld", (long long)s.retry_ms);
	buf_fmt(&seen.b, "<%.*s>", STRF(buf_str(&s.last_id)));
	return buf_str(&seen.b);
}

static const struct {
	const char *text, *seen;
} cases[] = {
	{ "", "<>" },
	{ "data: a\n\n", "[||a]<>" },
	{ "data:a\r\n\r\ndata: b\r\r", "[||a][||b]<>" },
	{ "data:  a\ndata\ndata:b\n\n", "[|| a\n\nb]<>" },
	{ "\xef\xbb\xbf"
	  "data: a\n\n",
	  "[||a]<>" },
	{ ": ping\n\ndata: a\n: x\n\n", "[||a]<>" },
	{ "event: endpoint\ndata: /m\n\ndata: b\n\n", "[|endpoint|/m][||b]<>" },
	/* An id stays until the next one, and is there without data, too. */
	{ "id: 1\ndata: a\n\ndata: b\n\nid: 2\n\ndata: c\n\n", "[1||a][1||b][2||c]<2>" },
	{ "id: 7\ndata:\n\n", "[7||]<7>" },
	{ "id: 7\nid\ndata: a\n\n", "[||a]<>" },
	/* Of an event that is not whole nothing counts. */
	{ "id: 1\ndata: a\n\nid: 2\ndata: b\n", "[1||a]<1>" },
	{ "retry: 250\ndata: a\n\n", "[||a]250<>" },
	{ "retry: 250\n\nretry: soon\n\nretry: -1\n\nretry: 1e3\n\nretry:\n\n", "250<>" },
	{ "retry: 9000000000000\n\n", "86400000<>" },
	{ "error: no\n{\"a\":1}\n\ndata: a\n\n", "[||a]<>" },
	{ "unknown: x\nDATA: x\ndatax: x\n\n", "<>" },
};

static void a_stream_is_read_by_the_standard_in_every_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t step = 1; step < 12; step++) {
			SCOPED(arena_free) struct arena a = { 0 };
			str text = str_of(cases[i].text);

			assert_string_equal(seen_of(&a, text, step, false, false).p,
					    cases[i].seen);
		}
}

static void liberties_are_taken_only_where_they_are_asked_for(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	assert_string_equal(seen_of(&a, S("error: no\n\n{\"a\":1}\n\n"), 3, true, false).p,
			    "[|error|no][||{\"a\":1}]<>");
}

static void the_end_of_a_stream_ends_its_last_event(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	assert_string_equal(seen_of(&a, S("id: 3\ndata: a"), 4, false, true).p, "[3||a]<3>");
}

static void an_id_that_is_too_long_or_has_a_nul_is_none(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 16384);

	(void)state;
	assert_string_equal(seen_of(&a, S("id: 1\n\nid: a\0b\n\n"), 5, false, false).p, "<1>");
	buf_add(&b, S("id: 1\n\nid: "));
	for (int i = 0; i < 4090; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\n\n"));
	assert_int_equal(seen_of(&a, buf_str(&b), 700, false, false).n, 4092);
	struct seen seen = { .b = buf_in(&a, 16) };
	struct sse s = sse_in(&a, 65536, on_event, &seen);
	buf_reset(&b);
	buf_add(&b, S("id: 1\n\nid: "));
	for (int i = 0; i < SSE_ID_MAX + 1; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\n\n"));
	assert_int_equal(sse_feed(&s, buf_str(&b), NULL), OK);
	assert_int_equal(s.last_id.n, 0);
}

static void an_event_over_the_limit_ends_the_stream(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct seen seen = { .b = buf_in(&a, 64) };
	struct err e = { 0 };

	(void)state;
	struct sse s = sse_in(&a, 100, on_event, &seen);
	seen.s = &s;
	int rc = OK;
	for (int i = 0; i < 20 && rc == OK; i++)
		rc = sse_feed(&s, S("data: 0123456789\n"), &e);
	assert_int_equal(rc, E_LIMIT);
	s = sse_in(&a, 100, on_event, &seen);
	rc = OK;
	for (int i = 0; i < 20 && rc == OK; i++)
		rc = sse_feed(&s, S(": 0123456789"), &e);
	assert_int_equal(rc, E_LIMIT);
	assert_int_equal(seen.b.n, 0);
}

static void the_receiver_can_end_the_feeding(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct seen seen = { .b = buf_in(&a, 64), .rc = E_CANCELED };
	struct sse s = sse_in(&a, 100, on_event, &seen);

	(void)state;
	seen.s = &s;
	assert_int_equal(sse_feed(&s, S("data: a\n\ndata: b\n\n"), NULL), E_CANCELED);
	assert_string_equal(buf_str(&seen.b).p, "[||a]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_read_by_the_standard_in_every_split),
		cmocka_unit_test(liberties_are_taken_only_where_they_are_asked_for),
		cmocka_unit_test(the_end_of_a_stream_ends_its_last_event),
		cmocka_unit_test(an_id_that_is_too_long_or_has_a_nul_is_none),
		cmocka_unit_test(an_event_over_the_limit_ends_the_stream),
		cmocka_unit_test(the_receiver_can_end_the_feeding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
