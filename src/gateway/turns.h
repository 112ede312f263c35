/*
 * gateway/turns: which turns run here, and the token of each: the only way to end one from
 * another thread.
 *
 * Threads  any.  A token is left before its frame dies.
 */
#ifndef GATEWAY_TURNS_H
#define GATEWAY_TURNS_H

#include "os/cancel.h"
#include "os/clock.h"
#include "os/wait.h"
#include "base/str.h"

#include <pthread.h>

#define TURNS_MAX 64

struct turns {
	pthread_mutex_t lock; /* guards slot and waits */
	struct turn_slot {
		char id[ID_LEN + 1];
		struct cancel *token; /* NULL: it does not run */
		struct cancel *request; /* of its request to the model, NULL none */
		bool lost;
	} slot[TURNS_MAX];
	struct {
		char id[ID_LEN + 1];
		const struct bell *bell; /* NULL: nobody waits here */
	} waits[TURNS_MAX];
};

void turns_init(struct turns *t);
void turns_done(struct turns *t);

/* False when all slots are taken. */
bool turns_enter(struct turns *t, str id, struct cancel *token);
void turns_leave(struct turns *t, str id);

/* Fire the turn's token; false when it does not run here. */
bool turns_fire(struct turns *t, str id, enum cancel_reason why);

/* The token of the request to the model that the turn is making, NULL none: a follow-up that
 * joins the turn ends it. */
void turns_request(struct turns *t, str id, struct cancel *token);
void turns_steer(struct turns *t, str id);

/* Ring the bell when an answer may be there that a thread of the turn waits for (waits), or no
 * more: before the bell dies.  False: there is no room. */
bool turns_waiting(struct turns *t, str id, const struct bell *bell, bool waits);
/* One may be there; of any turn with "". */
void turns_answered(struct turns *t, str id);

/* Fire all of them. */
void turns_fire_all(struct turns *t, enum cancel_reason why);

/* Turns that could be neither ended nor given back, because the database failed in the middle:
 * they are remembered, in place of turns_leave(), until somebody takes them to try again. */
void turns_lose(struct turns *t, str id);
bool turns_take_lost(struct turns *t, char id[ID_LEN + 1]);

int turns_running(struct turns *t);

#endif
