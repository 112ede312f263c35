/*
 * HTTP through libcurl's multi interface: one easy handle per multi handle, driven by
 * curl_multi_poll() together with the eventfds of the cancel chain.
 *
 * The phase limits are ours, on the monotonic clock; libcurl's own timers are only told the
 * connect limit, because it divides that time among the addresses of a host.  Environment
 * variables are never asked: proxy and CA file are always set.  HTTP/1.1 only: one request
 * per connection makes "was it sent?" a question with an answer.
 */
#include "os/http_handle.h"

#include "base/buf.h"
#include "base/ip.h"
#include "base/memory.h"
#include "os/clock.h"
#include "os/seam.h"
#include "os/url.h"
#include "os/wait.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CHAIN_MAX 8 /* cancel tokens above one another */
#define HEADERS_MAX 128
#define HEADER_BYTES_MAX (64 << 10)
#define ERROR_BODY_MAX (64 << 10)
#define BODY_MAX_DEFAULT (16 << 20)
#define POLL_MAX_MS 60000

struct transfer {
	struct http *h;
	const struct http_req *req;
	struct arena *a;
	struct http_resp *out;
	struct buf body;
	struct http_header *headers;
	size_t header_bytes, seen; /* seen: decoded bytes of a 2xx body */
	struct err stop; /* .code < 0: a callback ended the transfer because of this */
	bool connected, progressed, head_complete, body_begun, enough;
	int64_t started_ms, connected_ms, progress_ms;
	int64_t linger_until_ms; /* 0: not finished yet */
	int sends; /* times libcurl was about to send the request */
	str host;
	const char *refused; /* what an address was that public_only forbids */
	char detail[CURL_ERROR_SIZE];
};

/* ---- callbacks -------------------------------------------------------------------- */

static bool success(const struct transfer *t)
{
	return t->out->status >= 200 && t->out->status < 300;
}

static bool repeatable(const char *method)
{
	return !strcmp(method, "GET") || !strcmp(method, "HEAD");
}

static const char *method_of(const struct http_req *req)
{
	return req->method ? req->method : req->body.n ? "POST" : "GET";
}

static size_t body_max(const struct http_req *req)
{
	return req->body_max ? req->body_max : BODY_MAX_DEFAULT;
}

static long request_bytes(const struct transfer *t)
{
	long n = 0;

	curl_easy_getinfo(t->h->easy, CURLINFO_REQUEST_SIZE, &n);
	return n;
}

/* The address that will be connected to, whatever the name was said to stand for. */
static const char *refused_address(const struct curl_sockaddr *to)
{
	const struct sockaddr_in *v4 = (const void *)&to->addr;
	const struct sockaddr_in6 *v6 = (const void *)&to->addr;

	if (to->family == AF_INET)
		return ip_refused((const uint8_t *)&v4->sin_addr, 4);
	if (to->family == AF_INET6)
		return ip_refused((const uint8_t *)&v6->sin6_addr, 16);
	return "no address";
}

static curl_socket_t open_public(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct transfer *t = arg;
	const char *what = refused_address(to);

	(void)purpose;
	if (!what)
		return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	t->refused = what;
	return CURL_SOCKET_BAD;
}

/* libcurl has a connection and is about to send.  It comes here again when a warm connection
 * died before an answer and it would send once more on a fresh one. */
static int on_connected(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	struct transfer *t = arg;

	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	if (t->sends++ && !repeatable(method_of(t->req)) && request_bytes(t) > 0) {
		err_set(&t->stop, E_IO, "connection closed before an answer");
		return CURL_PREREQFUNC_ABORT;
	}
	t->connected = true;
	t->connected_ms = clock_mono_ms();
	return CURL_PREREQFUNC_OK;
}

