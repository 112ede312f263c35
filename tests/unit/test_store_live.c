/* Answers that are shown while they are made; faults of the other side; and parts of which
 * nobody knows whether they arrived. */
#include "store_world.h"

#include "os/clock.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))
#define ROWS                                                                                   \
	"SELECT group_concat(state || ' ' || live_id || ' ' || text, ', ') FROM "              \
	"(SELECT * FROM outbox ORDER BY id)"

static int reserve(struct world *w, const struct turn *t, const char *message)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	int rc = store_outbox_reserve(&tx, S("test"), S("1"), t->id, t->session.id,
				      str_of(message), &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static int64_t reply(struct world *w, str turn_id, const char *text)
{
	struct tx tx = world_begin(w);
	struct outbox_new row = { .turn_id = turn_id,
				  .channel = S("test"),
				  .address = S("1"),
				  .kind = S("reply"),
				  .text = str_of(text) };
	int64_t id;

	ok(w, store_outbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static int next(struct world *w, struct outbox_row *row)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	int64_t wake;
	int rc = store_outbox_next(&tx, S("test"), S(""), &w->a, row, &wake, &w->e);

	return rc < 0 ? rc : store_commit(&tx, &w->e);
}

static struct turn turn(struct world *w)
{
	(void)world_add(w, "1", "hi");
	return world_claim(w);
}

static void the_answer_takes_over_what_was_reserved_for_it(void **state)
{
	struct world *w = *state;
	struct turn t = turn(w);
	struct outbox_row row;

	ok(w, reserve(w, &t, "m1"));
	assert_int_equal(next(w, &row), E_NOENT); /* nothing to deliver yet */
	ok(w, reserve(w, &t, "m2")); /* a second message: the row names it */
	(void)reply(w, t.id, "answer");
	world_finish(w, &t);
	assert_text(world_text(w, ROWS), "raw m2 answer");
	ok(w, next(w, &row));
	assert_text(row.live_id, "m2");
}

static void a_turn_that_is_stopped_says_so_in_the_message(void **state)
{
	struct world *w = *state;
	struct turn t = turn(w);

	ok(w, reserve(w, &t, "m1"));
	ok(w, world_finish_as(
		      w, &t,
		      (struct turn_finish){ .end = TURN_CANCELED, .history = HISTORY_NONE }));
	assert_text(world_text(w, ROWS), "raw m1 (stopped)");
}

static void a_turn_that_stays_silent_says_so_in_the_message(void **state)
{
	struct world *w = *state;
	struct turn t = turn(w);

	ok(w, reserve(w, &t, "m1"));
	world_finish(w, &t);
	assert_text(world_text(w, ROWS), "raw m1 (no answer)");
}

static void a_resumed_turn_finds_its_message_again(void **state)
{
	struct world *w = *state;
	struct turn t = turn(w);
	int64_t n;

	ok(w, reserve(w, &t, "m1"));
	world_reopen(w, STORE_DAEMON);
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	t = world_claim(w);
	(void)reply(w, t.id, "after all");
	world_finish(w, &t);
	assert_text(world_text(w, ROWS), "raw m1 after all");
}

static void a_live_message_that_came_too_late_is_adopted_or_refused(void **state)
{
	struct world *w = *state;
	struct turn t = turn(w);
	struct outbox_row row;

	(void)reply(w, t.id, "answer");
	world_finish(w, &t);
	ok(w, reserve(w, &t, "m1"));
	assert_text(world_text(w, ROWS), "raw m1 answer");
	ok(w, next(w, &row));
	assert_int_equal(reserve(w, &t, "m2"), E_NOENT);
	assert_text(world_text(w, ROWS), "raw m1 answer");
}

static void other_rows_of_a_turn_leave_what_is_reserved(void **state)
{
	struct world *w = *state;
	struct turn t = turn(w);

	ok(w, reserve(w, &t, "m1"));
	(void)reply(w, S(""), "of no turn");
	assert_text(world_text(w, ROWS), "reserved m1 , raw  of no turn");
}

/* A row with two pieces, the first of which ends as given. */
static struct piece sent(struct world *w, enum piece_end end, int64_t *row_id)
{
	const struct piece_new pieces[] = { { S("edit"), S("b"), S("p"), S("m7") },
					    { S("send"), S("b"), S("p"), S("") } };
	struct outbox_row row;
	struct piece p;
	struct tx tx;

	(void)reply(w, S(""), "x");
	ok(w, next(w, &row));
	tx = world_begin(w);
	ok(w, store_outbox_split(&tx, row.id, pieces, 2, &w->e));
	ok(w, store_piece_begin(&tx, row.id, &w->a, &p, &w->e));
	ok(w, store_piece_end(&tx, p.id, end, S(""), S("502"), 0, &w->e));
	world_commit(w, &tx);
	*row_id = row.id;
	return p;
}

static bool held(struct world *w, int64_t row_id)
{
	struct tx tx = world_begin(w);
	bool yes;

	ok(w, store_outbox_held(&tx, row_id, &yes, &w->e));
	world_commit(w, &tx);
	return yes;
}

static void a_fault_is_tried_once_more_and_then_refused(void **state)
{
	struct world *w = *state;
	struct outbox_row row;
	struct piece p;
	int64_t id;
	bool partial;

	p = sent(w, PIECE_FAULT, &id);
	assert_text(p.remote_id, "m7");
	assert_false(held(w, id));
	ok(w, next(w, &row));
	struct tx tx = world_begin(w);
	ok(w, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	assert_int_equal(p.order, 1);
	ok(w, store_piece_end(&tx, p.id, PIECE_FAULT, S(""), S("502"), 0, &w->e));
	ok(w, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	assert_int_equal(p.order, 2); /* the next one proceeds */
	ok(w, store_outbox_partial(&tx, id, &partial, &w->e));
	assert_false(partial); /* not over yet */
	ok(w, store_piece_end(&tx, p.id, PIECE_SENT, S("9"), S(""), 0, &w->e));
	ok(w, store_outbox_partial(&tx, id, &partial, &w->e));
	assert_true(partial);
	world_commit(w, &tx);
	assert_false(held(w, id));
	assert_text(world_text(w, "SELECT state FROM outbox"), "dead");
}

static bool missing(struct world *w)
{
	struct tx tx = world_begin(w);
	bool yes;

	ok(w, store_outbox_tell(&tx, S("test"), S("1"), &yes, &w->e));
	world_commit(w, &tx);
	return yes;
}

static int64_t resend(struct world *w, const char *address)
{
	struct tx tx = world_begin(w);
	int64_t n;

	ok(w, store_outbox_resend(&tx, S("test"), str_of(address), &n, &w->e));
	world_commit(w, &tx);
	return n;
}

static void an_unknown_part_is_told_once_and_sent_again_when_asked_for(void **state)
{
	struct world *w = *state;
	struct outbox_row row;
	struct piece p;
	struct tx tx;
	int64_t id;

	assert_false(missing(w));
	(void)sent(w, PIECE_UNKNOWN, &id);
	assert_true(held(w, id));
	tx = world_begin(w);
	ok(w, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	ok(w, store_piece_end(&tx, p.id, PIECE_SENT, S("9"), S(""), 0, &w->e));
	world_commit(w, &tx);
	assert_true(missing(w));
	assert_false(missing(w));
	assert_int_equal(resend(w, "2"), 0);
	assert_int_equal(resend(w, "1"), 1);
	assert_int_equal(resend(w, "1"), 0);
	ok(w, next(w, &row));
	assert_int_equal(row.id, id);
	assert_false(row.raw);
	tx = world_begin(w);
	ok(w, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	assert_int_equal(p.order, 1);
	ok(w, store_piece_end(&tx, p.id, PIECE_SENT, S("10"), S(""), 0, &w->e));
	world_commit(w, &tx);
	assert_text(world_text(w, "SELECT state FROM outbox"), "done");
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_answer_takes_over_what_was_reserved_for_it),
		T(a_turn_that_is_stopped_says_so_in_the_message),
		T(a_turn_that_stays_silent_says_so_in_the_message),
		T(a_resumed_turn_finds_its_message_again),
		T(a_live_message_that_came_too_late_is_adopted_or_refused),
		T(other_rows_of_a_turn_leave_what_is_reserved),
		T(a_fault_is_tried_once_more_and_then_refused),
		T(an_unknown_part_is_told_once_and_sent_again_when_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
