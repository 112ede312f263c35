/*
 * The scripted server of the HTTP and model tests.
 */
#include "loopback.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX (4 << 20)

/* Wait for events on fd; false when the server is to stop. */
static bool ready(struct loopback *s, int fd, short events)
{
	struct pollfd p[2] = { { s->stop_fd, POLLIN, 0 }, { fd, events, 0 } };

	while (poll(p, 2, -1) < 0)
		assert(errno == EINTR);
	return !p[0].revents;
}

static int accept_one(struct loopback *s)
{
	int on = 1, fd;

	if (!ready(s, s->listen_fd, POLLIN))
		return -1;
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert(fd >= 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	s->connections++;
	return fd;
}

static size_t body_length(const char *head)
{
	const char *p = strcasestr(head, "\r\ncontent-length:");

	return p ? (size_t)strtoul(p + 17, NULL, 10) : 0;
}

/* One request; false when the peer closed or the server stops. */
static bool read_request(struct loopback *s, int fd)
{
	char *text = calloc(1, REQUEST_MAX);
	size_t n = 0;

	for (;;) {
		const char *end = strstr(text, "\r\n\r\n");
		if (end && n >= (size_t)(end + 4 - text) + body_length(text))
			break;
		assert(n < REQUEST_MAX - 1);
		ssize_t got = -1;
		if (ready(s, fd, POLLIN))
			got = read(fd, text + n, REQUEST_MAX - 1 - n);
		if (got <= 0) {
			free(text);
			return false;
		}
		n += (size_t)got;
	}
	assert(s->requests < LB_REQUESTS_MAX);
	s->request[s->requests] = realloc(text, n + 1);
	s->requests++;
	return true;
}

static bool send_all(struct loopback *s, int fd, const char *p, size_t n, size_t piece)
{
	while (n) {
		if (!ready(s, fd, POLLOUT))
			return false;
		ssize_t sent = send(fd, p, n < piece ? n : piece, MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN)
			continue;
		if (sent <= 0)
			return false;
		p += sent;
		n -= (size_t)sent;
	}
	return true;
}

static void hold(struct loopback *s, int fd)
{
	char sink[4096];

	while (ready(s, fd, POLLIN) && read(fd, sink, sizeof sink) > 0)
		;
}

static void drop(int *fd, bool reset)
{
	struct linger now = { 1, 0 };

	if (*fd < 0)
		return;
	if (reset)
		setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(*fd);
	*fd = -1;
}

static void ring(int fd)
{
	uint64_t one = 1;

	assert(write(fd, &one, sizeof one) == sizeof one);
}

static void step(struct loopback *s, const struct lb_step *t, int *fd)
{
	size_t n = t->n || !t->data ? t->n : strlen(t->data);

	if (*fd < 0 && t->op != LB_RING && t->op != LB_FIRE && t->op != LB_CLOSE &&
	    t->op != LB_PAUSE)
		*fd = accept_one(s);
	switch (t->op) {
	case LB_END:
	case LB_ACCEPT:
		break;
	case LB_READ:
		if (*fd >= 0 && !read_request(s, *fd))
			drop(fd, false);
		break;
	case LB_SEND:
		(void)(*fd >= 0 && send_all(s, *fd, t->data, n, n));
		break;
	case LB_DRIP:
		(void)(*fd >= 0 && send_all(s, *fd, t->data, n, 1));
		break;
	case LB_FLOOD:
		while (*fd >= 0 && send_all(s, *fd, t->data, n, n))
			;
		break;
	case LB_HOLD:
		if (*fd >= 0)
			hold(s, *fd);
		break;
	case LB_CLOSE:
	case LB_RESET:
		drop(fd, t->op == LB_RESET);
		break;
	case LB_FIRE:
		cancel_fire(s->token, CANCEL_USER);
		break;
	case LB_RING:
		ring(s->ring_fd);
		break;
	case LB_PAUSE:
		(void)poll(NULL, 0, 30);
		break;
	}
}

static void *serve(void *arg)
{
	struct loopback *s = arg;
	int fd = -1;

	for (const struct lb_step *t = s->steps; t->op != LB_END; t++)
		step(s, t, &fd);
	drop(&fd, false);
	return NULL;
}

void lb_start(struct loopback *s, const struct lb_step *steps, struct cancel *token)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof at;

	*s = (struct loopback){ .steps = steps, .token = token };
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	s->ring_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(s->stop_fd >= 0 && s->ring_fd >= 0 && s->listen_fd >= 0);
	assert(bind(s->listen_fd, (struct sockaddr *)&at, n) == 0);
	assert(listen(s->listen_fd, 8) == 0);
	assert(getsockname(s->listen_fd, (struct sockaddr *)&at, &n) == 0);
	s->port = ntohs(at.sin_port);
	assert(pthread_create(&s->thread, NULL, serve, s) == 0);
}

void lb_wait(struct loopback *s)
{
	uint64_t n;

	assert(read(s->ring_fd, &n, sizeof n) == sizeof n);
}

void lb_stop(struct loopback *s)
{
	ring(s->stop_fd);
	pthread_join(s->thread, NULL);
	close(s->listen_fd);
	close(s->stop_fd);
	close(s->ring_fd);
}

void lb_free(struct loopback *s)
{
	for (int i = 0; i < s->requests; i++)
		free(s->request[i]);
}

str lb_url(const struct loopback *s, struct arena *a, const char *path)
{
	return arena_fmt(a, "http://127.0.0.1:%d%s", s->port, path);
}
