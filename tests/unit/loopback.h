/*
 * A scripted HTTP server for tests: one thread, one connection at a time, on 127.0.0.1.
 *
 * The steps are done in order.  LB_READ accepts a connection when there is none, and reads
 * one whole request (with its Content-Length).  Every wait of the server also ends with
 * lb_stop(), so that no test can hang in it.
 */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

#include "base/arena.h"
#include "os/cancel.h"

#include <pthread.h>
#include <stdatomic.h>

enum lb_op {
	LB_END, /* close what is open and finish */
	LB_ACCEPT,
	LB_READ,
	LB_SEND, /* data, in one write */
	LB_DRIP, /* data, a byte a write */
	LB_FLOOD, /* data again and again until the peer closes */
	LB_HOLD, /* until the peer closes */
	LB_CLOSE,
	LB_RESET, /* close with RST */
	LB_FIRE, /* cancel the token of the server with CANCEL_USER */
	LB_RING, /* wake lb_wait() */
	LB_PAUSE, /* 30 ms, for the client to fall asleep in its wait */
};

struct lb_step {
	enum lb_op op;
	const char *data;
	size_t n; /* 0: strlen(data) */
};

#define LB_REQUESTS_MAX 16

struct loopback {
	int listen_fd, stop_fd, ring_fd, port;
	pthread_t thread;
	const struct lb_step *steps;
	struct cancel *token; /* for LB_FIRE */
	atomic_int connections, requests;
	/* Head and body of each request; read them after lb_stop(). */
	char *request[LB_REQUESTS_MAX];
};

void lb_start(struct loopback *s, const struct lb_step *steps, struct cancel *token);
void lb_wait(struct loopback *s); /* until LB_RING */
void lb_stop(struct loopback *s); /* joins; the requests stay */
void lb_free(struct loopback *s);
str lb_url(const struct loopback *s, struct arena *a, const char *path);

#endif
