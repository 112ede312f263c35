/*
 * How long a wait goes on after it was cancelled, in each thing a turn waits for.
 *
 *	bench_cancel [dns]     dns: only the lookup, where 127.0.0.1:53 is ours to be silent on
 *	bench_cancel serve     (internal) an MCP server that never answers a call
 *
 * Prints "cancel_WHERE_p50|p99 value ms" lines.
 */
#include "mcp/host.h"
#include "mcp/rpc.h"
#include "model/model.h"
#include "os/clock.h"
#include "os/proc.h"
#include "os/thread.h"
#include "os/wait.h"
#include "tools/tools.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 60
#define BEFORE_MS 8 /* how long a wait has lasted when it is cancelled */

struct firing {
	struct cancel token;
	int64_t at_us;
	struct thread thread;
};

static void *fire_main(void *arg)
{
	struct firing *f = arg;

	(void)!wait_ms(BEFORE_MS, NULL, NULL);
	f->at_us = clock_mono_us();
	cancel_fire(&f->token, CANCEL_USER);
	return NULL;
}

static bool failed;

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

/* Wait, be cancelled, ROUNDS times. */
static void measure(const char *where, int (*wait)(void *arg, const struct cancel *c),
		    void *arg)
{
	int64_t us[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		struct firing f = { 0 };
		struct err e = { 0 };
		if (cancel_init(&f.token, NULL, 0, &e) < 0 ||
		    thread_start(&f.thread, "fire", fire_main, &f, &e) < 0)
			abort();
		int rc = wait(arg, &f.token);
		int64_t ended = clock_mono_us();
		thread_join(&f.thread);
		cancel_done(&f.token);
		if (rc != E_CANCELED) {
			(void)fprintf(stderr, "bench_cancel: %s ended by itself (%d)\n", where,
				      rc);
			failed = true;
			return;
		}
		us[i] = ended - f.at_us;
	}
	qsort(us, ROUNDS, sizeof *us, by_value);
	(void)printf("cancel_%s_p50 %.2f ms\n", where, (double)us[ROUNDS / 2] / 1000);
	(void)printf("cancel_%s_p99 %.2f ms\n", where, (double)us[ROUNDS * 99 / 100] / 1000);
	(void)fflush(stdout);
}

/* --- the model -------------------------------------------------------------------------- */

struct endpoint {
	struct http_pool *pool;
	struct model *model;
};

static int ask(void *arg, const struct cancel *c)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct endpoint *p = arg;
	struct model_msg msg = { .role = S("user"), .wire = model_user_wire(&a, S("hello")) };
	struct model_req req = { .msgs = &msg, .msgs_n = 1, .stream = true };
	struct model_reply reply;
	struct model_failure fail = { 0 };
	struct err e = { 0 };

	return model_complete(p->model, &req, &a, &reply, &fail, c, &e);
}

/* A listener; backlog 0 and nobody accepting makes later connects hang. */
static int listener(int *port, int backlog)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
	    listen(fd, backlog) != 0 || getsockname(fd, (struct sockaddr *)&at, &len) != 0)
		abort();
	*port = ntohs(at.sin_port);
	return fd;
}

static void fill_backlog(int port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port) };

	for (int i = 0; i < 4; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)!connect(fd, (struct sockaddr *)&at,
			       sizeof at); /* left open on purpose */
	}
}

static const char *head; /* what the stalling server says first */
static bool trickles; /* and then a byte now and then */

static void *stall_main(void *arg)
{
	for (;;) {
		char request[4096];
		int fd = accept4(*(int *)arg, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return NULL;
		(void)!read(fd, request, sizeof request);
		(void)!write(fd, head, strlen(head)); /* and not one byte more */
		while (trickles && send(fd, "x", 1, MSG_NOSIGNAL) == 1)
			(void)!wait_ms(2, NULL, NULL);
	}
}

static void bench_model(const char *where, str url)
{
	struct endpoint p = { 0 };
	struct err e = { 0 };
	struct model_cfg cfg = { .base_url = url,
				 .name = S("m"),
				 .no_key = true,
				 .connect_ms = 60000,
				 .first_token_ms = 60000,
				 .idle_ms = 60000,
				 .total_ms = 60000,
				 .response_max = 1 << 20 };

	if (http_pool_open(&p.pool, &(struct http_opt){ .user_agent = "bench" }, &e) < 0 ||
	    model_open(&p.model, &cfg, p.pool, &e) < 0)
		abort();
	measure(where, ask, &p);
	model_close(p.model);
	http_pool_close(p.pool);
}

/* --- a page ----------------------------------------------------------------------------- */

struct page {
	struct tools *tools;
	struct toolset set;
	str url;
};

static int fetch(void *arg, const struct cancel *c)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct page *p = arg;
	struct tool_ctx ctx = { 0 };
	struct call call = { .requested = S("web_fetch") };
	struct err e = { 0 };

	call.args = arena_fmt(&a, "{\"url\":\"%.*s\"}", STRF(p->url));
	const struct tool_spec *spec = tools_admit(p->tools, &p->set, &call, &a);
	return spec ? tools_run(p->tools, spec, &call, &ctx, &a, c, &e) : E_NOENT;
}