static int status_of(const struct transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static void progress(struct transfer *t)
{
	t->progressed = true;
	t->progress_ms = clock_mono_ms();
}

/* One line of the headers; returning less than n ends the transfer. */
static size_t on_header(char *p, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	size_t n = size * count, colon;
	str line = { p, n };

	if (str_starts(line, S("HTTP/"))) { /* again after a 100 */
		t->out->headers_n = 0;
		t->head_complete = false;
	}
	if (t->head_complete) /* a trailer */
		return n;
	t->head_complete = str_trim(line).n == 0;
	if (t->head_complete && t->req->on_head && status_of(t) >= 200) {
		t->out->status = status_of(t);
		t->req->on_head(t->req->arg);
	}
	t->header_bytes += n;
	if (t->header_bytes > HEADER_BYTES_MAX || t->out->headers_n == HEADERS_MAX) {
		err_set(&t->stop, E_LIMIT, "too many response headers");
		return 0;
	}
	colon = str_find(line, S(":"));
	if (colon == SIZE_MAX || colon == 0)
		return n;
	struct http_header *h = &t->headers[t->out->headers_n++];
	h->name = arena_lower(t->a, str_sub(line, 0, colon));
	h->value = arena_dup(t->a, str_trim(str_sub(line, colon + 1, n)));
	return n;
}

static size_t collect_error_body(struct transfer *t, str chunk)
{
	progress(t);
	buf_add(&t->body, str_sub(chunk, 0, ERROR_BODY_MAX - t->body.n));
	if (t->body.n < ERROR_BODY_MAX)
		return chunk.n;
	t->enough = true; /* the rest tells nobody anything */
	return 0;
}

static size_t hand_on(struct transfer *t, str chunk)
{
	int rc = t->req->sink(t->req->arg, chunk, &t->stop);

	if (rc < 0) {
		t->stop.code = rc;
		return 0;
	}
	if (rc > 0)
		progress(t);
	if (rc > 1)
		t->linger_until_ms = clock_mono_ms() + rc;
	return chunk.n;
}

static size_t on_body(char *p, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	str chunk = { p, size * count };
	size_t max = body_max(t->req);

	if (!t->body_begun) {
		t->out->status = status_of(t);
		t->body_begun = true;
	}
	if (!success(t))
		return collect_error_body(t, chunk);
	if (chunk.n > max - t->seen) {
		err_set(&t->stop, E_LIMIT, "answer over %zu bytes", max);
		return 0;
	}
	t->seen += chunk.n;
	if (t->req->sink)
		return hand_on(t, chunk);
	buf_add(&t->body, chunk);
	progress(t);
	return chunk.n;
}

/* ---- setting up ------------------------------------------------------------------- */

static void list_add(struct curl_slist **list, const char *line)
{
	struct curl_slist *grown = curl_slist_append(*list, line);

	if (!grown)
		memory_out("headers of a request");
	*list = grown;
}

static int add_headers(struct curl_slist **list, const struct transfer *t, struct err *e)
{
	list_add(list, "Expect:"); /* no pause before a large body */
	for (size_t i = 0; i < t->req->headers_n; i++) {
		const struct http_header *h = &t->req->headers[i];
		for (size_t k = 0; k < h->value.n; k++)
			if ((unsigned char)h->value.p[k] < 32 && h->value.p[k] != '\t')
				return err_set(e, E_INVAL,
					       "%s: control character in header %.*s",
					       t->req->label, STRF(h->name));
		list_add(list, arena_fmt(t->a, h->value.n ? "%.*s: %.*s" : "%.*s;%.*s",
					 STRF(h->name), STRF(h->value))
				       .p);
	}
	return OK;
}

/* Only to public addresses: through no proxy, which would connect for us, and on no warm
 * connection, which nobody looked at. */
static void set_public_only(CURL *c, struct transfer *t)
{
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_public);
	curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t);
}

