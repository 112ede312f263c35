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
		if (id.n ? s->token && str_eq(str_of(s->id), id) : !s->token)
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

int turns_running(struct turns *t)
{
	int n = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < TURNS_MAX; i++)
		n += t->slot[i].token != NULL;
	pthread_mutex_unlock(&t->lock);
	return n;
}
