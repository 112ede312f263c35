/*
 * cli/tidy: what a daemon's system worker does (folding old turns into a summary, consolidating
 * memory, shortening notes), for a command that runs turns where no daemon is.  It is done beside
 * the person, between turns, and never in the way of one.
 *
 * Threads  one of its own between start and stop; the functions from one thread.
 */
#ifndef CLI_TIDY_H
#define CLI_TIDY_H

#include "gateway/engine.h"
#include "os/thread.h"

struct tidy {
	struct engine *g;
	const struct cancel *leave; /* ends it, too */
	/* Private. */
	struct thread thread;
	struct cancel stop;
	struct bell done;
};

/* Begin, when something is due and no daemon runs.  Whatever fails is tried another time. */
void tidy_start(struct tidy *t);

/* End it, put down unfinished; nothing where none runs. */
void tidy_stop(struct tidy *t);

/* Begin and let it come to its end, for at most so long; say what is waited for on standard
 * error after a moment, when told to.  Then stop it. */
void tidy_finish(struct tidy *t, int64_t most_ms, bool say);

#endif
