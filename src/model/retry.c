/*
 * Retry-After in every form.  Rubbish, zero and the past count as not said, so that nobody
 * can make us ask in a tight loop.
 */
#include "model/retry.h"

#include "base/date.h"

#define BACKOFF_FIRST_MS 500
#define BACKOFF_MAX_MS 8000

/* "2", "0.5", "34.07" in thousandths; 0 when it is no such number. */
static int64_t thousandths(str s)
{
	int64_t n = 0, scale = 1000;
	size_t i = 0;
	bool point = false;

	for (; i < s.n; i++) {
		if (s.p[i] == '.' && !point && i > 0) {
			point = true;
			continue;
		}
		if (s.p[i] < '0' || s.p[i] > '9' || n > INT64_MAX / 100000)
			return 0;
		if (point && scale == 1)
			continue;
		n = n * 10 + (s.p[i] - '0');
		if (point)
			scale /= 10;
	}
	return n * scale;
}

int64_t retry_in_headers(const struct http_resp *r, int64_t now_ms)
{
	str ms = str_trim(http_header(r, "retry-after-ms"));
	str after = str_trim(http_header(r, "retry-after"));
	int64_t wait = thousandths(ms) / 1000, at, date;

	if (wait > 0)
		return wait;
	if ((wait = thousandths(after)) > 0)
		return wait;
	if (!date_parse_http(after, &at))
		return 0;
	if (date_parse_http(str_trim(http_header(r, "date")), &date))
		now_ms = date;
	return at > now_ms ? at - now_ms : 0;
}

int64_t retry_in_body(const struct json *root)
{
	const struct json *error, *details;

	if (json_is(root, JSON_ARRAY))
		root = json_at(root, 0);
	error = json_get(root, "error");
	details = json_get(error ? error : root, "details");
	if (!json_is(details, JSON_ARRAY))
		return 0;
	for (const struct json *d = details->child; d; d = d->next) {
		str delay = json_str(d, "retryDelay");
		if (str_ends(json_str(d, "@type"), S("google.rpc.RetryInfo")) &&
		    str_ends(delay, S("s")))
			return thousandths(str_sub(delay, 0, delay.n - 1));
	}
	return 0;
}

int retry_wanted(const struct http_resp *r)
{
	str s = str_trim(http_header(r, "x-should-retry"));

	return str_ieq(s, S("true")) ? 1 : str_ieq(s, S("false")) ? 0 : -1;
}

int64_t retry_backoff(int n, double unit)
{
	int64_t ms = n < 4 ? (int64_t)BACKOFF_FIRST_MS << n : BACKOFF_MAX_MS;

	return ms - (int64_t)((double)ms * unit / 4);
}
