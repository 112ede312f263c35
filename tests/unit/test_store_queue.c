/* The queues as people see them: what is listed, what may be repeated, what may be dropped. */
#include "store_world.h"

#include "os/clock.h"
#include "store/queue.h"

#include <string.h>

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

/* "i:waiting i:failed o:dead ", in order. */
static const char *listed(struct world *w)
{
	struct buf b = buf_in(&w->a, 4096);
	struct queue_row *v;
	size_t n;
	bool more;

	ok(w, store_queue_list(w->s, 100, &w->a, &v, &n, &more, &w->e));
	assert_false(more);
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%c:%.*s ", v[i].out ? 'o' : 'i', STRF(v[i].state));
	return buf_str(&b).p;
}

static int retry(struct world *w, bool out, int64_t id, int64_t *made, int64_t *n)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	int rc = store_queue_retry(&tx, out, id, &w->a, made, n, &w->e);

	if (rc == OK)
		world_commit(w, &tx);
	return rc;
}

static int drop(struct world *w, bool out, int64_t id)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	struct queue_row row;
	int rc = store_queue_drop(&tx, out, id, &w->a, &row, &w->e);

	if (rc == OK)
		world_commit(w, &tx);
	return rc;
}

static int64_t failed(struct world *w)
{
	int64_t id = world_add(w, "1", "hello");
	struct turn t = world_claim(w);

	ok(w, world_finish_as(w, &t,
			      (struct turn_finish){ .end = TURN_FAILED,
						    .history = HISTORY_NONE,
						    .error = S("auth") }));
	return id;
}

static void rows_that_wait_run_and_failed_are_listed_and_those_that_are_done_are_not(
	void **state)
{
	struct world *w = *state;

	world_turn(w, "9", "done", 0);
	(void)failed(w);
	(void)world_add(w, "2", "a");
	(void)world_claim(w);
	(void)world_add(w, "2", "b");
	world_sql(
		w,
		"INSERT INTO outbox (channel, address, kind, text, state, created_at_ms) "
		"VALUES ('test', '1', 'reply', 'hi', 'done', 1), ('test', '1', 'reply', 'hi', "
		"'dropped', 1)");
	world_sql(w, "INSERT INTO pieces (outbox_id, idx, method, body, plain, state, "
		     "updated_at_ms) SELECT id, 1, 'send', 'b', 'p', 'sent', 1 FROM outbox");
	assert_string_equal(listed(w), "i:failed i:running i:waiting ");
	world_sql(w, "UPDATE turns SET state = 'parked' WHERE state = 'running'");
	world_sql(w, "UPDATE inbox SET created_at_ms = created_at_ms - 8 * 86400000");
	assert_string_equal(listed(w), "i:parked i:waiting ");
}

static void a_list_is_cut_and_says_so(void **state)
{
	struct world *w = *state;
	struct queue_row *v;
	size_t n;
	bool more;

	for (int i = 0; i < 3; i++)
		(void)world_add(w, "1", "x");
	ok(w, store_queue_list(w->s, 2, &w->a, &v, &n, &more, &w->e));
	assert_int_equal(n, 2);
	assert_true(more);
	assert_true(v[0].id < v[1].id);
}

static void a_failed_message_is_run_again_once(void **state)
{
	struct world *w = *state;
	int64_t id = failed(w), made, n;

	ok(w, retry(w, false, id, &made, &n));
	assert_true(made > id);
	assert_int_equal(retry(w, false, id, &made, &n), E_NOENT);
	assert_string_equal(listed(w), "i:waiting ");
	struct turn t = world_claim(w);
	assert_text(t.rows[0].text, "hello");
	assert_text(t.sender, "ada");
	assert_text(t.session.address, "1");
	world_finish(w, &t);
	world_check(w);
}

static void what_was_no_message_or_had_files_is_not_run_again(void **state)
{
	struct world *w = *state;
	int64_t id = failed(w), made, n;

	world_sql(w, "UPDATE inbox SET kind = 'cron'");
	assert_int_equal(retry(w, false, id, &made, &n), E_DENIED);
	assert_non_null(strstr(w->e.msg, "gantry cron run"));
	world_sql(w, "UPDATE inbox SET kind = 'watch'");
	assert_int_equal(retry(w, false, id, &made, &n), E_DENIED);
	world_sql(w, "UPDATE inbox SET kind = 'message'");
	world_sql(w, "INSERT INTO attachments (inbox_id, kind, file, bytes, created_at_ms) "
		     "SELECT id, 'photo', 'f', 1, 1 FROM inbox");
	assert_int_equal(retry(w, false, id, &made, &n), E_DENIED);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox"), 1);
}

