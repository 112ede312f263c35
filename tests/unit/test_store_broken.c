/*
 * The database breaks in the middle of a step: whichever statement of it fails, the step says so,
 * and nothing of it stays.  Each step is made again and again, every time with a later one of its
 * statements cut off, until it comes through.
 */
#include "store_world.h"

#include "os/clock.h"
#include "store/approval.h"
#include "store/internal.h"
#include "store/job.h"
#include "store/question.h"
#include "store/rows.h"
#include "store/system.h"

#include <sqlite3.h>
#include <string.h>

#define HOUR (3600 * 1000)
#define ALL                                                                                    \
	"SELECT (SELECT count(*) FROM inbox) || ' ' || (SELECT group_concat(state) FROM "      \
	"inbox) || ' ' || (SELECT count(*) FROM outbox) || ' ' || (SELECT count(*) FROM "      \
	"pieces) || ' ' || coalesce((SELECT group_concat(state) FROM turns), '') || ' ' || "   \
	"(SELECT count(*) FROM turn_messages) || ' ' || coalesce((SELECT group_concat(state) " \
	"FROM tool_calls), '') || ' ' || coalesce((SELECT group_concat(state) FROM "           \
	"approvals), '') || ' ' || coalesce((SELECT group_concat(state) FROM questions), '') " \
	"|| ' ' || coalesce((SELECT group_concat(next_at_ms) FROM jobs), '')"

/* What a step works on. */
struct scene {
	struct world *w;
	struct turn t;
	struct call call;
	char id[ID_LONG_LEN + 1];
	struct outbox_row row;
	struct piece piece;
	struct job job;
	struct job_run run;
	int64_t n;
};

/* --- statements that are cut off ---------------------------------------------------------- */

static struct {
	sqlite3 *h;
	int left, seen;
} cut;

/* A statement begins; those of triggers are told as comments. */
static int on_statement(unsigned what, void *arg, void *statement, void *text)
{
	if (strncmp(text, "--", 2) == 0)
		return 0;
	cut.seen++;
	if (cut.left > 0 && --cut.left == 0)
		sqlite3_interrupt(cut.h);
	return 0;
}

/* Make the step, with its n-th statement failing; did it have as many? */
static bool breaks(struct scene *s, int n, int (*step)(struct scene *s, struct tx *tx))
{
	struct tx tx = world_begin(s->w);

	cut.h = tx_db(&tx)->h;
	cut.left = n;
	cut.seen = 0;
	assert_int_equal(sqlite3_trace_v2(cut.h, SQLITE_TRACE_STMT, on_statement, NULL), 0);
	int rc = step(s, &tx);
	bool reached = cut.seen >= n;
	assert_int_equal(sqlite3_trace_v2(cut.h, 0, NULL, NULL), 0);
	if (reached && rc == OK)
		fail_msg("statement %d failed, and the step says that all is well", n);
	if (!reached)
		ok(s->w, rc);
	store_rollback(&tx);
	return reached;
}

static void check(struct scene *s, int (*step)(struct scene *s, struct tx *tx))
{
	str before = world_text(s->w, ALL);
	int n = 1;

	while (breaks(s, n, step)) {
		assert_true(str_eq(world_text(s->w, ALL), before));
		n++;
	}
	assert_true(n > 1);
	/* And after all that it can be made. */
	struct tx tx = world_begin(s->w);
	ok(s->w, step(s, &tx));
	world_commit(s->w, &tx);
}

/* --- what it begins with ------------------------------------------------------------------ */

static struct scene scene(void **state)
{
	return (struct scene){ .w = *state };
}

static void running(struct scene *s, enum call_state call)
{
	(void)world_add(s->w, "1", "go on");
	s->t = world_claim(s->w);
	s->call = world_call(1, 1, call, false);
	world_step(s->w, &s->t, 1, &s->call, 1);
}

