/*
 * tests/fuzz/stage: where conversations are played.  Threads take turns on one, time passes
 * when it is told to, random bytes are the same each time, and what HTTP requests and children
 * are told is decided by the fuzzer: the same input is the same run.
 *
 * It stands in for os/seam, os/thread, os/http and os/proc, and for poll(2): a thread gives way
 * where it waits, and nowhere else.  A thread that would wait for ever, with all others, while
 * somebody joins it aborts; so does a lock that is held across a wait, by never ending.
 */
#ifndef FUZZ_STAGE_H
#define FUZZ_STAGE_H

#include "os/http.h"
#include "os/wait.h"

#include <stdlib.h>

/* A run begins with the fuzzer's bytes, and ends when no thread is left: else it aborts. */
void stage_begin(const uint8_t *data, size_t size);
void stage_end(void);

/* The bytes: 0 and "" once there are no more. */
bool stage_more(void);
unsigned stage_byte(void);
unsigned stage_below(unsigned n); /* a number below n */
str stage_text(size_t max); /* its length is a byte of its own */

/* Run every thread until each waits. */
void stage_settle(void);
/* Let time pass, and run who waits for it. */
void stage_pass(int64_t ms);
/* A wall clock that is set. */
void stage_set_clock(int64_t by_ms);

static inline void must(bool sound)
{
	if (!sound)
		abort();
}

/* --- HTTP: the requests that are open, oldest first --- */
struct stage_request {
	struct stage_request *next;
	const struct http_req *req;
	int64_t n; /* counts requests */
	struct bell bell;
	struct stage_news *first, *last;
	bool headed, ended; /* what was said so far */
};

struct stage_request *stage_requests(void);
bool stage_is_open(int64_t n);
/* Called when one begins; it may be answered at once, or be left for later. */
void stage_on_request(void (*fn)(void *arg, struct stage_request *r), void *arg);

struct stage_header {
	const char *name;
	str value;
};
/* n headers; the texts are copied. */
void stage_head(struct stage_request *r, int status, const struct stage_header *v, size_t n);
void stage_data(struct stage_request *r, str bytes);
void stage_close(struct stage_request *r);
void stage_answer(struct stage_request *r, int status, str body); /* all of it */
/* The connection ends; !sent: provably before anything was. */
void stage_fail(struct stage_request *r, int code, bool sent);

/* --- children --- */
struct stage_child {
	struct stage_child *next;
	int in, out, err; /* what it reads and writes; -1 when it was closed */
	bool hangs; /* it does not end by itself when it is asked to */
	bool over;
};
struct stage_child *stage_children(void); /* newest first, also those that ended */
void stage_on_child(void (*fn)(void *arg, struct stage_child *c), void *arg);
void stage_child_end(struct stage_child *c, int status);

#endif
