/*
 * One turn and one delivery, as the daemon's threads do them: what is claimed in which order,
 * what control words and full disks do to it, how pieces end.
 */
#include "agent_world.h"
#include "full_disk.h"
#include "ringing.h"

#include "gateway/work.h"
#include "os/clock.h"

#include <stdlib.h>
#include <string.h>

struct desk {
	struct agent_world *k;
	struct engine g;
	struct channel channel;
	struct work_opt opt;
	size_t pieces; /* how many render makes of a row */
	bool unrenderable, looked;
	const char *
		ends; /* how sends end: o k, r etry, u nknown, d ead, f ault, m oved; then ok */
	struct buf sent;
	char shown[16]; /* live kinds */
	void (*on_send)(struct desk *d);
	void (*on_start)(struct desk *d);
};

static struct desk *desk; /* for callbacks without an argument */

static int render(struct channel *self, const struct outbox_row *row, struct arena *a,
		  struct piece_new **out, size_t *n, struct err *e)
{
	struct desk *d = (struct desk *)((char *)self - offsetof(struct desk, channel));

	if (d->unrenderable)
		return err_set(e, E_INVAL, "what is that?");
	*out = NEWN(a, struct piece_new, d->pieces + 1);
	*n = d->pieces;
	for (size_t i = 0; i < d->pieces; i++) {
		str body = d->pieces == 1 ? row->text
					  : arena_fmt(a, "%.*s%zu", STRF(row->text), i + 1);
		(*out)[i] =
			(struct piece_new){ .method = S("send"), .body = body, .plain = body };
	}
	return OK;
}

static void send_piece(struct channel *self, const struct outbox_row *row,
		       const struct piece *piece, struct arena *a, struct send_result *out,
		       const struct cancel *c)
{
	struct desk *d = (struct desk *)((char *)self - offsetof(struct desk, channel));
	char how = *d->ends ? *d->ends++ : 'o';
	enum send_end end = how == 'r'   ? SEND_RETRY
			    : how == 'a' ? SEND_RETRY
			    : how == 'u' ? SEND_UNKNOWN
			    : how == 'd' ? SEND_DEAD
			    : how == 'f' ? SEND_FAULT
					 : SEND_OK;

	buf_fmt(&d->sent, "%.*s:%.*s%c ", STRF(row->address), STRF(piece->body), how);
	if (d->on_send)
		d->on_send(d);
	*out = (struct send_result){ .end = end,
				     .remote_id = S("77"),
				     .retry_after_ms = 60000,
				     .all_wait_ms = how == 'a' ? 50000 : 0,
				     .moved_to = how == 'm' ? S("-100") : S(""),
				     .error = end == SEND_OK ? S("") : S("no luck") };
}

static void live(struct channel *self, str turn_id, str address, enum live_kind kind, str text)
{
	struct desk *d = (struct desk *)((char *)self - offsetof(struct desk, channel));
	size_t n = strlen(d->shown);

	if (kind != LIVE_TRACE && n < sizeof d->shown - 1)
		d->shown[n] = "<t-}"[kind];
	if (kind == LIVE_START && d->on_start)
		d->on_start(d);
}

static void notice(struct channel *self, str address, str text)
{
	struct desk *d = (struct desk *)((char *)self - offsetof(struct desk, channel));

	assert_true(str_has(text, S("disk is full")));
	buf_fmt(&d->sent, "%.*s!full ", STRF(address));
}

static int setup(void **state)
{
	struct desk *d = calloc(1, sizeof *d);

	(void)agent_world_setup((void **)&d->k);
	d->channel = (struct channel){ .name = "test",
				       .render = render,
				       .send = send_piece,
				       .live = live,
				       .notice = notice };
	d->opt = (struct work_opt){ .channel = &d->channel };
	d->pieces = 1;
	d->ends = "";
	d->sent = buf_in(&d->k->w->a, 1 << 16);
	turns_init(&d->g.turns);
	assert_int_equal(cancel_init(&d->g.root, NULL, 0, NULL), OK);
	assert_int_equal(cancel_init(&d->g.stop, &d->g.root, 0, NULL), OK);
	bells_init(&d->g);
	d->g.store = d->k->w->s;
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct desk *d = *state;

	atomic_store(&full_writes, 0);
	bells_done(&d->g);
	cancel_done(&d->g.stop);
	cancel_done(&d->g.root);
	turns_done(&d->g.turns);
	(void)agent_world_teardown((void **)&d->k);
	free(d);
	return 0;
}

