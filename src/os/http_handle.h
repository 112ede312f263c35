/*
 * os/http_handle: what http.c, http_ca.c and http_pool.c share.  For these files only.
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

/* A CURLOPT_SSL_CTX_FUNCTION: trust what stands in the bundle ca_file (a const char *), which has to
 * outlive the connection; it is read when a certificate is to be checked.  What cannot be read in
 * it is left out and logged; CURLE_SSL_CACERT_BADFILE: all of it. */
CURLcode http_trust(CURL *easy, void *ssl_ctx, void *ca_file);

#endif
