/*
 * The round trip of one MCP call to a trivial server, and how fast a hung one is left.
 *
 *	bench_mcp SERVER_BINARY CALLS
 */
#include "mcp/host.h"
#include "os/clock.h"
#include "os/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

static int measure(struct mcp_host *h, int64_t n, struct err *e)
{
	SCOPED(arena_free) struct arena keep = { 0 };
	int64_t *us = NEWN(&keep, int64_t, n);

	for (int64_t i = 0; i < n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_result result;
		struct mcp_call what = { .server = S("echo"),
					 .tool = S("echo"),
					 .args = S("{\"text\":\"hello\"}") };
		int64_t began = clock_mono_us();
		int rc = mcp_host_call(h, &what, &a, &result, NULL, e);
		if (rc < 0)
			return rc;
		us[i] = clock_mono_us() - began;
	}
	qsort(us, (size_t)n, sizeof *us, by_value);
	(void)printf("mcp_call_p50 %.3f ms\n", (double)us[n / 2] / 1000);
	(void)printf("mcp_call_p99 %.3f ms\n", (double)us[n * 99 / 100] / 1000);
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
	struct mcp_server_cfg server = { .name = S("echo"), .command = str_of(argv[1]) };
	struct mcp_manifest manifest = { .servers = &server, .n = 1 };
	struct mcp_host_opt opt = { .config = &cfg, .env = &env };
	struct mcp_host *host;
	int rc = mcp_host_start(&host, &opt, &manifest, &e);
	if (rc == OK) {
		rc = mcp_host_ready(host, clock_mono_ms() + 10000, NULL, &e);
		if (rc == OK)
			rc = measure(host, atoll(argv[2]), &e);
		mcp_host_stop(host);
	}
	spawner_stop();
	if (rc < 0)
		(void)fprintf(stderr, "bench_mcp: %s\n", e.msg);
	return rc < 0;
}