static void assert_text(str got, const char *want)
{
	if (!str_eq(got, str_of(want)))
		fail_msg("got \"%.*s\", not \"%s\"", STRF(got), want);
}

static str text(struct desk *d, const char *sql)
{
	return world_text(d->k->w, sql);
}

static int turn(struct desk *d, struct work_done *done)
{
	aw_open(d->k);
	d->g.agent = d->k->agent;
	d->k->e = (struct err){ 0 };
	return work_turn(&d->g, &d->opt, done, &d->k->e);
}

static int deliver(struct desk *d, int64_t *wake)
{
	d->k->e = (struct err){ 0 };
	return work_deliver(&d->g, &d->opt, wake, &d->k->e);
}

static void put(struct desk *d, const char *address, const char *kind, const char *what)
{
	struct tx tx = world_begin(d->k->w);
	struct outbox_new row = { .channel = S("test"),
				  .address = str_of(address),
				  .kind = str_of(kind),
				  .text = str_of(what) };
	int64_t id;

	ok(d->k->w, store_outbox_add(&tx, &row, &id, &d->k->w->e));
	world_commit(d->k->w, &tx);
}

/* --- turns ---------------------------------------------------------------------------- */

static void look_for_ring(void)
{
	desk->looked = rung(&desk->g.inbox);
}

static void one_ring_is_enough_for_many_rows(void **state)
{
	struct desk *d = desk = *state;
	struct work_done done = { 0 };

	/* While the turn runs, not only at its end. */
	d->k->on_odd = look_for_ring;
	aw_says(d->k, "c:odd {}");
	aw_says(d->k, "t:Hello");
	int64_t row = world_add(d->k->w, "1", "hi");
	(void)world_add(d->k->w, "2", "ho");
	ok(d->k->w, turn(d, &done));
	assert_int_equal(done.row, row);
	assert_int_equal(strlen(done.turn), ID_LEN);
	assert_true(d->looked);
	assert_string_equal(d->shown, "<}");
	/* Who ran the turn looks again itself. */
	assert_false(rung(&d->g.inbox));
	assert_true(rung(&d->g.outbox));
	assert_true(rung(&d->g.control));
	assert_int_equal(turns_running(&d->g.turns), 0);
	assert_text(text(d, "SELECT text FROM outbox"), "Hello");
	assert_text(text(d, "SELECT state FROM inbox WHERE text = 'ho'"), "ready");
}

static void a_follow_up_does_not_join_a_scheduled_turn(void **state)
{
	static const char *const kinds[] = { "cron", "watch" };
	struct desk *d = *state;
	struct world *w = d->k->w;

	d->opt.steer = true;
	for (size_t i = 0; i < 2 * COUNT(kinds); i++)
		aw_says(d->k, "t:Done");
	for (size_t i = 0; i < COUNT(kinds); i++) {
		(void)world_add(w, "1", "due");
		world_sql(w, arena_fmt(&w->a, "UPDATE inbox SET kind = '%s' WHERE text = 'due'",
				       kinds[i])
				     .p);
		(void)world_add(w, "1", "later");
		ok(w, turn(d, NULL));
		assert_text(text(d, "SELECT state FROM inbox WHERE text = 'later'"), "ready");
		ok(w, turn(d, NULL));
		assert_text(text(d, "SELECT state FROM inbox WHERE text = 'later'"), "done");
		world_sql(w, "DELETE FROM inbox");
	}
	assert_int_equal(4, d->k->lb.requests);
}

static void ring_before_send(struct desk *d)
{
	d->looked = rung(&d->g.outbox);
}

