/*
 * How long to wait: every form of Retry-After, and our own back-off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/retry.h"

#define NOW 1445412480000 /* Wed, 21 Oct 2015 07:28:00 GMT */

static void retry_after_is_read_in_every_form(void **state)
{
	static const struct {
		const char *name, *value, *date;
		int64_t ms;
	} rows[] = {
		{ "retry-after", "2", "", 2000 },
		{ "retry-after", " 2 ", "", 2000 },
		{ "retry-after", "0.25", "", 250 },
		{ "retry-after", "1.23456", "", 1234 },
		{ "retry-after", "13938", "", 13938000 },
		{ "retry-after-ms", "1500", "", 1500 },
		{ "retry-after-ms", "12.75", "", 12 },
		{ "retry-after", "Wed, 21 Oct 2015 07:28:05 GMT", "", 5000 },
		{ "retry-after", "Wed, 21 Oct 2099 07:28:00 GMT", "", 2650838400000 },
		/* against the clock that made the date, which may be wrong */
		{ "retry-after", "Wed, 21 Oct 2015 09:00:07 GMT",
		  "Wed, 21 Oct 2015 09:00:00 GMT", 7000 },
		/* rubbish, zero and the past: not said */
		{ "retry-after", "Wed, 21 Oct 2015 07:27:00 GMT", "", 0 },
		{ "retry-after", "soon", "", 0 },
		{ "retry-after", "-5", "", 0 },
		{ "retry-after", "0", "", 0 },
		{ "retry-after", "", "", 0 },
		{ "retry-after", ".5", "", 0 },
		{ "retry-after", "1.2.3", "", 0 },
		{ "retry-after", "99999999999999999999999999", "", 0 },
		{ "retry-after-ms", "-1", "", 0 },
		{ "retry-after-ms", "0", "", 0 },
		{ "x-other", "2", "", 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct http_header h[] = {
			{ str_of(rows[i].name), str_of(rows[i].value) },
			{ S("date"), str_of(rows[i].date) },
		};
		struct http_resp r = { .headers = h, .headers_n = 2 };
		int64_t got = retry_in_headers(&r, NOW);

		if (got != rows[i].ms)
			fail_msg("%s: %s gives %lld", rows[i].name, rows[i].value,
				 (long long)got);
	}
}

static void milliseconds_win_over_seconds(void **state)
{
	struct http_header h[] = { { S("retry-after"), S("2") },
				   { S("retry-after-ms"), S("1500") } };
	struct http_resp r = { .headers = h, .headers_n = 2 };

	assert_int_equal(retry_in_headers(&r, NOW), 1500);
	h[1].value = S("soon");
	assert_int_equal(retry_in_headers(&r, NOW), 2000);
}

static void server_may_ask_for_or_forbid_a_retry(void **state)
{
	static const struct {
		const char *value;
		int wanted;
	} rows[] = { { "true", 1 }, { "FALSE", 0 }, { "maybe", -1 }, { "", -1 } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct http_header h = { S("x-should-retry"), str_of(rows[i].value) };
		struct http_resp r = { .headers = &h, .headers_n = 1 };

		assert_int_equal(retry_wanted(&r), rows[i].wanted);
	}
}

static void delay_in_the_body_is_read(void **state)
{
	static const struct {
		const char *body;
		int64_t ms;
	} rows[] = {
		{ "{\"error\":{\"details\":[{\"@type\":\"type.googleapis.com/"
		  "google.rpc.RetryInfo\","
		  "\"retryDelay\":\"34.07s\"}]}}",
		  34070 },
		{ "{\"error\":{\"details\":[{\"@type\":\"type.googleapis.com/"
		  "google.rpc.RetryInfo\","
		  "\"retryDelay\":\"34\"}]}}",
		  0 },
		{ "{\"error\":{\"details\":[{\"@type\":\"other\",\"retryDelay\":\"34s\"}]}}",
		  0 },
		{ "{\"error\":{\"details\":\"34s\"}}", 0 },
		{ "[]", 0 },
		{ "7", 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct json *v;

		assert_int_equal(json_read(&v, &a, str_of(rows[i].body), NULL), OK);
		assert_int_equal(retry_in_body(v), rows[i].ms);
	}
}

static void backoff_doubles_up_to_eight_seconds_and_is_never_zero(void **state)
{
	static const int64_t full[] = { 500, 1000, 2000, 4000, 8000, 8000, 8000 };

	for (int n = 0; n < (int)COUNT(full); n++) {
		assert_int_equal(retry_backoff(n, 0), full[n]);
		assert_in_range(retry_backoff(n, 0.999), full[n] * 3 / 4, full[n] - 1);
	}
	assert_int_equal(retry_backoff(1000, 0), 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retry_after_is_read_in_every_form),
		cmocka_unit_test(milliseconds_win_over_seconds),
		cmocka_unit_test(server_may_ask_for_or_forbid_a_retry),
		cmocka_unit_test(delay_in_the_body_is_read),
		cmocka_unit_test(backoff_doubles_up_to_eight_seconds_and_is_never_zero),
	};

	return cmocka_run_group_tests_name("model/retry", tests, NULL, NULL);
}
