/*
 * The pool of HTTP handles: a list of idle ones under a lock, the last used first, because
 * its connections are the warmest.
 */
#include "os/http_handle.h"
#include "os/path.h"

#include "base/memory.h"
#include "os/clock.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>

#define IDLE_MAX 16 /* handles kept warm */

struct http_pool {
	pthread_mutex_t lock; /* guards idle, idle_n, out_n */
	struct http *idle; /* last used first */
	size_t idle_n, out_n;
	struct arena arena;
	struct http_opt opt;
};

static void handle_free(struct http *h)
{
	/* Without this the cleanup would join a resolver thread that is stuck. */
	curl_easy_setopt(h->easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_cleanup(h->easy);
	curl_multi_cleanup(h->multi);
	free(h);
}

static struct http *handle_new(struct http_pool *p)
{
	struct http *h = memory_zeroed(1, sizeof *h);

	if (!(h->multi = curl_multi_init()) || !(h->easy = curl_easy_init()))
		memory_out("a handle of libcurl");
	h->pool = p;
	return h;
}

static CURLcode global_result;

static void *tls_take(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return memory_take(n);
}

static void *tls_retake(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return memory_retake(p, n);
}

static void tls_give(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	memory_give(p);
}

/* OpenSSL says no where it was used already: then it keeps its own. */
static void global_start(void)
{
	(void)CRYPTO_set_mem_functions(tls_take, tls_retake, tls_give);
	global_result = curl_global_init_mem(CURL_GLOBAL_DEFAULT, memory_take, memory_give,
					     memory_retake, memory_copy, memory_zeroed);
}

/* Where distributions keep the certificates they trust: a library that was built elsewhere does
 * not know.  "" leaves it to libcurl. */
static const char *system_bundle(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine */
		"/etc/pki/tls/certs/ca-bundle.crt", /* Fedora */
		"/etc/ssl/ca-bundle.pem", /* openSUSE */
		"/etc/ssl/cert.pem",
	};

	for (size_t i = 0; i < COUNT(places); i++)
		if (path_kind(places[i], NULL) == PATH_FILE)
			return places[i];
	return "";
}

int http_pool_open(struct http_pool **out, const struct http_opt *opt, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http_pool *p;

	if (pthread_once(&once, global_start) || global_result != CURLE_OK)
		return err_set(e, E_IO, "http: libcurl does not start");
	p = memory_zeroed(1, sizeof *p);
	if (pthread_mutex_init(&p->lock, NULL))
		memory_out("a lock");
	p->opt.ca_file = opt->ca_file && *opt->ca_file
				 ? arena_cstr(&p->arena, str_of(opt->ca_file))
				 : system_bundle();
	p->opt.http_proxy = arena_cstr(&p->arena, str_of(opt->http_proxy));
	p->opt.https_proxy = arena_cstr(&p->arena, str_of(opt->https_proxy));
	p->opt.all_proxy = arena_cstr(&p->arena, str_of(opt->all_proxy));
	p->opt.no_proxy = arena_cstr(&p->arena, str_of(opt->no_proxy));
	p->opt.user_agent =
		arena_cstr(&p->arena, opt->user_agent ? str_of(opt->user_agent) : S("gantry"));
	*out = p;
	return OK;
}

void http_pool_close(struct http_pool *p)
{
	struct http *h;

	if (!p)
		return;
	assert(p->out_n == 0);
	while ((h = p->idle)) {
		p->idle = h->next;
		handle_free(h);
	}
	pthread_mutex_destroy(&p->lock);
	arena_free(&p->arena);
	free(p);
}

struct http *http_borrow(struct http_pool *p)
{
	struct http *h;

	pthread_mutex_lock(&p->lock);
	p->out_n++;
	h = p->idle;
	if (h) {
		p->idle = h->next;
		p->idle_n--;
	}
	pthread_mutex_unlock(&p->lock);
	return h ? h : handle_new(p);
}

void http_return(struct http **hp)
{
	struct http *h = *hp;
	struct http_pool *p;

	if (!h)
		return;
	*hp = NULL;
	p = h->pool;
	pthread_mutex_lock(&p->lock);
	p->out_n--;
	if (p->idle_n < IDLE_MAX) {
		h->idle_since_ms = clock_mono_ms();
		h->next = p->idle;
		p->idle = h;
		p->idle_n++;
		h = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	if (h)
		handle_free(h);
}

void http_pool_tidy(struct http_pool *p, int64_t idle_ms)
{
	int64_t old_ms = clock_mono_ms() - idle_ms;
	struct http **tail = &p->idle, *h, *next;

	pthread_mutex_lock(&p->lock);
	/* The longest idle ones stand at the end. */
	for (; *tail && (*tail)->idle_since_ms > old_ms; tail = &(*tail)->next)
		continue;
	h = *tail;
	*tail = NULL;
	for (const struct http *i = h; i; i = i->next)
		p->idle_n--;
	pthread_mutex_unlock(&p->lock);
	for (; h; h = next) {
		next = h->next;
		handle_free(h);
	}
}

const struct http_opt *http_options(const struct http *h)
{
	return &h->pool->opt;
}