static void a_slow_delivery_keeps_no_other_waiting(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	put(d, "1", "reply", "a");
	put(d, "2", "reply", "b");
	d->on_send = ring_before_send;
	ok(d->k->w, deliver(d, &wake));
	assert_true(d->looked);
	ok(d->k->w, deliver(d, &wake));
	assert_false(d->looked); /* the last one wakes nobody */
}

/* A deliverer that knew when the other row's time comes is busy now: another has to know. */
static void a_row_that_waits_for_its_time_is_handed_on_too(void **state)
{
	struct desk *d = *state;
	struct tx tx = world_begin(d->k->w);
	int64_t wake;

	ok(d->k->w,
	   store_outbox_hold(&tx, S("test"), S("1"), clock_now_ms() + 60000, &d->k->w->e));
	world_commit(d->k->w, &tx);
	put(d, "1", "reply", "a");
	put(d, "2", "reply", "b");
	d->on_send = ring_before_send;
	ok(d->k->w, deliver(d, &wake));
	assert_true(d->looked);
	assert_int_equal(deliver(d, &wake), E_NOENT);
	assert_true(wake > clock_now_ms());
}

static void nothing_is_claimed_once_the_daemon_stops(void **state)
{
	struct desk *d = *state;

	(void)world_add(d->k->w, "1", "hi");
	cancel_fire(&d->g.stop, CANCEL_SHUTDOWN);
	assert_int_equal(turn(d, NULL), E_CANCELED);
	assert_text(text(d, "SELECT state FROM inbox"), "ready");
	assert_string_equal(d->shown, "");
}

static void shut_down(struct desk *d)
{
	cancel_fire(&d->g.root, CANCEL_SHUTDOWN);
}

static void a_shutdown_gives_the_turn_back(void **state)
{
	struct desk *d = *state;

	(void)world_add(d->k->w, "1", "hi");
	d->on_start = shut_down;
	assert_int_equal(turn(d, NULL), E_CANCELED);
	assert_text(text(d, "SELECT state FROM turns"), "ready");
	assert_int_equal(world_i64(d->k->w, "SELECT attempts FROM turns"), 0);
	assert_string_equal(d->shown, "<}");
}

/* After the claim and before the registry knows the turn: nobody can be fired. */
static void say_stop(struct desk *d)
{
	struct tx tx = world_begin(d->k->w);
	struct control_effect ef;

	ok(d->k->w, store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &d->k->w->a, &ef,
				  &d->k->w->e));
	world_commit(d->k->w, &tx);
	d->looked = !turns_fire(&d->g.turns, ef.turn_id, CANCEL_USER) && ef.turn_id.n;
}

static void a_stop_between_claim_and_registry_is_heard(void **state)
{
	struct desk *d = *state;

	(void)world_add(d->k->w, "1", "hi");
	d->on_start = say_stop;
	ok(d->k->w, turn(d, NULL));
	assert_true(d->looked);
	assert_text(text(d, "SELECT state FROM turns"), "canceled");
	assert_int_equal(d->k->lb.requests, 0);
	assert_int_equal(world_i64(d->k->w, "SELECT count(*) FROM outbox"), 0);
}

static void fill_and_stop(void)
{
	atomic_store(&full_writes, -1);
	turns_fire_all(&desk->g.turns, CANCEL_USER);
}

static void a_turn_a_full_disk_broke_is_taken_up_again_when_there_is_room(void **state)
{
	struct desk *d = desk = *state;
	struct work_done done = { 0 };

	/* No room, and then no time to wait for it. */
	d->k->on_odd = fill_and_stop;
	aw_says(d->k, "c:odd {}");
	aw_says(d->k, "t:Done");
	int64_t row = world_add(d->k->w, "1", "hi");
	assert_int_equal(turn(d, &done), E_FULL);
	assert_int_equal(done.row, row);
	assert_int_equal(turns_running(&d->g.turns), 0);
	/* Still no room: nothing is claimed, nothing forgotten. */
	assert_int_equal(turn(d, NULL), E_FULL);
	assert_text(text(d, "SELECT state FROM turns"), "running");
	atomic_store(&full_writes, 0);
	done.row = 0;
	ok(d->k->w, turn(d, &done));
	assert_int_equal(done.row, row);
	assert_text(text(d, "SELECT state FROM turns"), "done");
	assert_text(text(d, "SELECT text FROM outbox"), "Done");
	/* It ran, and its result could not be written. */
	assert_text(text(d, "SELECT state FROM tool_calls"), "in_doubt");
	assert_int_equal(d->k->ran, 1);
	assert_int_equal(turn(d, NULL), E_NOENT);
	world_check(d->k->w);
}