static struct approval approval(const struct scene *s)
{
	return (struct approval){ .session_id = s->t.session.id,
				  .turn_id = s->t.id,
				  .call_id = str_of(s->call.id),
				  .channel = S("test"),
				  .address = S("1"),
				  .tool = S("read_file"),
				  .command = S("{}"),
				  .hash = S("h"),
				  .reason = S("asks"),
				  .created_at_ms = clock_now_ms(),
				  .expires_at_ms = clock_now_ms() + HOUR };
}

static void asked(struct scene *s, bool parked)
{
	struct approval q;
	struct tx tx;
	bool done = false;

	running(s, CALL_PLANNED);
	q = approval(s);
	tx = world_begin(s->w);
	ok(s->w, store_approval_add(&tx, &q, s->id, &s->w->e));
	if (parked)
		ok(s->w, store_turn_park(&tx, s->t.id, &done, &s->w->e));
	world_commit(s->w, &tx);
	assert_true(done == parked);
}

/* An answer that is being sent. */
static void sending(struct scene *s)
{
	const struct piece_new two[] = {
		{ .method = S("send"), .body = S("a"), .plain = S("a") },
		{ .method = S("send"), .body = S("b"), .plain = S("b") },
	};
	const struct outbox_new row = {
		.channel = S("test"), .address = S("1"), .kind = S("reply"), .text = S("ab")
	};
	struct tx tx = world_begin(s->w);
	int64_t at;

	ok(s->w, store_outbox_add(&tx, &row, &s->n, &s->w->e));
	ok(s->w, store_outbox_next(&tx, S("test"), S(""), &s->w->a, &s->row, &at, &s->w->e));
	ok(s->w, store_outbox_split(&tx, s->row.id, two, 2, &s->w->e));
	ok(s->w, store_piece_begin(&tx, s->row.id, &s->w->a, &s->piece, &s->w->e));
	world_commit(s->w, &tx);
}

static void scheduled(struct scene *s)
{
	const struct job job = { .channel = S("test"),
				 .address = S("1"),
				 .sender = S("7"),
				 .prompt = S("p"),
				 .kind = S("cron"),
				 .expr = S("* * * * *"),
				 .zone = S("UTC"),
				 .catch_up = true,
				 .next_at_ms = 1000 };
	struct tx tx = world_begin(s->w);

	ok(s->w, store_job_add(&tx, &job, 50, &s->n, &s->w->e));
	world_commit(s->w, &tx);
	ok(s->w, store_job_get(s->w->s, s->n, &s->w->a, &s->job, &s->w->e));
}

/* --- steps -------------------------------------------------------------------------------- */

static int take_in(struct scene *s, struct tx *tx)
{
	const struct attachment file = { S("photo"), S("f"), S("image/png"), 3 };
	const struct inbox_new row = { .channel = S("test"),
				       .address = S("new"),
				       .dedupe = S("e1"),
				       .kind = S("message"),
				       .text = S("t"),
				       .album = S("al"),
				       .files = &file,
				       .files_n = 1,
				       .waiting_max = 1 };
	struct inbox_new again = row;
	int64_t id;
	int rc = store_inbox_add(tx, &row, &id, &s->w->e);

	again.dedupe = S("e2");
	return rc < 0 ? rc : store_inbox_add(tx, &again, &id, &s->w->e);
}

static void a_message(void **state)
{
	struct scene s = scene(state);

	(void)world_add(s.w, "0", "x");
	check(&s, take_in);
}

static int fetched(struct scene *s, struct tx *tx)
{
	const struct attachment file = { S("photo"), S("f"), S("image/png"), 3 };

	return store_fetch_end(tx, s->n, S("words"), &file, &s->w->e);
}

static void a_file_that_came(void **state)
{
	const struct inbox_new row = { .channel = S("test"),
				       .address = S("1"),
				       .kind = S("message"),
				       .text = S("t"),
				       .album = S("al"),
				       .fetch = S("it") };
	struct scene s = scene(state);
	struct tx tx = world_begin(s.w);

	ok(s.w, store_inbox_add(&tx, &row, &s.n, &s.w->e));
	world_commit(s.w, &tx);
	check(&s, fetched);
}