static void set_security(CURL *c, const struct http_opt *o, bool tls)
{
	const char *proxy = tls ? o->https_proxy : o->http_proxy;

	/* "" for proxy and no_proxy keeps libcurl from asking the environment. */
	curl_easy_setopt(c, CURLOPT_PROXY, *proxy ? proxy : o->all_proxy);
	curl_easy_setopt(c, CURLOPT_NOPROXY, o->no_proxy);
	curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(c, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (!*o->ca_file)
		return; /* libcurl knows a place of its own */
	/* Ours alone, and nothing that libcurl would parse beforehand. */
	curl_easy_setopt(c, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(c, CURLOPT_PROXY_CAPATH, NULL);
	curl_easy_setopt(c, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(c, CURLOPT_PROXY_CAINFO, NULL);
	curl_easy_setopt(c, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	curl_easy_setopt(c, CURLOPT_SSL_CTX_FUNCTION, http_trust);
	curl_easy_setopt(c, CURLOPT_SSL_CTX_DATA, o->ca_file);
}

static void set_request(CURL *c, struct transfer *t)
{
	const char *method = method_of(t->req);

	curl_easy_setopt(c, CURLOPT_URL, arena_cstr(t->a, t->req->url));
	curl_easy_setopt(c, CURLOPT_USERAGENT, http_options(t->h)->user_agent);
	curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "");
	if (t->req->body.n || !strcmp(method, "POST")) {
		curl_easy_setopt(c, CURLOPT_POST, 1L);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, t->req->body.n ? t->req->body.p : "");
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->req->body.n);
	}
	if (!strcmp(method, "HEAD"))
		curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, method);
}

static void set_behaviour(CURL *c, struct transfer *t)
{
	int64_t connect_ms = t->req->connect_ms;

	if (connect_ms <= 0 || connect_ms > INT32_MAX)
		connect_ms = INT32_MAX;
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->detail);
	curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_connected);
	curl_easy_setopt(c, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
}

/* ---- running ---------------------------------------------------------------------- */

/* When the transfer is too late, and the words for it. */
static int64_t phase_deadline(const struct transfer *t, const char **what, int64_t *limit_ms)
{
	const struct http_req *r = t->req;
	int64_t from, limit, total = r->total_ms ? t->started_ms + r->total_ms : INT64_MAX;

	if (!t->connected) {
		from = t->started_ms;
		limit = r->connect_ms;
		*what = "no connection";
	} else if (!t->progressed) {
		from = t->connected_ms;
		limit = r->first_ms;
		*what = "no answer";
	} else {
		from = t->progress_ms;
		limit = r->idle_ms;
		*what = "the answer stalled";
	}
	*limit_ms = limit;
	if (limit && from + limit <= total)
		return from + limit;
	*limit_ms = r->total_ms;
	*what = "the answer was not complete";
	return total;
}

static int wait_some(struct transfer *t, int64_t until_ms, const struct cancel *c, int64_t now)
{
	struct curl_waitfd fds[CHAIN_MAX + 1];
	unsigned n = 0;
	int64_t cancel_ms = cancel_deadline(c), ms;

	for (; c; c = c->up) {
		assert(n < CHAIN_MAX);
		fds[n++] = (struct curl_waitfd){ .fd = c->fd, .events = CURL_WAIT_POLLIN };
	}
	if (t->req->wake)
		fds[n++] = (struct curl_waitfd){ .fd = t->req->wake->fd,
						 .events = CURL_WAIT_POLLIN };
	ms = (cancel_ms < until_ms ? cancel_ms : until_ms) - now;
	if (ms > POLL_MAX_MS)
		ms = POLL_MAX_MS;
	ms = seam_slice(ms > 0 ? (int)ms : 0);
	return curl_multi_poll(t->h->multi, fds, n, (int)ms, NULL) == CURLM_OK ? OK : E_IO;
}

/* Is there something else to do?  Then it is done, and the limits are moved by its time. */
static int wake(struct transfer *t, int64_t now, struct err *e)
{
	const struct http_req *r = t->req;
	struct pollfd fd = { .fd = r->wake ? r->wake->fd : -1, .events = POLLIN };
	bool due = r->wake_at_ms && *r->wake_at_ms && now >= *r->wake_at_ms;
	int64_t took;
	int rc;

	if (!r->on_wake || (!due && poll(&fd, 1, 0) <= 0))
		return OK;
	if (r->wake)
		bell_hear(r->wake);
	rc = r->on_wake(r->arg, e);
	took = clock_mono_ms() - now;
	t->started_ms += took;
	t->connected_ms += took;
	t->progress_ms += took;
	return rc;
}

