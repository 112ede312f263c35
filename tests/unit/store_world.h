/*
 * A database of its own in a directory of its own, and the few steps every test of the
 * store begins with.  Each helper fails the test when the step does.
 */
#ifndef UNIT_STORE_WORLD_H
#define UNIT_STORE_WORLD_H

#include "store/inbox.h"
#include "store/outbox.h"
#include "store/state.h"
#include "store/turn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct world {
	struct arena a;
	char dir[64];
	struct store_cfg cfg;
	struct store *s;
	struct err e;
};

/* For cmocka's setup and teardown; *state is a struct world with an open daemon store. */
int world_setup(void **state);
int world_teardown(void **state);

/* The same without a store: a directory and a configuration. */
int world_setup_closed(void **state);

struct store *world_open(struct world *w, enum store_mode mode);
void world_reopen(struct world *w, enum store_mode mode);
const char *world_path(struct world *w, const char *name); /* in the directory */

#define ok(w, call) assert_ok((w), (call), __FILE__, __LINE__)
void assert_ok(struct world *w, int rc, const char *file, int line);

/* One number, or one text, of a query on a connection of its own. */
int64_t world_i64(struct world *w, const char *sql);
str world_text(struct world *w, const char *sql);
void world_sql(struct world *w, const char *sql); /* any statements */

struct tx world_begin(struct world *w);
void world_commit(struct world *w, struct tx *tx);

/* A ready row at (channel "test", address). */
int64_t world_add(struct world *w, const char *address, const char *text);
int64_t world_add_owned(struct world *w, const char *address, const char *text, str owner);

/* Claim, and for a new turn its user message; committed. */
struct turn world_claim(struct world *w);
struct turn world_claim_in(struct world *w, struct store *s, str only);

/* Is there anything to claim? */
bool world_idle(struct world *w);

/* A call of round with an id that is round and index; state and safe as given. */
struct call world_call(int64_t round, int64_t index, enum call_state state, bool safe);
void world_step(struct world *w, const struct turn *t, int64_t round, const struct call *calls,
		size_t n);
int world_finish_as(struct world *w, const struct turn *t, struct turn_finish f);
void world_finish(struct world *w, const struct turn *t); /* done, "answer" */

/* A whole turn: row, claim, a step with n finished calls, answer. */
void world_turn(struct world *w, const char *address, const char *text, size_t n);

/* No gap, no call without its result in a finished turn, sound pages. */
void world_check(struct world *w);

#endif