static void bench_page(const char *where, str host)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct page p = { .url = arena_fmt(&a, "http://%.*s/", STRF(host)) };
	const struct web_cfg web = { .enabled = true,
				     .timeout_ms = 60000,
				     .max_bytes = 1 << 20,
				     .allow_hosts = { &host, 1 } };
	struct err e = { 0 };

	if (tools_open(&p.tools, &(struct tools_opt){ .web = &web }, &e) < 0)
		abort();
	tools_snapshot(p.tools, &a, &p.set);
	measure(where, fetch, &p);
	tools_close(p.tools);
}

static void bench_stalls(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct thread server = { 0 };
	int port, fd = listener(&port, 0);

	fill_backlog(port);
	bench_model("connect", arena_fmt(&a, "http://127.0.0.1:%d/v1", port));
	bench_page("web_connect", arena_fmt(&a, "127.0.0.1:%d", port));
	close(fd);
	fd = listener(&port, 64);
	if (thread_start(&server, "stall", stall_main, &fd, NULL) < 0)
		abort();
	str url = arena_fmt(&a, "http://127.0.0.1:%d/v1", port);
	head = "";
	bench_model("first_token", url);
	head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	       "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
	bench_model("mid_stream", url);
	str host = arena_fmt(&a, "127.0.0.1:%d", port);
	head = "";
	bench_page("web_first_byte", host);
	head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nsome text";
	trickles = true;
	bench_page("web_body", host);
	(void)shutdown(fd, SHUT_RDWR);
	thread_join(&server);
	close(fd);
}

static void bench_dns(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(53) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0) {
		perror("bench_cancel: 127.0.0.1:53");
		failed = true;
		return;
	}
	bench_model("dns", S("http://nobody.gantry.test/v1"));
	bench_page("web_dns", S("nobody.gantry.test"));
	close(fd);
}

/* --- a tool server and a child ---------------------------------------------------------- */

static int call(void *arg, const struct cancel *c)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_result result;
	struct err e = { 0 };

	struct mcp_call what = { .server = S("hung"), .tool = S("hang"), .args = S("{}") };

	return mcp_host_call(arg, &what, &a, &result, c, &e);
}

static void bench_mcp(const char *self)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct env env = env_copy(&a, environ);
	struct config cfg = { .mcp = { .call_timeout_ms = 60000,
				       .start_timeout_ms = 10000,
				       .ping_interval_ms = 60000,
				       .line_max = 1 << 20 } };
	str arg = S("serve");
	struct mcp_server_cfg server = { .name = S("hung"),
					 .command = str_of(self),
					 .args = { &arg, 1 } };
	struct mcp_manifest manifest = { .servers = &server, .n = 1 };
	struct mcp_host_opt opt = { .config = &cfg, .env = &env };
	struct mcp_host *host;
	struct err e = { 0 };

	if (mcp_host_start(&host, &opt, &manifest, &e) < 0 ||
	    mcp_host_ready(host, clock_mono_ms() + 10000, NULL, &e) < 0)
		abort();
	measure("mcp_call", call, host);
	mcp_host_stop(host);
}

static int run_child(void *arg, const struct cancel *c)
{
	const char *argv[] = { "sleep", "60", NULL }, *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct proc_opt opt = { .argv = argv, .env = env };
	SCOPED(proc_drop) struct proc *p = NULL;
	struct err e = { 0 };
	int status, rc;

	(void)arg;
	/* To the end of the child, not only of the wait: closing kills and reaps. */
	if ((rc = proc_start(&p, &opt, c, &e)) < 0)
		return rc;
	return proc_wait(p, &status, 0, c, &e);
}

static int serve(void)
{
	static const char *const answers[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"protocolVersion\":\"2025-11-"
		"25\","
		"\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"h\",\"version\":"
		"\"1\"}}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"tools\":[{\"name\":\"hang\","
		"\"inputSchema\":{\"type\":\"object\"}}]}}\n",
	};
	char line[65536];

	while (fgets(line, sizeof line, stdin)) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct json *v;
		if (json_read(&v, &a, str_of(line), NULL) < 0)
			continue;
		str method = json_str(v, "method");
		int which = str_eq(method, S("initialize"))   ? 0
			    : str_eq(method, S("tools/list")) ? 1
							      : -1;
		if (which >= 0) {
			(void)printf(answers[which], (long long)json_i64(v, "id", 0));
			(void)fflush(stdout);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		return serve();
	if (spawner_start(&e) < 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "dns") == 0) {
		bench_dns();
	} else {
		bench_stalls();
		bench_mcp(argv[0]);
		measure("child", run_child, NULL);
	}
	spawner_stop();
	return failed;
}
