/*
 * os/http_handle: what http.c and http_pool.c share.  For these two files only.
 */
#ifndef OS_HTTP_HANDLE_H
#define OS_HTTP_HANDLE_H

#include "os/http.h"

#include <curl/curl.h>

struct http {
	struct http_pool *pool;
	struct http *next; /* in the pool's list of idle ones */
	int64_t idle_since_ms;
	CURLM *multi; /* holds the warm connections */
	CURL *easy;
};

/* The pool's own copy; every text is set, "" for none. */
const struct http_opt *http_options(const struct http *h);

#endif
