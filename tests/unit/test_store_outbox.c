/* The door out: order, waits, pieces and their ends. */
#include "store_world.h"

#include "os/clock.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static int64_t add(struct world *w, const char *address, const char *kind, const char *text)
{
	struct tx tx = world_begin(w);
	struct outbox_new row = { .channel = S("test"),
				  .address = str_of(address),
				  .kind = str_of(kind),
				  .text = str_of(text) };
	int64_t id;

	ok(w, store_outbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

/* The text of the next row, or "" and *wake. */
static str next(struct world *w, struct outbox_row *row, int64_t *wake)
{
	struct tx tx = world_begin(w);
	int rc = store_outbox_next(&tx, S("test"), S(""), &w->a, row, wake, &w->e);

	assert_true(rc == OK || rc == E_NOENT);
	world_commit(w, &tx);
	return rc == OK ? row->text : S("");
}

static str next_text(struct world *w)
{
	struct outbox_row row;
	int64_t wake;

	return next(w, &row, &wake);
}

static void split(struct world *w, int64_t id, size_t n)
{
	static const struct piece_new pieces[] = { { S("send"), S("<b>1"), S("1"), S("") },
						   { S("photo"), S("<b>2"), S("2"), S("") },
						   { S("edit"), S("<b>3"), S("3"), S("m7") } };
	struct tx tx = world_begin(w);

	ok(w, store_outbox_split(&tx, id, pieces, n, &w->e));
	world_commit(w, &tx);
}

static struct piece begin(struct world *w, int64_t id)
{
	struct tx tx = world_begin(w);
	struct piece p;

	ok(w, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	world_commit(w, &tx);
	return p;
}

static void end(struct world *w, int64_t piece, enum piece_end how, int64_t not_before)
{
	struct tx tx = world_begin(w);

	ok(w, store_piece_end(&tx, piece, how, S("r9"), S("why"), not_before, &w->e));
	world_commit(w, &tx);
}

static void send_all(struct world *w, int64_t id, size_t n)
{
	split(w, id, n);
	for (size_t i = 0; i < n; i++)
		end(w, begin(w, id).id, PIECE_SENT, 0);
}

static void replies_of_an_address_go_one_after_the_other(void **state)
{
	struct world *w = *state;
	int64_t a = add(w, "1", "reply", "a");

	(void)add(w, "1", "reply", "b");
	(void)add(w, "2", "reply", "c");
	assert_text(next_text(w), "a");
	assert_text(next_text(w), "c");
	assert_text(next_text(w), "");
	send_all(w, a, 2);
	assert_text(next_text(w), "b");
}

static void notices_and_approvals_overtake(void **state)
{
	struct world *w = *state;

	(void)add(w, "1", "reply", "a");
	(void)add(w, "1", "reply", "b");
	(void)add(w, "1", "approval", "c");
	(void)add(w, "1", "notice", "d");
	assert_text(next_text(w), "a");
	assert_text(next_text(w), "c");
	assert_text(next_text(w), "d");
	assert_text(next_text(w), "");
}

static void everything_of_a_row_and_its_pieces_comes_back(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	struct session session;
	struct outbox_row row;
	int64_t id, wake;

	ok(w, store_session_ensure(&tx, S("test"), S("7"), &w->a, &session, &w->e));
	struct outbox_new new = { .session_id = session.id,
				  .turn_id = S("t1"),
				  .channel = S("test"),
				  .address = S("7"),
				  .kind = S("reply"),
				  .text = S("*hi*"),
				  .reply_to = S("55") };
	ok(w, store_outbox_add(&tx, &new, &id, &w->e));
	world_commit(w, &tx);
	(void)next(w, &row, &wake);
	assert_int_equal(id, row.id);
	assert_true(row.raw);
	assert_true(str_eq(row.session_id, session.id) && str_eq(row.turn_id, new.turn_id));
	assert_true(str_eq(row.kind, new.kind) && str_eq(row.reply_to, new.reply_to));
	split(w, id, 3);
	for (int64_t i = 1; i <= 3; i++) {
		struct piece p = begin(w, id);
		assert_int_equal(i, p.order);
		assert_int_equal(id, p.outbox_id);
		assert_int_equal(1, p.attempts);
		assert_true(str_has(p.body, p.plain));
		end(w, p.id, PIECE_SENT, 0);
	}
	assert_text(world_text(w, "SELECT state || sender FROM outbox"), "done");
	assert_text(world_text(w, "SELECT remote_id FROM pieces"), "r9");
	tx = world_begin(w);
	struct piece p;
	assert_int_equal(E_NOENT, store_piece_begin(&tx, id, &w->a, &p, &w->e));
	ok(w, store_commit(&tx, &w->e));
}

static void a_row_without_pieces_is_done(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "1", "reply", "[silent]");

	assert_text(next_text(w), "[silent]");
	split(w, id, 0);
	assert_text(world_text(w, "SELECT state || sender FROM outbox"), "done");
}

static void a_piece_put_off_holds_its_address_until_the_time(void **state)
{
	struct world *w = *state;
	int64_t a = add(w, "1", "reply", "a"), later = clock_now_ms() + 3600000, wake = -1;
	struct outbox_row row;

	(void)add(w, "1", "notice", "b");
	(void)add(w, "2", "reply", "c");
	assert_text(next_text(w), "a");
	split(w, a, 2);
	struct piece p = begin(w, a);
	end(w, p.id, PIECE_RETRY, later);
	assert_text(next_text(w), "c");
	assert_text(next(w, &row, &wake), "");
	assert_int_equal(later, wake);
	world_sql(w, "UPDATE outbox_waits SET not_before_at_ms = 1");
	assert_text(next(w, &row, &wake), "a");
	assert_false(row.raw);
	struct piece again = begin(w, a);
	assert_int_equal(p.id, again.id);
	assert_int_equal(2, again.attempts);
	end(w, again.id, PIECE_SENT, 0);
	end(w, begin(w, a).id, PIECE_SENT, 0);
	assert_text(next_text(w), "b");
}

static void an_address_that_must_wait_is_told_of_until_its_time(void **state)
{
	struct world *w = *state;
	int64_t a = add(w, "1", "reply", "a"), later = clock_now_ms() + 3600000;
	struct outbox_wait *v;
	size_t n;

	assert_text(next_text(w), "a");
	split(w, a, 1);
	end(w, begin(w, a).id, PIECE_RETRY, later);
	ok(w, store_outbox_waiting(w->s, S("other"), &w->a, &v, &n, &w->e));
	assert_int_equal(0, n);
	ok(w, store_outbox_waiting(w->s, S("test"), &w->a, &v, &n, &w->e));
	assert_int_equal(1, n);
	assert_text(v[0].address, "1");
	assert_in_range(v[0].left_ms, 3590000, 3600000);
	struct tx tx = world_begin(w);
	ok(w, store_outbox_hold(&tx, S("test"), S("2"), later, &w->e));
	world_commit(w, &tx);
	ok(w, store_outbox_waiting(w->s, S("test"), &w->a, &v, &n, &w->e));
	assert_int_equal(2, n);
	world_sql(w, "UPDATE outbox_waits SET not_before_at_ms = 1");
	ok(w, store_outbox_waiting(w->s, S("test"), &w->a, &v, &n, &w->e));
	assert_int_equal(0, n);
}

static void a_hold_keeps_everything_of_its_channel_back(void **state)
{
	struct world *w = *state;
	int64_t later = clock_now_ms() + 3600000, wake = -1;
	struct outbox_row row;
	struct tx tx = world_begin(w);

	ok(w, store_outbox_hold(&tx, S("other"), S(""), later, &w->e));
	world_commit(w, &tx);
	(void)add(w, "1", "reply", "a");
	(void)add(w, "2", "notice", "b");
	assert_text(next(w, &row, &wake), "a");
	tx = world_begin(w);
	ok(w, store_outbox_hold(&tx, S("test"), S(""), later, &w->e));
	world_commit(w, &tx);
	assert_text(next(w, &row, &wake), "");
	assert_int_equal(later, wake);
	tx = world_begin(w);
	ok(w, store_outbox_hold(&tx, S("test"), S(""), 1, &w->e));
	world_commit(w, &tx);
	assert_text(next(w, &row, &wake), "b");
}

static bool waits(struct world *w, const char *channel, const char *address)
{
	bool yes = false;

	ok(w, store_outbox_waits(w->s, str_of(channel), str_of(address), &yes, &w->e));
	return yes;
}

static void an_answer_waits_until_its_last_piece_is_over(void **state)
{
	struct world *w = *state;

	assert_false(waits(w, "test", "1"));
	int64_t id = add(w, "1", "reply", "a");
	(void)add(w, "2", "notice", "b"); /* only replies are ordered */
	assert_true(waits(w, "test", "1"));
	assert_false(waits(w, "test", "2") || waits(w, "other", "1"));
	assert_text(next_text(w), "a");
	split(w, id, 2);
	end(w, begin(w, id).id, PIECE_SENT, 0);
	assert_true(waits(w, "test", "1"));
	end(w, begin(w, id).id, PIECE_DEAD, 0);
	assert_false(waits(w, "test", "1"));
}

static void nothing_to_wait_for_is_told_apart(void **state)
{
	struct world *w = *state;
	struct outbox_row row;
	int64_t wake = -1;

	assert_text(next(w, &row, &wake), "");
	assert_int_equal(0, wake);
	(void)add(w, "1", "reply", "a");
	assert_text(next(w, &row, &wake), "a");
	wake = -1;
	assert_text(next(w, &row, &wake), "");
	assert_int_equal(0, wake);
}

static void what_became_of_the_pieces_decides_about_the_row(void **state)
{
	static const struct {
		enum piece_end first, second;
		const char *row;
	} cases[] = {
		{ PIECE_SENT, PIECE_SENT, "done" },    { PIECE_UNKNOWN, PIECE_SENT, "done" },
		{ PIECE_DEAD, PIECE_SENT, "dead" },    { PIECE_SENT, PIECE_DEAD, "dead" },
		{ PIECE_DEAD, PIECE_UNKNOWN, "dead" },
	};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t id = add(w, "1", "reply", "a");
		assert_text(next_text(w), "a");
		split(w, id, 2);
		end(w, begin(w, id).id, cases[i].first, 0);
		assert_text(world_text(w, "SELECT state FROM outbox ORDER BY id DESC"),
			    "ready");
		end(w, begin(w, id).id, cases[i].second, 0);
		assert_text(world_text(w, "SELECT state || sender FROM outbox "
					  "ORDER BY id DESC"),
			    cases[i].row);
	}
}

static int refused(struct world *w, int64_t id, int64_t piece)
{
	SCOPED(store_rollback) struct tx tx = world_begin(w);
	struct piece p;

	if (piece)
		return store_piece_end(&tx, piece, PIECE_SENT, S(""), S(""), 0, &w->e);
	return store_piece_begin(&tx, id, &w->a, &p, &w->e);
}

static void steps_out_of_order_are_refused(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, "1", "reply", "a");
	struct tx tx = world_begin(w);

	/* Not claimed, raw, sent twice at a time, ended twice. */
	assert_int_equal(E_INVAL, store_outbox_split(&tx, id, NULL, 0, &w->e));
	store_rollback(&tx);
	assert_int_equal(E_INVAL, refused(w, id, 0));
	assert_text(next_text(w), "a");
	assert_int_equal(E_INVAL, refused(w, id, 0));
	split(w, id, 1);
	tx = world_begin(w);
	assert_int_equal(E_INVAL, store_outbox_split(&tx, id, NULL, 0, &w->e));
	store_rollback(&tx);
	assert_int_equal(E_INVAL, refused(w, id, 1));
	struct piece p = begin(w, id);
	assert_int_equal(E_INVAL, refused(w, id, 0));
	end(w, p.id, PIECE_SENT, 0);
	assert_int_equal(E_INVAL, refused(w, id, p.id));
	assert_int_equal(E_NOENT, refused(w, id, 0));
}