/* When to look again at the latest: the end of the phase, or before that. */
static int64_t nearest(const struct transfer *t, int64_t until)
{
	const int64_t *at = t->req->wake_at_ms;

	if (t->linger_until_ms && t->linger_until_ms < until)
		until = t->linger_until_ms;
	return at && *at && *at < until ? *at : until;
}

/* Drive the transfer to its end; OK with *result of libcurl, or why it was given up. */
static int drive(struct transfer *t, CURLcode *result, const struct cancel *c, struct err *e)
{
	for (;;) {
		int running = 0, rc;
		const char *what;
		int64_t limit, now, until;

		if (curl_multi_perform(t->h->multi, &running) != CURLM_OK)
			return err_set(e, E_IO, "libcurl failed");
		if (!running)
			break;
		if ((rc = cancel_check(c, e)) < 0)
			return rc;
		if ((rc = wake(t, clock_mono_ms(), e)) < 0)
			return rc;
		now = clock_mono_ms();
		until = phase_deadline(t, &what, &limit);
		if (t->linger_until_ms && t->linger_until_ms <= now) {
			*result = CURLE_OK;
			return OK;
		}
		if (now >= until)
			return err_set(e, E_TIMEOUT, "%s within %lld ms", what,
				       (long long)limit);
		if (wait_some(t, nearest(t, until), c, now) < 0)
			return err_set(e, E_IO, "libcurl failed");
	}
	for (int left;;) {
		CURLMsg *m = curl_multi_info_read(t->h->multi, &left);
		if (!m)
			return err_set(e, E_IO, "libcurl failed");
		if (m->msg == CURLMSG_DONE) {
			*result = m->data.result;
			return OK;
		}
	}
}

/* What libcurl's result means here.  detail: its own words name no URL and say more. */
static const struct meaning {
	CURLcode code;
	int rc;
	const char *what;
	bool detail;
} meanings[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, E_IO, "host not found", false },
	{ CURLE_COULDNT_RESOLVE_PROXY, E_IO, "proxy host not found", false },
	{ CURLE_PROXY, E_IO, "the proxy refused", false },
	{ CURLE_OPERATION_TIMEDOUT, E_TIMEOUT, "no connection in time", false },
	{ CURLE_SEND_ERROR, E_IO, "connection lost while sending", false },
	{ CURLE_RECV_ERROR, E_IO, "connection lost", false },
	{ CURLE_PARTIAL_FILE, E_IO, "connection closed in the middle of the answer", false },
	{ CURLE_GOT_NOTHING, E_IO, "connection closed before an answer", false },
	{ CURLE_SSL_CONNECT_ERROR, E_PROTO, "TLS handshake failed", true },
	{ CURLE_PEER_FAILED_VERIFICATION, E_PROTO, "certificate refused", true },
	{ CURLE_SSL_CERTPROBLEM, E_PROTO, "certificate refused", true },
	{ CURLE_WEIRD_SERVER_REPLY, E_PROTO, "not an HTTP answer", false },
	{ CURLE_UNSUPPORTED_PROTOCOL, E_PROTO, "not an HTTP answer", false },
	{ CURLE_BAD_CONTENT_ENCODING, E_PROTO, "broken content encoding", false },
	/* In truth a header line over libcurl's own limit. */
	{ CURLE_OUT_OF_MEMORY, E_LIMIT, "too many response headers", false },
	{ CURLE_URL_MALFORMAT, E_INVAL, "bad URL", false },
};

