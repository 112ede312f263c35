/*
 * agent/replay: the requests of a finished turn made again from its rows, and compared with
 * what was sent.  Nothing is asked, run, delivered or written.
 *
 * Blocks   on reading the database and the turn's pictures.
 */
#ifndef AGENT_REPLAY_H
#define AGENT_REPLAY_H

#include "agent/agent.h"
#include "agent/sent.h"
#include "store/model_call.h"
#include "store/trace.h"

/* A request, made again. */
struct remade {
	const struct model_row *row;
	struct sent_record record;
	struct model_cfg cfg; /* what of it a request depends on */
	const struct model_tool *tools;
	size_t tools_n;
	const struct model_msg *msgs;
	size_t msgs_n;
	str body;
};

enum replay_state {
	REPLAY_SAME,
	REPLAY_DIFFERS, /* where says from which part on, and what stands there now */
	REPLAY_UNKNOWN, /* where says why it cannot be compared */
};

struct replay_request {
	enum replay_state state;
	str where;
	struct remade made; /* not of REPLAY_UNKNOWN */
};

struct replay {
	struct turn_found turn;
	struct replay_request *v;
	size_t n, same;
	struct message *rows; /* of the turn */
	size_t rows_n;
	struct call *calls;
	size_t calls_n;
};

/* A turn by its id or the beginning of one.  E_NOENT, E_INVAL. */
int replay_turn(struct replay *out, struct store *s, str id, struct arena *a,
		struct err *e) MUSTUSE;

#endif