/* --- deliveries ----------------------------------------------------------------------- */

static const struct delivery {
	size_t pieces;
	const char *ends, *sent, *row, *states;
	bool again;
} deliveries[] = {
	{ 1, "o", "1:ao ", "done", "sent", false },
	{ 3, "ooo", "1:a1o 1:a2o 1:a3o ", "done", "sent,sent,sent", false },
	{ 0, "", "", "done", "", false },
	/* It may have arrived: not sent again, and the rest goes on. */
	{ 2, "uo", "1:a1u 1:a2o ", "done", "unknown,sent", false },
	{ 1, "d", "1:ad ", "dead", "dead", false },
	{ 2, "dd", "1:a1d 1:a2d ", "dead", "dead,dead", false },
	/* Put off in the middle: later from there on. */
	{ 3, "or", "1:a1o 1:a2r ", "ready", "sent,ready,ready", true },
	{ 3, "of", "1:a1o 1:a2f ", "ready", "sent,ready,ready", true },
};

static void pieces_end_as_their_sending_did(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(deliveries); i++) {
		const struct delivery *c = &deliveries[i];
		struct desk *d;
		int64_t wake = 0, now = clock_now_ms();
		(void)setup((void **)&d);
		d->pieces = c->pieces;
		d->ends = c->ends;
		put(d, "1", "reply", "a");
		ok(d->k->w, deliver(d, &wake));
		assert_text(buf_str(&d->sent), c->sent);
		assert_text(text(d, "SELECT state FROM outbox"), c->row);
		assert_text(text(d, "SELECT coalesce(group_concat(state), '') FROM "
				    "(SELECT state FROM pieces ORDER BY idx)"),
			    c->states);
		assert_true(rung(&d->g.control));
		assert_int_equal(deliver(d, &wake), E_NOENT);
		assert_int_equal(wake >= now + 60000, c->again);
		if (c->again) {
			world_sql(d->k->w, "DELETE FROM outbox_waits");
			ok(d->k->w, deliver(d, &wake));
			str all = arena_cat(&d->k->w->a, str_of(c->sent), S("1:a2o 1:a3o "));
			assert_text(buf_str(&d->sent), all.p);
			assert_text(text(d, "SELECT state FROM outbox"), "done");
		}
		(void)teardown((void **)&d);
	}
}

#define PARTIAL "The reply above is incomplete: a part of it was refused."
#define MISSING "(A part of an earlier answer may be missing; /resend sends it again.)\n\n"

static void deliver_all(struct desk *d)
{
	int64_t wake;

	while (deliver(d, &wake) == OK)
		;
	assert_int_equal(d->k->e.code, E_NOENT);
}

static void an_answer_that_arrived_in_part_says_so_once(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	d->pieces = 4;
	d->ends = "oddo";
	put(d, "1", "reply", "a");
	ok(d->k->w, deliver(d, &wake));
	d->pieces = 1;
	deliver_all(d);
	assert_text(buf_str(&d->sent), "1:a1o 1:a2d 1:a3d 1:a4o 1:" PARTIAL "o ");
}

static void a_notice_that_is_refused_makes_no_other(void **state)
{
	struct desk *d = *state;

	d->pieces = 2;
	d->ends = "od";
	put(d, "1", "notice", "a");
	deliver_all(d);
	assert_text(buf_str(&d->sent), "1:a1o 1:a2d ");
}