static int explain(const struct transfer *t, CURLcode result, struct err *e)
{
	long os_errno = 0, proxy_status = 0;

	if (result == CURLE_COULDNT_CONNECT && t->refused)
		return err_set(e, E_DENIED, "leads to %s, which is not allowed", t->refused);
	if (result == CURLE_COULDNT_CONNECT) {
		curl_easy_getinfo(t->h->easy, CURLINFO_OS_ERRNO, &os_errno);
		errno = os_errno ? (int)os_errno : ECONNREFUSED;
		(void)err_sys(e, "cannot connect");
		return E_IO;
	}
	if (result == CURLE_SSL_CACERT_BADFILE)
		return err_set(e, E_PROTO, "CA file %s holds no certificate that can be read",
			       http_options(t->h)->ca_file);
	curl_easy_getinfo(t->h->easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
	if (proxy_status && proxy_status / 100 != 2)
		return err_set(e, E_IO, "the proxy refused with status %ld", proxy_status);
	for (size_t i = 0; i < COUNT(meanings); i++) {
		const struct meaning *m = &meanings[i];
		if (m->code == result)
			return err_set(e, m->rc, "%s%s%.120s", m->what,
				       m->detail && *t->detail ? ": " : "",
				       m->detail ? t->detail : "");
	}
	return err_set(e, E_IO, "%s", curl_easy_strerror(result));
}

static int outcome(struct transfer *t, CURLcode result, struct err *e)
{
	if (t->stop.code < 0)
		return err_set(e, t->stop.code, "%s", t->stop.msg);
	if (result != CURLE_OK && !t->enough && !t->linger_until_ms)
		return explain(t, result, e);
	if (!t->head_complete) /* libcurl is content with that */
		return err_set(e, E_IO, "connection closed in the middle of the headers");
	return OK;
}

static int run(struct transfer *t, bool tls, const struct cancel *c, struct err *e)
{
	CURL *easy = t->h->easy;
	struct curl_slist *headers = NULL;
	CURLcode result = CURLE_OK;
	int rc;

	curl_easy_reset(easy);
	set_security(easy, http_options(t->h), tls);
	if (t->req->public_only)
		set_public_only(easy, t);
	set_request(easy, t);
	set_behaviour(easy, t);
	rc = add_headers(&headers, t, e);
	if (rc == OK) {
		curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
		t->started_ms = clock_mono_ms();
		if (curl_multi_add_handle(t->h->multi, easy) != CURLM_OK)
			memory_out("a request");
		rc = drive(t, &result, c, e);
		if (rc == OK)
			rc = outcome(t, result, e);
		t->out->status = status_of(t);
		t->out->maybe_sent = t->connected && request_bytes(t) > 0;
		curl_multi_remove_handle(t->h->multi, easy);
	}
	curl_easy_reset(easy); /* nothing in it points here any more */
	curl_slist_free_all(headers);
	return rc;
}

int http_do(struct http *h, const struct http_req *req, struct arena *a, struct http_resp *out,
	    const struct cancel *c, struct err *e)
{
	struct transfer t = { .h = h, .req = req, .a = a, .out = out };
	struct err why = { 0 };
	struct url url;
	int rc;

	assert(req->label);
	*out = (struct http_resp){ 0 };
	if ((rc = url_parse(&url, a, S(""), req->url, e)) < 0)
		return err_wrap(e, rc, "%s", req->label);
	t.host = url.host;
	t.headers = NEWN(a, struct http_header, HEADERS_MAX);
	t.body = buf_in(a, body_max(req) > ERROR_BODY_MAX ? body_max(req) : ERROR_BODY_MAX);
	out->headers = t.headers;
	rc = cancel_check(c, &why);
	if (rc == OK)
		rc = run(&t, url.tls, c, &why);
	out->body = buf_str(&t.body);
	if (rc < 0)
		return err_set(e, rc, "%.*s %s: %.180s", STRF(t.host), req->label, why.msg);
	return OK;
}

str http_header(const struct http_resp *r, const char *name)
{
	for (size_t i = 0; i < r->headers_n; i++)
		if (str_eq(r->headers[i].name, str_of(name)))
			return r->headers[i].value;
	return (str){ 0 };
}
