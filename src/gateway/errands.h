/*
 * gateway/errands: slash commands that ask the network, such as /auth, beside the thread of the
 * channel: that goes on reading, so /stop reaches them and nobody else waits for them.
 *
 * What was written may hold what is kept nowhere, such as the code of a sign-in.  So an
 * errand is no row: it lives in memory alone, and with the process.  Its answer is a
 * row of the outbox.
 *
 * Threads  errands_command() from the channel's thread, errands_end() from main once
 *          that is joined, the rest from any.  Those that do the work are there only
 *          while there is some.
 * Limits   ERRANDS_MAX at a time, of which ERRANDS_THREADS run; those of one address in order,
 *          one after the other.
 */
#ifndef GATEWAY_ERRANDS_H
#define GATEWAY_ERRANDS_H

#include "gateway/engine.h"
#include "os/thread.h"

#define ERRANDS_MAX 16
#define ERRANDS_THREADS 4

struct errands {
	struct engine *g;
	pthread_mutex_t lock; /* guards slot, busy and last */
	struct errand {
		enum { ERRAND_NONE, ERRAND_WAITS, ERRAND_RUNS } state;
		int64_t number; /* in the order they came */
		struct arena a; /* of the texts; its runner's, while it runs */
		str channel, address, sender, text;
		struct cancel token;
	} slot[ERRANDS_MAX];
	struct errand_thread {
		struct errands *of;
		struct thread thread;
		bool busy;
	} threads[ERRANDS_THREADS];
	int64_t last;
};

void errands_init(struct errands *x, struct engine *g);

/* As slash_command(), but for what is slow: that becomes an errand, with no *reply now, and
 * c is not for it; where it cannot, because there are too many, *reply says so. */
bool errands_command(struct errands *x, str channel, str address, str sender, str text,
		     struct arena *a, str *reply, const struct cancel *c);

/* Is one of the address under way?  Of any with "". */
bool errands_run(struct errands *x, str channel, str address);

/* End those of the address, which then answer nothing, but for what is in the outbox already. */
void errands_stop(struct errands *x, str channel, str address);

/* Once the engine's stop has fired: wait until each has answered, and tidy up. */
void errands_end(struct errands *x);

#endif