static void a_second_fault_is_final_and_the_rest_goes_on(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	d->pieces = 2;
	d->ends = "ff";
	put(d, "1", "reply", "a");
	ok(d->k->w, deliver(d, &wake));
	world_sql(d->k->w, "DELETE FROM outbox_waits");
	ok(d->k->w, deliver(d, &wake));
	assert_text(buf_str(&d->sent), "1:a1f 1:a1f 1:a2o ");
}

static void the_next_answer_says_that_a_part_may_be_missing(void **state)
{
	struct desk *d = *state;

	d->ends = "u";
	put(d, "1", "reply", "a");
	put(d, "2", "reply", "x");
	put(d, "1", "notice", "n");
	put(d, "1", "reply", "b");
	put(d, "1", "reply", "c");
	deliver_all(d);
	assert_text(buf_str(&d->sent), "1:au 2:xo 1:no 1:" MISSING "bo 1:co ");
}

static void an_address_that_moved_takes_its_rows_along(void **state)
{
	struct desk *d = *state;

	d->pieces = 2;
	d->ends = "om";
	put(d, "-1", "reply", "a");
	put(d, "-1", "reply", "b");
	deliver_all(d);
	assert_text(buf_str(&d->sent), "-1:a1o -1:a2m -100:a2o -100:b1o -100:b2o ");
	assert_text(text(d, "SELECT new FROM address_moves WHERE old = '-1'"), "-100");
}

static void a_wait_for_all_holds_the_whole_channel(void **state)
{
	struct desk *d = *state;
	int64_t wake, now = clock_now_ms();

	d->ends = "a";
	put(d, "1", "reply", "a");
	put(d, "2", "notice", "b");
	ok(d->k->w, deliver(d, &wake));
	assert_int_equal(deliver(d, &wake), E_NOENT);
	assert_in_range(wake, now + 50000, now + 59000);
	world_sql(d->k->w, "DELETE FROM outbox_waits WHERE address = ''");
	deliver_all(d);
	assert_text(buf_str(&d->sent), "1:aa 2:bo ");
}

static void a_posted_question_knows_its_message(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	world_sql(d->k->w,
		  "INSERT INTO sessions (id, channel, address, created_at_ms, "
		  "updated_at_ms) VALUES ('s', 'test', '1', 1, 1);"
		  "INSERT INTO approvals (id, session_id, turn_id, call_id, channel, "
		  "address, tool, command, hash, state, created_at_ms, expires_at_ms) "
		  "VALUES ('q', 's', 't', 'c', 'test', '1', 'x', '{}', 'h', 'pending', "
		  "1, 2);"
		  "INSERT INTO outbox (channel, address, kind, text, approval_id, "
		  "created_at_ms) VALUES ('test', '1', 'approval', 'q', 'q', 1)");
	ok(d->k->w, deliver(d, &wake));
	assert_text(text(d, "SELECT message_id FROM approvals"), "77");
}

/* An approval, and the second field of a form, that stand in a chat already and are put again. */
static const char asked_again[] =
	"INSERT INTO sessions (id, channel, address, created_at_ms, updated_at_ms) "
	"VALUES ('s', 'test', '1', 1, 1);"
	"INSERT INTO approvals (id, session_id, turn_id, call_id, channel, address, tool, "
	"command, hash, state, message_id, created_at_ms, expires_at_ms) VALUES ('q', 's', "
	"'t', "
	"'c', 'test', '1', 'x', '{}', 'h', 'pending', '5', 1, 2);"
	"INSERT INTO questions (id, session_id, turn_id, call_id, channel, address, requester, "
	"server, round, idx, params, state, field, message_id, created_at_ms, expires_at_ms) "
	"VALUES ('f', 's', 't', 'c', 'test', '1', '7', 'x', 1, 1, '{}', 'pending', 1, '6', 1, "
	"2);"
	"INSERT INTO outbox (channel, address, kind, text, approval_id, created_at_ms) "
	"VALUES ('test', '1', 'approval', 'q', 'q', 1);"
	"INSERT INTO outbox (channel, address, kind, text, question_id, created_at_ms) "
	"VALUES ('test', '1', 'approval', '1', 'f', 1);"
	"INSERT INTO outbox (channel, address, kind, text, created_at_ms) "
	"VALUES ('test', '1', 'notice', '1', 1)";

