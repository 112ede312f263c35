/*
 * agent/agent: what every turn shares: the store, the model, the tools, the persona, and a
 * ring of recent turns for /perf.
 *
 * Threads  agent_turn_run() and the slash commands from any thread, many at once; open,
 *          reload and close from one.
 * Owns     the snapshot of persona and configuration (counted: running turns keep theirs).
 *          The handles in opt are borrowed.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "mcp/host.h"
#include "model/model.h"
#include "os/wait.h"
#include "sched/zone.h"
#include "store/turn.h"
#include "tools/tools.h"

/* What a turn shows while it works; ephemeral.  All may be NULL. */
struct turn_io {
	void *arg;
	void (*on_text)(void *arg, str answer_so_far); /* the turn's thread */
	void (*on_trace)(void *arg, str line); /* any thread */
	void (*on_slow)(void *arg, str line); /* the turn's thread: a call takes long */
	void (*on_outbox)(void *arg); /* a row was added before the turn's end */
	void (*on_full)(void *arg); /* any thread: it waits for room on the disk */
	struct approver *approver;
	/* Follow-ups join the turn: told with which token a request to the model can be ended
	 * for one, and with NULL that it is over.  NULL: they wait for the turn's end. */
	void (*on_request)(void *arg, struct cancel *token);
	/* A thread of the turn waits for the answer to a row: ring the bell when there may be one
	 * (waits), or no more.  False: nobody will. */
	bool (*on_waiting)(void *arg, const struct bell *bell, bool waits);
	bool parks; /* questions are rows, and the turn is parked until they are answered */
};

struct agent_opt {
	const struct config *cfg;
	struct store *store;
	struct model *model; /* NULL for commands that ask no model */
	struct model *classifier; /* of commands, in mode auto; else NULL */
	struct tools *tools;
	struct mcp_host *host; /* NULL when there are no servers */
	const struct env *env; /* for signing in to them; NULL: nobody can */
};

struct agent;

int agent_open(struct agent **out, const struct agent_opt *opt, struct err *e) MUSTUSE;
void agent_close(struct agent *ag);

/* In two steps, so that nothing changes when another part cannot follow: read the persona
 * again, then use it and cfg for later turns (cfg is freed with the last turn that uses it).
 * What was begun is dropped or taken. */
struct agent_reload {
	struct snapshot *fresh; /* NULL none */
};
int agent_reload_begin(struct agent_reload *r, const struct config *cfg, struct err *e) MUSTUSE;
void agent_reload_drop(struct agent_reload *r);
void agent_reload_take(struct agent *ag, struct agent_reload *r, struct config *cfg);

/* Run a claimed turn to its end: answer and outbox row (kind reply) are committed.  OK: the
 * turn is finished, whatever became of it, or parked (an answer makes it ready, to be claimed
 * again).  E_CANCELED: shutdown; it was released and will be resumed.  Other codes: it could
 * not be ended because the database failed; the rows say how far it came, and it is still
 * running here until store_turn_release(). */
int agent_turn_run(struct agent *ag, const struct turn *t, const struct turn_io *io,
		   const struct cancel *c, struct err *e) MUSTUSE;

/* The user message of a new turn, to be added in the claim's transaction. */
int agent_turn_begin(struct agent *ag, struct tx *tx, const struct turn *t,
		     const struct zone *zone, struct arena *a, struct err *e) MUSTUSE;

/* The zone of the person and of schedules, as its file is now; to be read before the
 * transaction. */
const struct zone *agent_zone(struct agent *ag, struct arena *a);

#endif