static void a_commands_rows_are_delivered_by_it(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	struct outbox_new row = { .channel = S("test"),
				  .address = S("1"),
				  .kind = S("reply"),
				  .text = S("mine"),
				  .owner = store_owner(w->s) };
	struct outbox_row out;
	int64_t id, wake, n;

	ok(w, store_outbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	assert_text(next_text(w), "");
	ok(w, store_outbox_pending(w->s, S(""), &n, &w->e));
	assert_int_equal(0, n);
	ok(w, store_outbox_pending(w->s, store_owner(w->s), &n, &w->e));
	assert_int_equal(1, n);
	tx = world_begin(w);
	ok(w, store_outbox_next(&tx, S("test"), store_owner(w->s), &w->a, &out, &wake, &w->e));
	world_commit(w, &tx);
	assert_text(out.text, "mine");
	send_all(w, id, 1);
	ok(w, store_outbox_pending(w->s, store_owner(w->s), &n, &w->e));
	assert_int_equal(0, n);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(replies_of_an_address_go_one_after_the_other),
		T(notices_and_approvals_overtake),
		T(everything_of_a_row_and_its_pieces_comes_back),
		T(a_row_without_pieces_is_done),
		T(a_piece_put_off_holds_its_address_until_the_time),
		T(an_address_that_must_wait_is_told_of_until_its_time),
		T(a_hold_keeps_everything_of_its_channel_back),
		T(an_answer_waits_until_its_last_piece_is_over),
		T(nothing_to_wait_for_is_told_apart),
		T(what_became_of_the_pieces_decides_about_the_row),
		T(steps_out_of_order_are_refused),
		T(a_commands_rows_are_delivered_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
