/*
 * A turn's whole surroundings for tests: a real store, the real model client against a
 * scripted endpoint, the real gate over tools of our own, an approver with its answers given.
 */
#ifndef UNIT_AGENT_WORLD_H
#define UNIT_AGENT_WORLD_H

#include "store_world.h"

#include "agent/agent.h"
#include "base/buf.h"
#include "loopback.h"
#include "os/http.h"
#include "os/permit.h"
#include "os/wait.h"

/* Tools: "echo" gives its arguments back, "look" likewise and is safe to repeat, "bad" fails,
 * "wait" ends with its token, "first" waits until "second" has run, "stop" fires the token with
 * .why, "shell" takes a command line, "grow" gives 3000 characters, "odd" does what .on_odd does, "keep" likewise if there is
 * one and leaves an effect in the database, before which it does what .on_effect does. */
struct agent_world {
	struct world *w;
	struct config cfg;
	struct policy_rule rules[4];
	struct loopback lb;
	struct lb_step steps[80];
	size_t steps_n;
	bool served;
	struct http_pool *pool;
	struct model *model;
	struct tools *tools;
	struct tool_source source;
	const char *without; /* a tool that is not there */
	const char *only; /* NULL all; " echo look ": these alone */
	bool unsafe; /* "look" is no longer safe */
	bool none; /* no tool is there */
	struct agent *agent;
	struct cancel token;
	enum cancel_reason why;
	struct bell second;
	struct turn_io io;
	struct approver approver;
	const char *answers; /* y, n, and t for nobody in time; one a question */
	_Atomic int asked, ran;
	void (*on_odd)(void);
	int (*on_effect)(struct agent_world *k, struct err *e);
	_Atomic int effects; /* of "keep", begun */
	struct buf trace;
	struct permit *tracing;
	struct turn t;
	struct err e;
};

int agent_world_setup(void **state); /* *state is a struct agent_world */
int agent_world_teardown(void **state);

/* What the endpoint says next: "t:text", "r:reasoning" alone, "e:" nothing, "l:text" cut by the
 * length limit, "f:text" by the filter, "c:name {..}|name {..}" calls, "x:" too long for the
 * context, "4:why" refused, "5:why" the server is down, "h:" never answers. */
void aw_says(struct agent_world *k, const char *reply);
void aw_fires(struct agent_world *k); /* the endpoint reads a request and fires the token */

/* Start the endpoint and open the parts, once; aw_claim() does. */
void aw_open(struct agent_world *k);

/* Claim what is ready, with its user message. */
void aw_claim(struct agent_world *k);
void aw_hear(struct agent_world *k, const char *text); /* a message, claimed */
int aw_run(struct agent_world *k); /* the claimed turn */

/* After aw_run(): the i-th request's body, the last with -1.  Ends the endpoint. */
const char *aw_request(struct agent_world *k, int i);

str aw_state(struct agent_world *k); /* of the last claimed turn */
str aw_told(struct agent_world *k); /* what goes to the user, "" nothing */
void aw_has(const char *text, const char *part);
void aw_lacks(const char *text, const char *part);

#endif
