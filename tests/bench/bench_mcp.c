/*
 * The round trip of an MCP call to a trivial server, and how many a second there are: one after
 * the other, and eight at once.
 *
 *	bench_mcp SERVER_BINARY|URL CALLS
 */
#include "mcp/host.h"
#include "os/clock.h"
#include "os/proc.h"
#include "os/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AT_ONCE 8

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

static int call(struct mcp_host *h, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_result result;
	struct mcp_call what = { .server = S("echo"),
				 .tool = S("echo"),
				 .args = S("{\"text\":\"hello\"}") };
	int rc = mcp_host_call(h, &what, &a, &result, NULL, e);

	if (rc == OK && (result.failed || !str_eq(result.text, S("hello"))))
		rc = err_set(e, E_PROTO, "the echo was \"%.*s\"", STRF(result.text));
	return rc;
}

struct caller {
	struct mcp_host *h;
	int64_t n;
	struct thread thread;
	struct err e;
	int rc;
};

static void *caller_main(void *arg)
{
	struct caller *c = arg;

	for (int64_t i = 0; i < c->n && c->rc == OK; i++)
		c->rc = call(c->h, &c->e);
	return NULL;
}

/* Calls a second from so many threads. */
static int at_once(struct mcp_host *h, int64_t n, double *rate, struct err *e)
{
	struct caller callers[AT_ONCE] = { 0 };
	int64_t began = clock_mono_us();
	int rc = OK;

	for (size_t i = 0; i < AT_ONCE && rc == OK; i++) {
		callers[i] = (struct caller){ .h = h, .n = n / AT_ONCE };
		rc = thread_start(&callers[i].thread, "caller", caller_main, &callers[i], e);
	}
	for (size_t i = 0; i < AT_ONCE; i++) {
		thread_join(&callers[i].thread);
		if (rc == OK && callers[i].rc < 0) {
			rc = callers[i].rc;
			*e = callers[i].e;
		}
	}
	*rate = (double)(n / AT_ONCE * AT_ONCE) * 1e6 / (double)(clock_mono_us() - began);
	return rc;
}

static int measure(struct mcp_host *h, const char *way, int64_t n, struct err *e)
{
	SCOPED(arena_free) struct arena keep = { 0 };
	int64_t *us = NEWN(&keep, int64_t, n), all = clock_mono_us();
	double rate;
	int rc = OK;

	for (int64_t i = 0; i < n && rc == OK; i++) {
		int64_t began = clock_mono_us();
		rc = call(h, e);
		us[i] = clock_mono_us() - began;
	}
	if (rc < 0)
		return rc;
	all = clock_mono_us() - all;
	qsort(us, (size_t)n, sizeof *us, by_value);
	if ((rc = at_once(h, n, &rate, e)) < 0)
		return rc;
	(void)printf("mcp_%scall_p50 %.3f ms\n", way, (double)us[n / 2] / 1000);
	(void)printf("mcp_%scall_p99 %.3f ms\n", way, (double)us[n * 99 / 100] / 1000);
	(void)printf("mcp_%scalls,_one_after_the_other %.0f / s\n", way,
		     (double)n * 1e6 / (double)all);
	(void)printf("mcp_%scalls,_%d_at_once %.0f / s\n", way, AT_ONCE, rate);
	return OK;
}

int main(int argc, char **argv)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };

	if (argc < 3 || spawner_start(&e) < 0)
		return 2;
	struct env env = env_copy(&a, environ);
	struct config cfg = { .mcp = { .call_timeout_ms = 10000,
				       .start_timeout_ms = 10000,
				       .ping_interval_ms = 60000,
				       .line_max = 1 << 20 } };
	struct mcp_server_cfg server = { .name = S("echo") };
	bool http = str_starts(str_of(argv[1]), S("http://"));
	if (http)
		server.http.url = str_of(argv[1]);
	else
		server.command = str_of(argv[1]);
	struct mcp_manifest manifest = { .servers = &server, .n = 1 };
	struct mcp_host_opt opt = { .config = &cfg, .env = &env };
	struct mcp_host *host;
	int rc = mcp_host_start(&host, &opt, &manifest, &e);
	if (rc == OK) {
		rc = mcp_host_ready(host, clock_mono_ms() + 10000, NULL, &e);
		if (rc == OK)
			rc = measure(host, http ? "http_" : "", atoll(argv[2]), &e);
		mcp_host_stop(host);
	}
	spawner_stop();
	if (rc < 0)
		(void)fprintf(stderr, "bench_mcp: %s\n", e.msg);
	return rc < 0;
}
