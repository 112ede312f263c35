/*
 * A model for measuring: answers chat completions at once and stamps, on the monotonic clock,
 * when each request was complete and when its answer was written.
 *
 *	fake_model [tool-name]
 *
 * Prints "port N", then "req ARRIVED_US DEPARTED_US BYTES" per request.  A last user message
 * that holds "tools=N" is answered with N parallel calls of tool-name, results with text.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNS 64
#define BODY_MAX (16 << 20)

struct conn {
	int fd;
	char *buf;
	size_t n, cap;
};

static struct conn conns[CONNS];
static const char *tool = "echo__echo";

static long long now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static char *last(char *text, const char *what)
{
	char *found = NULL;

	for (char *at = text; (at = strstr(at, what)); at++)
		found = at;
	return found;
}

/* How many calls this request is to be answered with. */
static int calls_wanted(char *body)
{
	char *user = last(body, "\"role\":\"user\""), *result = last(body, "\"role\":\"tool\"");
	int n = 0;

	if (!user || (result && result > user))
		return 0;
	char *at = strstr(user, "tools=");
	if (at && sscanf(at, "tools=%d", &n) != 1)
		n = 0;
	return n;
}

static size_t add_calls(char *out, size_t max, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(
			out + len, max - len,
			"%s{\"index\":%d,\"id\":\"call%05d\",\"type\":\"function\","
			"\"function\":{\"name\":\"%s\",\"arguments\":"
			"\"{\\\"text\\\":\\\"hello %d\\\"}\"}}",
			i ? "," : "", i, i, tool, i);
	return len;
}

static size_t answer(char *out, size_t max, char *body)
{
	static char calls[65536], content[70000];
	int n = calls_wanted(body);
	bool stream = strstr(body, "\"stream\":true") != NULL;
	const char *finish = n ? "tool_calls" : "stop";

	if (n) {
		(void)add_calls(calls, sizeof calls, n);
		(void)snprintf(content, sizeof content,
			       "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[%s]}",
			       calls);
	} else {
		(void)snprintf(content, sizeof content,
			       "{\"role\":\"assistant\",\"content\":\"A short answer of some "
			       "words.\"}");
	}
	static char payload[80000];
	int len;
	if (stream)
		len = snprintf(
			payload, sizeof payload,
			"data: "
			"{\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":\"%s\"}],"
			"\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,"
			"\"total_tokens\":15}}\n\ndata: [DONE]\n\n",
			content, finish);
	else
		len = snprintf(
			payload, sizeof payload,
			"{\"choices\":[{\"index\":0,\"message\":%s,\"finish_reason\":\"%s\"}],"
			"\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,"
			"\"total_tokens\":15}}",
			content, finish);
	return (size_t)snprintf(
		out, max, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		stream ? "text/event-stream" : "application/json", len, payload);
}

/* The length of a complete request at the start of the buffer, 0 when more is to come. */
static size_t complete(struct conn *c, char **body)
{
	c->buf[c->n] = '\0';
	char *end = strstr(c->buf, "\r\n\r\n");
	if (!end)
		return 0;
	char *length = strcasestr(c->buf, "content-length:");
	size_t want = length && length < end ? (size_t)strtoull(length + 15, NULL, 10) : 0;
	*body = end + 4;
	size_t total = (size_t)(*body - c->buf) + want;
	return c->n >= total ? total : 0;
}

static void drop(struct conn *c)
{
	close(c->fd);
	free(c->buf);
	*c = (struct conn){ .fd = -1 };
}

static void serve(struct conn *c)
{
	static char out[100000];
	char *body;

	if (c->cap - c->n < 65536) {
		c->cap = c->cap ? c->cap * 2 : 262144;
		c->buf = c->cap <= BODY_MAX ? realloc(c->buf, c->cap) : NULL;
		if (!c->buf)
			abort();
	}
	ssize_t got = read(c->fd, c->buf + c->n, c->cap - c->n - 1);
	if (got <= 0) {
		drop(c);
		return;
	}
	c->n += (size_t)got;
	if (strncmp(c->buf, "POST", 4) == 0 && c->n < 2000 &&
	    strcasestr(c->buf, "expect: 100") && strstr(c->buf, "\r\n\r\n"))
		(void)!write(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	size_t total = complete(c, &body);
	if (total == 0)
		return;
	long long arrived = now_us();
	char keep = c->buf[total];
	c->buf[total] = '\0';
	size_t len = answer(out, sizeof out, body);
	c->buf[total] = keep;
	for (size_t at = 0; at < len;) {
		ssize_t put = write(c->fd, out + at, len - at);
		if (put < 0) {
			drop(c);
			return;
		}
		at += (size_t)put;
	}
	(void)printf("req %lld %lld %zu\n", arrived, now_us(), total);
	(void)fflush(stdout);
	memmove(c->buf, c->buf + total, c->n - total);
	c->n -= total;
}

static void greet(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < CONNS; i++) {
		if (conns[i].fd >= 0)
			continue;
		conns[i].fd = fd;
		return;
	}
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc > 1)
		tool = argv[1];
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < CONNS; i++)
		conns[i].fd = -1;
	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 ||
	    listen(listener, 64) != 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &len) != 0) {
		perror("fake_model");
		return 1;
	}
	(void)printf("port %d\n", ntohs(at.sin_port));
	(void)fflush(stdout);
	for (;;) {
		struct pollfd p[CONNS + 1] = { { .fd = listener, .events = POLLIN } };
		for (int i = 0; i < CONNS; i++)
			p[i + 1] = (struct pollfd){ .fd = conns[i].fd, .events = POLLIN };
		if (poll(p, CONNS + 1, -1) < 0 && errno != EINTR)
			return 1;
		for (int i = 0; i < CONNS; i++)
			if (p[i + 1].revents)
				serve(&conns[i]);
		if (p[0].revents)
			greet(listener);
	}
}