static void a_question_whose_new_message_did_not_arrive_keeps_its_old_one(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	world_sql(d->k->w, asked_again);
	d->ends = "ddo";
	for (int i = 0; i < 3; i++)
		ok(d->k->w, deliver(d, &wake));
	assert_text(text(d, "SELECT message_id FROM approvals"), "5");
	assert_text(text(d, "SELECT message_id FROM questions"), "6");
}

static void a_question_that_reached_nobody_calls_the_clock_which_ends_it(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	world_sql(d->k->w, asked_again);
	world_sql(d->k->w,
		  "UPDATE approvals SET message_id = '', expires_at_ms = 9000000000000000;"
		  "UPDATE questions SET message_id = '', expires_at_ms = 9000000000000000;"
		  "DELETE FROM outbox WHERE kind = 'notice'");
	d->ends = "dd";
	for (int i = 0; i < 2; i++) {
		ok(d->k->w, deliver(d, &wake));
		assert_true(rung(&d->g.clock));
	}
	assert_text(
		text(d,
		     "SELECT count(*) FROM approvals WHERE expires_at_ms < 9000000000000000"),
		"1");
	assert_text(
		text(d,
		     "SELECT count(*) FROM questions WHERE expires_at_ms < 9000000000000000"),
		"1");
}

static void what_memory_has_to_do_now_and_then_calls_the_system_worker(void **state)
{
	struct desk *d = *state;
	struct world *w = d->k->w;
	struct config cfg = { .memory = { .enabled = true, .consolidate_minutes = 30 } };

	d->g.cfg = &cfg;
	ok(w, work_schedule(&d->g, NULL, &w->e));
	assert_false(rung(&d->g.system)); /* from now on it counts */
	world_sql(w, "UPDATE heartbeats SET beat_at_ms = 1000 WHERE part = 'consolidation'");
	ok(w, work_schedule(&d->g, NULL, &w->e));
	assert_true(rung(&d->g.system));
	assert_text(text(d, "SELECT count(*) FROM system_rows"), "1");
	ok(w, work_schedule(&d->g, NULL, &w->e));
	assert_false(rung(&d->g.system));
}

static void a_field_of_a_form_knows_its_message_while_it_is_the_one_that_is_asked(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	world_sql(d->k->w, asked_again);
	for (int i = 0; i < 3; i++)
		ok(d->k->w, deliver(d, &wake));
	assert_text(text(d, "SELECT message_id FROM approvals"), "77");
	assert_text(text(d, "SELECT message_id FROM questions"), "77");
}

static void replies_of_an_address_wait_for_each_other_and_for_nobody_else(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	put(d, "1", "reply", "a");
	put(d, "1", "reply", "b");
	put(d, "2", "reply", "c");
	d->ends = "r";
	for (int i = 0; i < 2; i++)
		ok(d->k->w, deliver(d, &wake));
	assert_int_equal(deliver(d, &wake), E_NOENT);
	assert_text(buf_str(&d->sent), "1:ar 2:co ");
	world_sql(d->k->w, "DELETE FROM outbox_waits");
	for (int i = 0; i < 2; i++)
		ok(d->k->w, deliver(d, &wake));
	assert_text(buf_str(&d->sent), "1:ar 2:co 1:ao 1:bo ");
}

static void a_row_that_cannot_be_rendered_goes_out_as_it_is(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	d->unrenderable = true;
	put(d, "1", "reply", "*a");
	ok(d->k->w, deliver(d, &wake));
	assert_text(buf_str(&d->sent), "1:*ao ");
	assert_text(text(d, "SELECT state FROM outbox"), "done");
}

static void fill_a_little(struct desk *d)
{
	atomic_store(&full_writes, 2);
}