static int stop(struct scene *s, struct tx *tx)
{
	struct control_effect ef;

	return store_control(tx, CONTROL_STOP, S("test"), S("1"), S("c1"), &s->w->a, &ef,
			     &s->w->e);
}

static int renew(struct scene *s, struct tx *tx)
{
	struct control_effect ef;

	return store_control(tx, CONTROL_NEW, S("test"), S("1"), S("c2"), &s->w->a, &ef,
			     &s->w->e);
}

static void a_control_word(void **state)
{
	struct scene s = scene(state);

	asked(&s, true);
	(void)world_add(s.w, "1", "waits");
	check(&s, stop);
	(void)world_add(s.w, "1", "waits too");
	check(&s, renew);
}

static int claim(struct scene *s, struct tx *tx)
{
	struct turn t;
	int rc = store_turn_claim(tx, S(""), &s->w->a, &t, &s->w->e);

	return rc < 0 ? rc
		      : store_message_user(tx, t.id, S("{\"role\":\"user\",\"content\":\"x\"}"),
					   S("x"), S("c"), &s->w->e);
}

static void a_claim(void **state)
{
	struct scene s = scene(state);

	(void)world_add(s.w, "1", "x");
	check(&s, claim);
}

static int answer_with_calls(struct scene *s, struct tx *tx)
{
	struct call calls[] = { world_call(2, 1, CALL_PLANNED, false),
				world_call(2, 2, CALL_DONE, false) };
	const struct turn_step step = { .round = 2,
					.wire = S("{\"role\":\"assistant\"}"),
					.issuer = S("i"),
					.calls = calls,
					.calls_n = 2 };

	return store_turn_step(tx, s->t.id, &step, &s->w->e);
}

static int start_call(struct scene *s, struct tx *tx)
{
	struct call call = s->call;

	call.decision = S("approved");
	return store_call_start(tx, s->t.id, &call, &s->w->e);
}

static int end_call(struct scene *s, struct tx *tx)
{
	struct call call = s->call;

	call.state = CALL_DONE;
	call.result = S("r");
	return store_call_finish(tx, s->t.id, &call, &s->w->e);
}

static int end_turn(struct scene *s, struct tx *tx)
{
	const struct turn_finish f = { .end = TURN_DONE,
				       .history = HISTORY_FULL,
				       .final_wire = S("{\"role\":\"assistant\"}"),
				       .final_text = S("t"),
				       .round = 99 };
	const struct outbox_new row = { .session_id = s->t.session.id,
					.turn_id = s->t.id,
					.channel = S("test"),
					.address = S("1"),
					.kind = S("reply"),
					.text = S("t") };
	int64_t id;
	int rc = store_outbox_add(tx, &row, &id, &s->w->e);

	return rc < 0 ? rc : store_turn_finish(tx, &s->t, &f, &s->w->e);
}

static void the_steps_of_a_turn(void **state)
{
	struct scene s = scene(state);

	running(&s, CALL_PLANNED);
	check(&s, start_call);
	check(&s, end_call);
	check(&s, answer_with_calls);
}

static void the_end_of_a_turn(void **state)
{
	struct scene s = scene(state);

	running(&s, CALL_DONE);
	check(&s, end_turn);
}

static int give_up(struct scene *s, struct tx *tx)
{
	const struct turn_finish f = { .end = TURN_GIVEN_UP, .history = HISTORY_NONE };

	return store_turn_finish(tx, &s->t, &f, &s->w->e);
}

static void the_end_of_a_turn_with_open_calls_and_questions(void **state)
{
	struct scene s = scene(state);

	asked(&s, false);
	check(&s, give_up);
}

static int join_in(struct scene *s, struct tx *tx)
{
	struct inbox_row *rows;
	size_t n;

	return store_turn_join(tx, s->t.id, &s->w->a, &rows, &n, &s->w->e);
}

static void a_message_that_joins(void **state)
{
	struct scene s = scene(state);

	running(&s, CALL_RUNNING);
	(void)world_add(s.w, "1", "and this");
	check(&s, join_in);
}

