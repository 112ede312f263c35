/*
 * The registry of running turns.
 */
#include "gateway/turns.h"

#include <string.h>

void turns_init(struct turns *t)
{
	memset(t, 0, sizeof *t);
	(void)pthread_mutex_init(&t->lock, NULL);
}

void turns_done(struct turns *t)
{
	(void)pthread_mutex_destroy(&t->lock);
}

/* The slot of id, or a free one for the empty id; under the lock. */
static struct turn_slot *find(struct turns *t, str id)
{
	for (size_t i = 0; i < TURNS_MAX; i++) {
		struct turn_slot *s = &t->slot[i];
		if (id.n ? s->token && str_eq(str_of(s->id), id) : !s->token && !s->lost)
			return s;
	}
	return NULL;
}

bool turns_enter(struct turns *t, str id, struct cancel *token)
{
	pthread_mutex_lock(&t->lock);
	struct turn_slot *s = id.n <= ID_LEN ? find(t, (str){ 0 }) : NULL;
	if (s) {
		memcpy(s->id, id.p, id.n);
		s->id[id.n] = '\0';
		s->token = token;
		s->request = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	return s != NULL;
}

void turns_leave(struct turns *t, str id)
{
	pthread_mutex_lock(&t->lock);
	struct turn_slot *s = find(t, id);
	if (s)
		s->token = NULL;
	pthread_mutex_unlock(&t->lock);
}

bool turns_fire(struct turns *t, str id, enum cancel_reason why)
{
	pthread_mutex_lock(&t->lock);
	struct turn_slot *s = id.n ? find(t, id) : NULL;
	if (s)
		cancel_fire(s->token, why);
	pthread_mutex_unlock(&t->lock);
	return s != NULL;
}

void turns_request(struct turns *t, str id, struct cancel *token)
{
	pthread_mutex_lock(&t->lock);
	struct turn_slot *s = id.n ? find(t, id) : NULL;
	if (s)
		s->request = token;
	pthread_mutex_unlock(&t->lock);
}

void turns_steer(struct turns *t, str id)
{
	pthread_mutex_lock(&t->lock);
	struct turn_slot *s = id.n ? find(t, id) : NULL;
	if (s && s->request)
		cancel_fire(s->request, CANCEL_USER);
	pthread_mutex_unlock(&t->lock);
}

bool turns_waiting(struct turns *t, str id, const struct bell *bell, bool waits)
{
	const struct bell *at = waits ? NULL : bell;
	bool done = false;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < TURNS_MAX && !done && id.n <= ID_LEN; i++) {
		if (t->waits[i].bell != at)
			continue;
		memcpy(t->waits[i].id, id.p, id.n);
		t->waits[i].id[id.n] = '\0';
		t->waits[i].bell = waits ? bell : NULL;
		done = true;
	}
	pthread_mutex_unlock(&t->lock);
	return done;
}

void turns_answered(struct turns *t, str id)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < TURNS_MAX; i++)
		if (t->waits[i].bell && (!id.n || str_eq(str_of(t->waits[i].id), id)))
			bell_ring(t->waits[i].bell);
	pthread_mutex_unlock(&t->lock);
}

void turns_fire_all(struct turns *t, enum cancel_reason why)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < TURNS_MAX; i++)
		if (t->slot[i].token)
			cancel_fire(t->slot[i].token, why);
	pthread_mutex_unlock(&t->lock);
}

void turns_lose(struct turns *t, str id)
{
	pthread_mutex_lock(&t->lock);
	struct turn_slot *s = find(t, id);
	if (!s && (s = find(t, (str){ 0 }))) {
		memcpy(s->id, id.p, id.n);
		s->id[id.n] = '\0';
	}
	if (s) {
		s->token = NULL;
		s->lost = true;
	}
	pthread_mutex_unlock(&t->lock);
}

bool turns_take_lost(struct turns *t, char id[ID_LEN + 1])
{
	bool found = false;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < TURNS_MAX && !found; i++) {
		if (!t->slot[i].lost)
			continue;
		t->slot[i].lost = false;
		memcpy(id, t->slot[i].id, ID_LEN + 1);
		found = true;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

int turns_running(struct turns *t)
{
	int n = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < TURNS_MAX; i++)
		n += t->slot[i].token != NULL;
	pthread_mutex_unlock(&t->lock);
	return n;
}