static void what_was_sent_is_recorded_as_soon_as_there_is_room(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	put(d, "1", "reply", "a");
	d->pieces = 2;
	d->on_send = fill_a_little;
	ok(d->k->w, deliver(d, &wake));
	assert_text(buf_str(&d->sent), "1:a1o 1!full 1:a2o ");
	assert_text(text(d, "SELECT state FROM outbox"), "done");
	assert_int_equal(atomic_load(&full_writes), 0);
}

/* Each time is told of; the person hears of a burst of them once, and of the next again. */
static void a_full_disk_is_told_once_until_it_was_quiet_for_a_while(void **state)
{
	struct desk *d = *state;

	for (int i = 0; i < 100; i++)
		chan_notice(&d->channel, S("7"));
	assert_text(buf_str(&d->sent), "7!full ");
	d->channel.full_at_ms = clock_mono_ms() - 299000;
	chan_notice(&d->channel, S("8"));
	assert_text(buf_str(&d->sent), "7!full ");
	d->channel.full_at_ms = clock_mono_ms() - 301000;
	chan_notice(&d->channel, S("9"));
	assert_text(buf_str(&d->sent), "7!full 9!full ");
}

static void fill_for_good(struct desk *d)
{
	atomic_store(&full_writes, -1);
	cancel_fire(&d->k->token, CANCEL_USER);
}

static void the_wait_for_room_ends_when_the_command_is_left(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	put(d, "1", "reply", "a");
	d->on_send = fill_for_good;
	d->opt.leave = &d->k->token;
	assert_int_equal(deliver(d, &wake), E_FULL);
}

static void remove_rows(struct desk *d)
{
	world_sql(d->k->w, "PRAGMA foreign_keys = on; DELETE FROM outbox");
}

static void a_row_that_is_removed_while_it_is_sent_ends_nothing_else(void **state)
{
	struct desk *d = *state;
	int64_t wake;

	put(d, "1", "reply", "a");
	d->on_send = remove_rows;
	ok(d->k->w, deliver(d, &wake));
	assert_int_equal(deliver(d, &wake), E_NOENT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_ring_is_enough_for_many_rows),
		TEST(a_follow_up_does_not_join_a_scheduled_turn),
		TEST(a_slow_delivery_keeps_no_other_waiting),
		TEST(a_row_that_waits_for_its_time_is_handed_on_too),
		TEST(nothing_is_claimed_once_the_daemon_stops),
		TEST(a_shutdown_gives_the_turn_back),
		TEST(a_stop_between_claim_and_registry_is_heard),
		TEST(a_turn_a_full_disk_broke_is_taken_up_again_when_there_is_room),
		cmocka_unit_test(pieces_end_as_their_sending_did),
		TEST(an_answer_that_arrived_in_part_says_so_once),
		TEST(a_notice_that_is_refused_makes_no_other),
		TEST(a_second_fault_is_final_and_the_rest_goes_on),
		TEST(the_next_answer_says_that_a_part_may_be_missing),
		TEST(an_address_that_moved_takes_its_rows_along),
		TEST(a_wait_for_all_holds_the_whole_channel),
		TEST(a_posted_question_knows_its_message),
		TEST(a_question_whose_new_message_did_not_arrive_keeps_its_old_one),
		TEST(a_question_that_reached_nobody_calls_the_clock_which_ends_it),
		TEST(what_memory_has_to_do_now_and_then_calls_the_system_worker),
		TEST(a_field_of_a_form_knows_its_message_while_it_is_the_one_that_is_asked),
		TEST(replies_of_an_address_wait_for_each_other_and_for_nobody_else),
		TEST(a_row_that_cannot_be_rendered_goes_out_as_it_is),
		TEST(what_was_sent_is_recorded_as_soon_as_there_is_room),
		TEST(a_full_disk_is_told_once_until_it_was_quiet_for_a_while),
		TEST(the_wait_for_room_ends_when_the_command_is_left),
		TEST(a_row_that_is_removed_while_it_is_sent_ends_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