static int ask(struct scene *s, struct tx *tx)
{
	const struct approval q = approval(s);
	char id[ID_LONG_LEN + 1];
	bool parked;
	int rc = store_approval_add(tx, &q, id, &s->w->e);

	return rc < 0 ? rc : store_turn_park(tx, s->t.id, &parked, &s->w->e);
}

static void a_question(void **state)
{
	struct scene s = scene(state);

	running(&s, CALL_PLANNED);
	check(&s, ask);
}

static int say_yes(struct scene *s, struct tx *tx)
{
	const struct approval_press press = { .id = str_of(s->id),
					      .yes = true,
					      .always = true,
					      .by = S("7"),
					      .at_ms = clock_now_ms() };
	struct approval out;
	enum approval_end end;

	return store_approval_decide(tx, &press, &s->w->a, &out, &end, &s->w->e);
}

static int use_it(struct scene *s, struct tx *tx)
{
	return store_approval_use(tx, str_of(s->id), S("h"), clock_now_ms(), &s->call,
				  &s->w->e);
}

static void a_yes_and_its_use(void **state)
{
	struct scene s = scene(state);

	asked(&s, false);
	check(&s, say_yes);
	check(&s, use_it);
}

static int expire(struct scene *s, struct tx *tx)
{
	int64_t n;

	return store_approval_expire(tx, clock_now_ms() + 2 * HOUR, &n, &s->w->e);
}

static void the_end_of_a_questions_time(void **state)
{
	struct scene s = scene(state);

	asked(&s, true);
	check(&s, expire);
}

static int next_row(struct scene *s, struct tx *tx)
{
	const struct piece_new one = { .method = S("send"), .body = S("a"), .plain = S("a") };
	struct outbox_row row;
	struct piece piece;
	int64_t at;
	int rc = store_outbox_next(tx, S("test"), S(""), &s->w->a, &row, &at, &s->w->e);

	if (rc == OK)
		rc = store_outbox_split(tx, row.id, &one, 1, &s->w->e);
	return rc < 0 ? rc : store_piece_begin(tx, row.id, &s->w->a, &piece, &s->w->e);
}

static void a_row_that_is_taken_up(void **state)
{
	struct scene s = scene(state);

	running(&s, CALL_DONE);
	struct tx tx = world_begin(s.w);
	ok(s.w, end_turn(&s, &tx));
	world_commit(s.w, &tx);
	check(&s, next_row);
}

static int unknown(struct scene *s, struct tx *tx)
{
	struct piece next;
	int rc = store_piece_end(tx, s->piece.id, PIECE_UNKNOWN, S(""), S("why"), 0, &s->w->e);

	return rc < 0 ? rc : store_piece_begin(tx, s->row.id, &s->w->a, &next, &s->w->e);
}

static int put_off(struct scene *s, struct tx *tx)
{
	return store_piece_end(tx, s->piece.id, PIECE_RETRY, S(""), S("why"),
			       clock_now_ms() + HOUR, &s->w->e);
}

static int tell(struct scene *s, struct tx *tx)
{
	bool missing;
	int64_t n;
	int rc = store_outbox_tell(tx, S("test"), S("1"), &missing, &s->w->e);

	return rc < 0 ? rc : store_outbox_resend(tx, S("test"), S("1"), &n, &s->w->e);
}

static void a_piece(void **state)
{
	struct scene s = scene(state);

	(void)world_add(s.w, "0", "x");
	sending(&s);
	check(&s, unknown);
	check(&s, tell);
}

static void a_piece_that_is_put_off(void **state)
{
	struct scene s = scene(state);

	(void)world_add(s.w, "0", "x");
	sending(&s);
	check(&s, put_off);
}

static int move(struct scene *s, struct tx *tx)
{
	return store_address_move(tx, S("test"), S("1"), S("2"), &s->w->e);
}

static void an_address_that_moves(void **state)
{
	struct scene s = scene(state);

	asked(&s, false);
	sending(&s);
	check(&s, move);
}

