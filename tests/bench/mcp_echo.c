/*
 * The smallest MCP server that is one: a single tool, echo{text}, answered from a loop over
 * stdin, or with --http over Streamable HTTP on 127.0.0.1, where it prints "port N" first.  The
 * benches use it, so that what they measure is the client.
 */
#include "base/buf.h"
#include "mcp/rpc.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX ((size_t)16 << 20)
#define CONNS 32
#define REQUEST_MAX 65536

static void answer(struct arena *a, struct buf *out, const struct mcp_msg *m)
{
	const struct json *args = json_get(m->params, "arguments");
	struct buf b = buf_in(a, MESSAGE_MAX);

	if (str_eq(m->method, S("initialize"))) {
		buf_add(&b, S("{\"protocolVersion\":"));
		buf_json(&b, json_str(m->params, "protocolVersion"));
		buf_add(&b, S(",\"capabilities\":{\"tools\":{}},"
			      "\"serverInfo\":{\"name\":\"mcp_echo\",\"version\":\"1\"}}"));
	} else if (str_eq(m->method, S("tools/list"))) {
		buf_add(&b,
			S("{\"tools\":[{\"name\":\"echo\",\"description\":\"Return the text.\","
			  "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":"
			  "{\"type\":\"string\"}},\"required\":[\"text\"]},"
			  "\"annotations\":{\"readOnlyHint\":true}}]}"));
	} else if (str_eq(m->method, S("tools/call"))) {
		buf_add(&b, S("{\"content\":[{\"type\":\"text\",\"text\":"));
		buf_json(&b, json_str(args, "text"));
		buf_add(&b, S("}]}"));
	} else if (str_eq(m->method, S("ping"))) {
		buf_add(&b, S("{}"));
	} else {
		mcp_rpc_refuse(out, m->id, -32601, S("no such method"));
		return;
	}
	mcp_rpc_answer(out, m->id, buf_str(&b));
}

static bool put(int fd, str s)
{
	while (s.n) {
		ssize_t n = write(fd, s.p, s.n);

		if (n <= 0)
			return false;
		s = str_sub(s, (size_t)n, s.n);
	}
	return true;
}

static bool take(struct mcp_line *line)
{
	struct buf out = buf_in(&line->a, 2 * MESSAGE_MAX);
	struct mcp_msg m;
	bool fine;

	mcp_rpc_read(&m, &line->a, line->text);
	if (m.kind == MCP_REQUEST)
		answer(&line->a, &out, &m);
	fine = put(STDOUT_FILENO, buf_str(&out));
	arena_free(&line->a);
	return fine;
}

static int over_stdio(void)
{
	static char chunk[65536];
	struct mcp_lines lines;
	ssize_t n;

	mcp_lines_init(&lines, MESSAGE_MAX);
	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0) {
		str rest = { chunk, (size_t)n };
		struct mcp_line line;

		while (mcp_lines_take(&lines, &rest, &line))
			if (!take(&line))
				return 1;
	}
	mcp_lines_done(&lines);
	return 0;
}

struct conn {
	int fd;
	char b[REQUEST_MAX + 1];
	size_t n;
};

static bool respond(int fd, str body, bool post)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf out = buf_in(&a, 2 * MESSAGE_MAX), head = buf_in(&a, 2 * MESSAGE_MAX);
	struct mcp_msg m = { .kind = MCP_FOREIGN };

	if (post)
		mcp_rpc_read(&m, &a, body);
	if (m.kind == MCP_REQUEST) {
		answer(&a, &out, &m);
		buf_fmt(&head,
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			"Content-Length: %zu\r\n\r\n",
			out.n);
		buf_add(&head, buf_str(&out));
	} else {
		buf_fmt(&head, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n",
			post ? "202 Accepted" : "405 Method Not Allowed");
	}
	return put(fd, buf_str(&head));
}

/* All whole requests of what has come.  False: the connection is over. */
static bool hear(struct conn *c)
{
	ssize_t got = read(c->fd, c->b + c->n, REQUEST_MAX - c->n);

	if (got <= 0)
		return false;
	c->n += (size_t)got;
	for (;;) {
		c->b[c->n] = '\0';
		char *end = strstr(c->b, "\r\n\r\n"), *length;
		int64_t want = 0;
		if (!end)
			return c->n < REQUEST_MAX;
		length = strcasestr(c->b, "\r\ncontent-length:");
		if (length && length < end) {
			str rest = str_of(length + 17);
			(void)str_i64(str_trim(str_cut(&rest, '\r')), &want);
		}
		size_t head = (size_t)(end + 4 - c->b), all = head + (size_t)want;
		if (all > c->n)
			return all <= REQUEST_MAX;
		if (!respond(c->fd, (str){ c->b + head, (size_t)want }, c->b[0] == 'P'))
			return false;
		c->n -= all;
		memmove(c->b, c->b + all, c->n);
	}
}

static int listening(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(fd, CONNS) < 0 || getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		return -1;
	(void)printf("port %d\n", ntohs(at.sin_port));
	(void)fflush(stdout);
	return fd;
}

static int over_http(void)
{
	static struct conn conns[CONNS];
	struct pollfd fds[CONNS + 1];
	int door = listening(), one = 1;

	for (size_t i = 0; i < CONNS; i++)
		conns[i].fd = -1;
	while (door >= 0) {
		fds[CONNS] = (struct pollfd){ .fd = door, .events = POLLIN };
		for (size_t i = 0; i < CONNS; i++)
			fds[i] = (struct pollfd){ .fd = conns[i].fd, .events = POLLIN };
		if (poll(fds, CONNS + 1, -1) < 0)
			return 1;
		for (size_t i = 0; i < CONNS; i++) {
			if (fds[i].revents && !hear(&conns[i])) {
				(void)close(conns[i].fd);
				conns[i].fd = -1;
			}
		}
		for (size_t i = 0; fds[CONNS].revents && i < CONNS; i++) {
			if (conns[i].fd >= 0)
				continue;
			conns[i].fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
			conns[i].n = 0;
			(void)setsockopt(conns[i].fd, IPPROTO_TCP, TCP_NODELAY, &one,
					 sizeof one);
			break;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "--http") == 0 ? over_http() : over_stdio();
}