static void what_waits_is_dropped_and_what_runs_is_not(void **state)
{
	struct world *w = *state;
	int64_t bad = failed(w), run = world_add(w, "2", "a"), made, n;

	(void)world_claim(w);
	int64_t wait = world_add(w, "2", "b");
	assert_int_equal(drop(w, false, run), E_BUSY);
	assert_int_equal(retry(w, false, wait, &made, &n), E_BUSY);
	ok(w, drop(w, false, wait));
	ok(w, drop(w, false, bad));
	assert_string_equal(listed(w), "i:running ");
	assert_int_equal(drop(w, false, wait), E_NOENT);
	assert_text(world_text(w, "SELECT state FROM inbox WHERE text = 'b'"), "dropped");
}

/* A row with a part sent, one that may have arrived, one refused; its id. */
static int64_t broken(struct world *w, const char *kind, const char *channel)
{
	world_sql(w,
		  arena_fmt(&w->a,
			    "INSERT INTO outbox (channel, address, kind, text, state, owner, "
			    "created_at_ms, finished_at_ms) VALUES ('%s', '1', '%s', 'hi', "
			    "'dead', 'x', 1, 2)",
			    channel, kind)
			  .p);
	world_sql(
		w,
		"INSERT INTO pieces (outbox_id, idx, method, body, plain, state, error, told, "
		"faults, updated_at_ms) SELECT max(o.id), v.column1, 'send', 'b', 'p', "
		"v.column2, v.column3, 1, 1, 1 FROM outbox o, (VALUES (1, 'sent', ''), "
		"(2, 'unknown', 'time'), (3, 'dead', '400')) v GROUP BY v.column1");
	return world_i64(w, "SELECT max(id) FROM outbox");
}

static void the_missing_parts_are_sent_again_by_any_daemon(void **state)
{
	struct world *w = *state;
	int64_t id = broken(w, "reply", "test"), made, n, wake;
	struct outbox_row row;
	struct queue_row *v;
	size_t v_n;
	bool more;

	ok(w, store_queue_list(w->s, 9, &w->a, &v, &v_n, &more, &w->e));
	assert_int_equal(v_n, 1);
	assert_int_equal(v[0].pieces * 1000 + v[0].sent * 100 + v[0].unknown * 10 + v[0].dead,
			 3111);
	assert_text(v[0].error, "400");
	ok(w, retry(w, true, id, &made, &n));
	assert_int_equal(n, 2);
	assert_string_equal(listed(w), "o:waiting ");
	assert_int_equal(retry(w, true, id, &made, &n), E_BUSY);
	struct tx tx = world_begin(w);
	ok(w, store_outbox_next(&tx, S("test"), S(""), &w->a, &row, &wake, &w->e));
	assert_int_equal(row.id, id);
	struct piece p;
	ok(w, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	assert_int_equal(p.order, 2);
	world_commit(w, &tx);
	assert_string_equal(listed(w), "o:sending ");
	assert_int_equal(drop(w, true, id), E_BUSY);
}

static void what_was_given_up_is_not_sent_by_resend_either(void **state)
{
	struct world *w = *state;
	int64_t id = broken(w, "reply", "test"), n;

	world_sql(w, "UPDATE outbox SET owner = ''");
	ok(w, drop(w, true, id));
	assert_string_equal(listed(w), "");
	struct tx tx = world_begin(w);
	ok(w, store_outbox_resend(&tx, S("test"), S("1"), &n, &w->e));
	world_commit(w, &tx);
	assert_int_equal(n, 0);
	assert_int_equal(drop(w, true, id), E_NOENT);
}

static void a_question_that_is_over_and_the_output_of_a_command_are_not_sent_again(void **state)
{
	struct world *w = *state;
	int64_t made, n;

	assert_int_equal(retry(w, true, broken(w, "approval", "test"), &made, &n), E_DENIED);
	assert_int_equal(retry(w, true, broken(w, "reply", "cli"), &made, &n), E_DENIED);
	assert_string_equal(listed(w), "o:dead o:dead ");
}

#define test(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(rows_that_wait_run_and_failed_are_listed_and_those_that_are_done_are_not),
		test(a_list_is_cut_and_says_so),
		test(a_failed_message_is_run_again_once),
		test(what_was_no_message_or_had_files_is_not_run_again),
		test(what_waits_is_dropped_and_what_runs_is_not),
		test(the_missing_parts_are_sent_again_by_any_daemon),
		test(what_was_given_up_is_not_sent_by_resend_either),
		test(a_question_that_is_over_and_the_output_of_a_command_are_not_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