static int fire(struct scene *s, struct tx *tx)
{
	const struct plan plan = { .run_at_ms = 1000,
				   .next_at_ms = 61000,
				   .skips = { { 100, 200, 2, "down" } },
				   .skips_n = 1 };
	const struct job_fire how = { .text = S("now"), .meta = S("{}") };
	struct job_fired fired;

	return store_job_fire(tx, &s->job, &plan, &how, &fired, &s->w->e);
}

static int settle(struct scene *s, struct tx *tx)
{
	const struct job_settle how = { .retry_at_ms = 90000,
					.failing = true,
					.error = S("no"),
					.notice = S("it failed") };
	bool first;

	return store_job_settle(tx, &s->job, &s->run, &how, &first, &s->w->e);
}

static int sweep(struct scene *s, struct tx *tx)
{
	return store_job_sweep(tx, clock_now_ms() + HOUR, &s->w->e);
}

static int cancel_job(struct scene *s, struct tx *tx)
{
	return store_job_cancel(tx, s->n, S("test"), S("1"), &s->w->e);
}

static void a_job_that_is_due_and_its_end(void **state)
{
	struct scene s = scene(state);
	struct job_run *v;
	size_t n;

	(void)world_add(s.w, "0", "x");
	scheduled(&s);
	check(&s, fire);
	ok(s.w, store_job_get(s.w->s, s.n, &s.w->a, &s.job, &s.w->e));
	ok(s.w, store_job_runs(s.w->s, s.n, 1, &s.w->a, &v, &n, &s.w->e));
	s.run = v[0];
	world_sql(s.w, "UPDATE job_runs SET state = 'error'");
	check(&s, settle);
	check(&s, cancel_job);
	check(&s, sweep);
}

static int break_job(struct scene *s, struct tx *tx)
{
	return store_job_break(tx, &s->job, S("no schedule"), S("it is off"), &s->w->e);
}

static int add_job(struct scene *s, struct tx *tx)
{
	struct job another = s->job;
	int64_t id;
	int rc = store_job_add(tx, &another, 50, &id, &s->w->e);

	return rc < 0 ? rc : store_job_move(tx, &s->job, 5000, &s->w->e);
}

static void a_job_that_is_made_moved_or_broken(void **state)
{
	struct scene s = scene(state);

	(void)world_add(s.w, "0", "x");
	scheduled(&s);
	check(&s, add_job);
	ok(s.w, store_job_get(s.w->s, s.n, &s.w->a, &s.job, &s.w->e));
	check(&s, break_job);
}

static int add_system(struct scene *s, struct tx *tx)
{
	const struct system_new row = { .what = S("fold"), .key = S("k") };
	struct system_row out;
	int rc = store_system_add(tx, &row, &s->w->e);

	if (rc == OK)
		rc = store_system_claim(tx, S(""), &s->w->a, &out, &s->w->e);
	return rc < 0 ? rc : store_system_retry(tx, out.id, S("no"), &s->w->e);
}

static void work_of_our_own(void **state)
{
	struct scene s = scene(state);

	(void)world_add(s.w, "0", "x");
	check(&s, add_system);
}

#define BROKEN(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BROKEN(a_message),
		BROKEN(a_file_that_came),
		BROKEN(a_control_word),
		BROKEN(a_claim),
		BROKEN(the_steps_of_a_turn),
		BROKEN(the_end_of_a_turn),
		BROKEN(the_end_of_a_turn_with_open_calls_and_questions),
		BROKEN(a_message_that_joins),
		BROKEN(a_question),
		BROKEN(a_yes_and_its_use),
		BROKEN(the_end_of_a_questions_time),
		BROKEN(a_row_that_is_taken_up),
		BROKEN(a_piece),
		BROKEN(a_piece_that_is_put_off),
		BROKEN(an_address_that_moves),
		BROKEN(a_job_that_is_due_and_its_end),
		BROKEN(a_job_that_is_made_moved_or_broken),
		BROKEN(work_of_our_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
