/*
 * Commands that take time: one after the other in a chat, beside each other elsewhere, only so
 * many at a time, and ended by /stop.  Where a test has all threads at work, what it adds waits.
 */
#include "agent_world.h"
#include "full_disk.h"
#include "ringing.h"

#include "gateway/errands.h"
#include "os/clock.h"

#include <sched.h>
#include <string.h>

struct office {
	struct agent_world *k;
	struct engine g;
	struct errands x;
};

static int setup(void **state)
{
	static struct office o;

	o = (struct office){ 0 };
	(void)agent_world_setup((void **)&o.k);
	aw_open(o.k);
	o.g.store = o.k->w->s;
	o.g.agent = o.k->agent;
	assert_int_equal(cancel_init(&o.g.root, NULL, 0, NULL), OK);
	assert_int_equal(cancel_init(&o.g.stop, &o.g.root, 0, NULL), OK);
	bells_init(&o.g);
	errands_init(&o.x, &o.g);
	*state = &o;
	return 0;
}

static int teardown(void **state)
{
	struct office *o = *state;

	atomic_store(&full_writes, 0);
	cancel_fire(&o->g.stop, CANCEL_SHUTDOWN);
	cancel_fire(&o->g.root, CANCEL_SHUTDOWN);
	errands_end(&o->x);
	bells_done(&o->g);
	cancel_done(&o->g.stop);
	cancel_done(&o->g.root);
	return agent_world_teardown((void **)&o->k);
}

static void all_at_work(struct office *o, bool busy)
{
	pthread_mutex_lock(&o->x.lock);
	for (size_t i = 0; i < ERRANDS_THREADS; i++)
		o->x.threads[i].busy = busy;
	pthread_mutex_unlock(&o->x.lock);
}

/* What the channel is told at once. */
static str say(struct office *o, const char *address, const char *text)
{
	str reply = S("?");

	assert_true(errands_command(&o->x, S("test"), str_of(address), S("ada"), str_of(text),
				    &o->k->w->a, &reply, NULL));
	return reply;
}

static bool runs(struct office *o, const char *address)
{
	return errands_run(&o->x, S("test"), str_of(address));
}

static void await_all(struct office *o)
{
	while (errands_run(&o->x, S(""), S(""))) {
		assert_int_equal(
			wait_fd(o->g.control.fd, POLLIN, clock_mono_ms() + 60000, NULL, NULL),
			OK);
		(void)bell_hear(&o->g.control);
	}
}

static const char *answered(struct office *o)
{
	return world_text(o->k->w, "SELECT coalesce(group_concat(address, ' '), '') FROM "
				   "(SELECT address FROM outbox ORDER BY id)")
		.p;
}

static void what_is_quick_is_answered_at_once(void **state)
{
	struct office *o = *state;

	assert_true(say(o, "1", "/help").n > 0);
	assert_false(runs(o, "1"));
	assert_string_equal(answered(o), "");
}

static void the_answer_comes_by_the_outbox_and_those_who_send_hear_of_it(void **state)
{
	struct office *o = *state;

	assert_int_equal(say(o, "1", "/prompts").n, 0);
	await_all(o);
	assert_string_equal(answered(o), "1");
	assert_true(rung(&o->g.outbox));
	/* The thread is over, and the next command has one again. */
	assert_int_equal(say(o, "2", "/prompts").n, 0);
	await_all(o);
	assert_string_equal(answered(o), "1 2");
}

static void more_than_there_is_room_for_are_refused(void **state)
{
	struct office *o = *state;

	all_at_work(o, true);
	for (int i = 0; i < ERRANDS_MAX; i++)
		assert_int_equal(say(o, "1", "/prompts").n, 0);
	aw_has(say(o, "2", "/prompts").p, "too many");
	assert_false(runs(o, "2"));
	all_at_work(o, false);
	errands_stop(&o->x, S("test"), S("1"));
	assert_int_equal(say(o, "2", "/prompts").n, 0);
	await_all(o);
	assert_string_equal(answered(o), "2");
}

static void one_thread_does_all_in_the_order_they_came(void **state)
{
	struct office *o = *state;

	all_at_work(o, true);
	for (int i = 0; i < 6; i++)
		(void)say(o, i % 2 ? "b" : "a", "/prompts");
	o->x.threads[2].busy = false;
	(void)say(o, "c", "/prompts");
	await_all(o);
	assert_string_equal(answered(o), "a b a b a b c");
	all_at_work(o, false);
}

static void a_stop_ends_those_of_its_chat_and_no_others(void **state)
{
	struct office *o = *state;

	all_at_work(o, true);
	(void)say(o, "1", "/prompts");
	(void)say(o, "2", "/prompts");
	(void)say(o, "1", "/prompts");
	errands_stop(&o->x, S("test"), S("1"));
	assert_false(runs(o, "1"));
	assert_true(runs(o, "2"));
	all_at_work(o, false);
	(void)say(o, "3", "/prompts");
	await_all(o);
	assert_string_equal(answered(o), "2 3");
}

static void an_answer_waits_for_room_on_the_disk(void **state)
{
	struct office *o = *state;

	atomic_store(&full_writes, 1);
	(void)say(o, "1", "/prompts");
	await_all(o);
	assert_int_equal(atomic_load(&full_writes), 0);
	assert_string_equal(answered(o), "1");
}

static void a_stop_ends_that_wait_and_the_daemons_end_does(void **state)
{
	struct office *o = *state;

	atomic_store(&full_writes, 1000);
	(void)say(o, "1", "/prompts");
	while (atomic_load(&full_writes) == 1000)
		(void)sched_yield();
	errands_stop(&o->x, S("test"), S("1"));
	await_all(o);
	(void)say(o, "2", "/prompts");
	cancel_fire(&o->g.stop, CANCEL_SHUTDOWN);
	cancel_fire(&o->g.root, CANCEL_SHUTDOWN);
	await_all(o);
	atomic_store(&full_writes, 0);
	assert_string_equal(answered(o), "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_quick_is_answered_at_once),
		TEST(the_answer_comes_by_the_outbox_and_those_who_send_hear_of_it),
		TEST(more_than_there_is_room_for_are_refused),
		TEST(one_thread_does_all_in_the_order_they_came),
		TEST(a_stop_ends_those_of_its_chat_and_no_others),
		TEST(an_answer_waits_for_room_on_the_disk),
		TEST(a_stop_ends_that_wait_and_the_daemons_end_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
