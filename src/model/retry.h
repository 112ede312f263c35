/*
 * model/retry: how long to wait before asking again.  Pure.
 */
#ifndef MODEL_RETRY_H
#define MODEL_RETRY_H

#include "os/http.h"
#include "text/json.h"

#define RETRY_WAIT_MAX_MS 60000 /* longer ones are the caller's business */

/* What the headers ask for in ms: retry-after-ms, or Retry-After in seconds or as a date
 * (against the server's own Date if it sent one, else now_ms).  0: nothing usable. */
int64_t retry_in_headers(const struct http_resp *r, int64_t now_ms);

/* The same in an error body: google.rpc.RetryInfo. */
int64_t retry_in_body(const struct json *root);

/* The header x-should-retry: 1 yes, 0 no, -1 it does not say. */
int retry_wanted(const struct http_resp *r);

/* The n-th (from 0) wait of our own: 0.5 s doubling to 8 s, less up to a quarter of it;
 * unit is random in [0, 1). */
int64_t retry_backoff(int n, double unit);

#endif
