/*
 * Follow-ups that join a running turn: before its next request, in the middle of one, and
 * never twice or not at all.
 */
#include "agent_world.h"

#include "os/thread.h"

#include <string.h>

#define INBOX                                                                                  \
	"SELECT group_concat(text || ' ' || state, ', ') FROM (SELECT * FROM inbox ORDER BY "  \
	"id)"

static struct agent_world *world; /* callbacks have the agent's world as argument or none */
static struct cancel *request;
static pthread_mutex_t request_lock =
	PTHREAD_MUTEX_INITIALIZER; /* as the registry of turns has one */
static const char *says; /* what is said when a request begins, once */

static void on_request(void *arg, struct cancel *token)
{
	struct agent_world *k = arg;

	(void)pthread_mutex_lock(&request_lock);
	request = token;
	(void)pthread_mutex_unlock(&request_lock);
	if (token && says) {
		(void)world_add(k->w, "1", says);
		says = NULL;
	}
}

static void said_by_a_tool(void)
{
	(void)world_add(world->w, "1", "more");
}

static struct agent_world *joining(void **state)
{
	struct agent_world *k = world = *state;

	says = NULL;
	k->io.on_request = on_request;
	return k;
}

static void what_was_said_while_a_tool_ran_is_in_the_next_request(void **state)
{
	struct agent_world *k = joining(state);

	k->on_odd = said_by_a_tool;
	aw_says(k, "c:odd {}");
	aw_says(k, "t:Both done");
	aw_hear(k, "first");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_told(k).p, "Both done");
	assert_string_equal(world_text(k->w, INBOX).p, "first done, more done");
	aw_has(aw_request(k, -1), "odd says {}\"},{\"role\":\"user\",\"content\":\"more\"}");
	assert_int_equal(k->ran, 1); /* the tool was kept */
	assert_int_equal(k->lb.requests, 2);
	world_check(k->w);
}

static void without_leave_to_join_it_waits_for_the_end(void **state)
{
	struct agent_world *k = joining(state);

	k->io.on_request = NULL;
	k->on_odd = said_by_a_tool;
	aw_says(k, "c:odd {}");
	aw_says(k, "t:Done");
	aw_hear(k, "first");
	ok(k->w, aw_run(k));
	assert_string_equal(world_text(k->w, INBOX).p, "first done, more ready");
}

static void what_comes_just_before_a_request_is_not_missed(void **state)
{
	struct agent_world *k = joining(state);

	/* Committed when nobody could have fired the request's token yet. */
	says = "more";
	aw_says(k, "t:Both");
	aw_hear(k, "first");
	ok(k->w, aw_run(k));
	assert_string_equal(world_text(k->w, INBOX).p, "first done, more done");
	aw_has(aw_request(k, 0), "first\\n\\n[context]");
	aw_has(aw_request(k, 0), "\\n\\nmore\"}");
	assert_int_equal(k->lb.requests, 1);
}

static void *interrupt(void *arg)
{
	struct agent_world *k = arg;

	lb_wait(&k->lb);
	(void)world_add(k->w, "1", "stop, rather this");
	(void)pthread_mutex_lock(&request_lock);
	if (request)
		cancel_fire(request, CANCEL_USER);
	(void)pthread_mutex_unlock(&request_lock);
	return NULL;
}

static void a_request_under_way_is_ended_for_it(void **state)
{
	struct agent_world *k = joining(state);
	struct thread thread = { 0 };

	k->steps[k->steps_n++] = (struct lb_step){ LB_READ, NULL, 0 };
	k->steps[k->steps_n++] = (struct lb_step){ LB_RING, NULL, 0 };
	k->steps[k->steps_n++] = (struct lb_step){ LB_HOLD, NULL, 0 };
	k->steps[k->steps_n++] = (struct lb_step){ LB_CLOSE, NULL, 0 };
	aw_says(k, "t:This then");
	aw_hear(k, "first");
	ok(k->w, thread_start(&thread, "other", interrupt, k, &k->w->e));
	ok(k->w, aw_run(k));
	thread_join(&thread);
	assert_string_equal(aw_state(k).p, "done");
	assert_string_equal(aw_told(k).p, "This then");
	aw_has(aw_request(k, 1), "stop, rather this");
	assert_int_equal(2, world_i64(k->w, "SELECT count(*) FROM model_calls"));
	world_check(k->w);
}

static void on_text(void *arg, str so_far)
{
	struct agent_world *k = arg;

	if (says)
		(void)world_add(k->w, "1", says);
	says = NULL;
}

static void what_comes_too_late_becomes_a_turn_of_its_own(void **state)
{
	struct agent_world *k = joining(state);

	k->io.on_text = on_text;
	aw_says(k, "t:One");
	aw_says(k, "t:Two");
	aw_hear(k, "first");
	k->io.on_request = NULL;
	says = "late";
	ok(k->w, aw_run(k));
	assert_string_equal(aw_told(k).p, "One");
	assert_string_equal(world_text(k->w, INBOX).p, "first done, late ready");
	aw_claim(k);
	ok(k->w, aw_run(k));
	assert_string_equal(aw_told(k).p, "Two");
	assert_string_equal(world_text(k->w, INBOX).p, "first done, late done");
}

static void a_turn_that_was_stopped_keeps_what_joined_it(void **state)
{
	struct agent_world *k = joining(state);

	k->on_odd = said_by_a_tool;
	aw_says(k, "c:odd {}");
	aw_fires(k);
	aw_says(k, "t:Hello again");
	aw_hear(k, "first");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "canceled");
	/* A note stands for it; both messages are before that. */
	assert_int_equal(3, world_i64(k->w, "SELECT prompt_n FROM turns"));
	struct message *rows;
	size_t n;
	ok(k->w, store_history(k->w->s, &k->t.session, 100, &k->w->a, &rows, &n, &k->w->e));
	assert_int_equal(n, 3);
	assert_string_equal(rows[1].text.p, "more");
	assert_string_equal(rows[2].role.p, "assistant");
	world_check(k->w);
}

static void an_album_that_may_still_grow_does_not_join(void **state)
{
	struct agent_world *k = joining(state);
	struct inbox_new row = { .channel = S("test"),
				 .address = S("1"),
				 .kind = S("message"),
				 .text = S("part"),
				 .album = S("g") };
	int64_t id;

	aw_says(k, "t:Done");
	aw_hear(k, "first");
	struct tx tx = world_begin(k->w);
	ok(k->w, store_inbox_add(&tx, &row, &id, &k->w->e));
	world_commit(k->w, &tx);
	(void)world_add(k->w, "1", "behind it");
	ok(k->w, aw_run(k));
	assert_string_equal(world_text(k->w, INBOX).p,
			    "first done, part ready, behind it ready");
}

#define T(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_said_while_a_tool_ran_is_in_the_next_request),
		T(without_leave_to_join_it_waits_for_the_end),
		T(what_comes_just_before_a_request_is_not_missed),
		T(a_request_under_way_is_ended_for_it),
		T(what_comes_too_late_becomes_a_turn_of_its_own),
		T(a_turn_that_was_stopped_keeps_what_joined_it),
		T(an_album_that_may_still_grow_does_not_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
