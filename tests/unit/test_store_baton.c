/* The baton: handed over in the order of asking, given up cleanly by who leaves. */
#include "store/baton.h"

#include "os/clock.h"
#include "os/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 20
#define ROUNDS 200

struct taker {
	struct baton *b;
	struct thread t;
	const struct cancel *c;
	int rc, order;
	_Atomic int tid;
};

static _Atomic int next_order;
static int counter; /* guarded by the baton alone */

static void *take_once(void *arg)
{
	struct taker *me = arg;

	me->tid = gettid();
	me->rc = baton_take(me->b, 0, me->c, NULL);
	if (me->rc == OK) {
		me->order = atomic_fetch_add(&next_order, 1);
		baton_pass(me->b);
	}
	return NULL;
}

/* Does the kernel say that the thread sleeps?  It does so nowhere but in the queue. */
static bool sleeps(int tid)
{
	char path[64], line[256] = "";

	(void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(line, 1, sizeof line - 1, f);
	(void)fclose(f);
	line[n] = '\0';
	const char *end = strrchr(line, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

static void queue_up(struct taker *t, struct baton *b)
{
	t->b = b;
	assert_int_equal(OK, thread_start(&t->t, "taker", take_once, t, NULL));
	while (!t->tid || !sleeps(t->tid))
		continue;
}

static void it_is_handed_on_in_the_order_of_asking(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct baton *b = baton_new(&a);
	struct taker takers[THREADS] = { 0 };

	next_order = 0;
	assert_int_equal(OK, baton_take(b, 0, NULL, NULL));
	for (int i = 0; i < THREADS; i++)
		queue_up(&takers[i], b);
	baton_pass(b);
	for (int i = 0; i < THREADS; i++) {
		thread_join(&takers[i].t);
		assert_int_equal(OK, takers[i].rc);
		assert_int_equal(i, takers[i].order);
	}
	baton_free(b);
}

static void who_leaves_the_queue_is_passed_over(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct baton *b = baton_new(&a);
	struct taker takers[5] = { 0 };
	static const int leaver[] = { 0, 2, 4 }; /* first, middle, last */
	struct cancel c;

	next_order = 0;
	assert_int_equal(OK, cancel_init(&c, NULL, 0, NULL));
	assert_int_equal(OK, baton_take(b, 0, NULL, NULL));
	for (int i = 0; i < 5; i++) {
		takers[i].c = i % 2 == 0 ? &c : NULL;
		queue_up(&takers[i], b);
	}
	cancel_fire(&c, CANCEL_USER);
	for (size_t i = 0; i < COUNT(leaver); i++) {
		thread_join(&takers[leaver[i]].t);
		assert_int_equal(E_CANCELED, takers[leaver[i]].rc);
	}
	baton_pass(b);
	for (int i = 1; i < 5; i += 2) {
		thread_join(&takers[i].t);
		assert_int_equal(OK, takers[i].rc);
		assert_int_equal(i / 2, takers[i].order);
	}
	assert_int_equal(OK, baton_take(b, 0, NULL, NULL));
	baton_pass(b);
	cancel_done(&c);
	baton_free(b);
}

static void a_baton_handed_to_one_who_gave_up_goes_on(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct baton *b = baton_new(&a);
	int gave_up = 0;

	/* Fired and handed over in one breath: which of the two it sees is chance. */
	for (int i = 0; i < 300; i++) {
		struct taker t = { 0 };
		struct cancel c;
		assert_int_equal(OK, cancel_init(&c, NULL, 0, NULL));
		assert_int_equal(OK, baton_take(b, clock_mono_ms() + 2000, NULL, NULL));
		t.c = &c;
		queue_up(&t, b);
		cancel_fire(&c, CANCEL_USER);
		baton_pass(b);
		thread_join(&t.t);
		gave_up += t.rc != OK;
		cancel_done(&c);
	}
	assert_true(gave_up > 0);
	assert_int_equal(OK, baton_take(b, clock_mono_ms() + 2000, NULL, NULL));
	baton_pass(b);
	baton_free(b);
}

static void *take_often(void *arg)
{
	struct taker *me = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct cancel c;
		if (cancel_init(&c, NULL, i % 7 == 0 ? 1 : 0, NULL) < 0)
			return NULL;
		if (baton_take(me->b, 0, &c, NULL) == OK) {
			counter++;
			me->order++;
			baton_pass(me->b);
		}
		cancel_done(&c);
	}
	return NULL;
}

static void it_excludes_also_when_waiters_give_up(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct baton *b = baton_new(&a);
	struct taker takers[THREADS] = { 0 };
	int sum = 0;

	counter = 0;
	for (int i = 0; i < THREADS; i++) {
		takers[i].b = b;
		assert_int_equal(
			OK, thread_start(&takers[i].t, "taker", take_often, &takers[i], NULL));
	}
	for (int i = 0; i < THREADS; i++) {
		thread_join(&takers[i].t);
		sum += takers[i].order;
	}
	assert_int_equal(sum, counter);
	baton_free(b);
}

static void a_time_limit_ends_the_wait(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct baton *b = baton_new(&a);

	assert_int_equal(OK, baton_take(b, 0, NULL, NULL));
	assert_int_equal(E_TIMEOUT, baton_take(b, 1, NULL, NULL));
	baton_pass(b);
	assert_int_equal(OK, baton_take(b, 1, NULL, NULL));
	baton_pass(b);
	baton_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_handed_on_in_the_order_of_asking),
		cmocka_unit_test(who_leaves_the_queue_is_passed_over),
		cmocka_unit_test(a_baton_handed_to_one_who_gave_up_goes_on),
		cmocka_unit_test(it_excludes_also_when_waiters_give_up),
		cmocka_unit_test(a_time_limit_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
