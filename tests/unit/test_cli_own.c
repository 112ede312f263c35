/*
 * Turns that a command runs itself: its own row to its end, whatever comes between, and the
 * signals beside it.
 */
#include "agent_world.h"
#include "full_disk.h"

#include "cli/own.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

struct desk {
	struct agent_world *k;
	struct engine g;
	struct channel channel;
	struct own own;
	struct buf said;
	int tell; /* where signals come from */
};

static struct desk *desk; /* for callbacks without an argument */

static int render(struct channel *self, const struct outbox_row *row, struct arena *a,
		  struct piece_new **out, size_t *n, struct err *e)
{
	*out = NEW(a, struct piece_new);
	**out = (struct piece_new){ .method = S("send"),
				    .body = row->text,
				    .plain = row->text };
	*n = 1;
	return OK;
}

static void send_piece(struct channel *self, const struct outbox_row *row,
		       const struct piece *piece, struct arena *a, struct send_result *out,
		       const struct cancel *c)
{
	buf_fmt(&desk->said, "%.*s\n", STRF(piece->body));
	*out = (struct send_result){ .end = SEND_OK };
}

static void live(struct channel *self, str turn_id, str address, enum live_kind kind, str text)
{
	(void)turn_id;
}

static int setup(void **state)
{
	struct desk *d = desk = calloc(1, sizeof *d);
	int ends[2];

	(void)agent_world_setup((void **)&d->k);
	d->channel = (struct channel){
		.name = OWN_CHANNEL, .render = render, .send = send_piece, .live = live
	};
	d->said = buf_in(&d->k->w->a, 1 << 16);
	turns_init(&d->g.turns);
	assert_int_equal(cancel_init(&d->g.root, NULL, 0, NULL), OK);
	assert_int_equal(cancel_init(&d->g.stop, &d->g.root, 0, NULL), OK);
	assert_int_equal(bell_init(&d->g.inbox, NULL), OK);
	assert_int_equal(bell_init(&d->g.outbox, NULL), OK);
	assert_int_equal(bell_init(&d->g.control, NULL), OK);
	d->g.cfg = &d->k->cfg;
	d->g.store = d->k->w->s;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	d->tell = ends[1];
	d->own = (struct own){ .g = &d->g,
			       .work = { .only = store_owner(d->g.store),
					 .channel = &d->channel },
			       .address = S("chat"),
			       .signals = ends[0] };
	assert_int_equal(own_open(&d->own, NULL), OK);
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct desk *d = *state;

	atomic_store(&full_writes, 0);
	own_close(&d->own);
	close(d->own.signals);
	close(d->tell);
	bell_done(&d->g.control);
	bell_done(&d->g.outbox);
	bell_done(&d->g.inbox);
	cancel_done(&d->g.stop);
	cancel_done(&d->g.root);
	turns_done(&d->g.turns);
	(void)agent_world_teardown((void **)&d->k);
	free(d);
	return 0;
}

static void signal_it(int signo)
{
	struct signalfd_siginfo info = { .ssi_signo = (uint32_t)signo };

	assert_int_equal(write(desk->tell, &info, sizeof info), sizeof info);
}

static int say(struct desk *d, const char *text, char *turn)
{
	aw_open(d->k);
	d->g.agent = d->k->agent;
	return own_turn(&d->own, str_of(text), turn, &d->k->e);
}

static void assert_said(struct desk *d, const char *want)
{
	if (!str_eq(buf_str(&d->said), str_of(want)))
		fail_msg("said \"%.*s\", not \"%s\"", STRF(buf_str(&d->said)), want);
}

static str state_of(struct desk *d, const char *turn)
{
	str state, error;

	ok(d->k->w, store_turn_state(d->g.store, str_of(turn), &d->k->w->a, &state, &error,
				     &d->k->w->e));
	return state;
}

static void a_message_is_answered(void **state)
{
	struct desk *d = *state;
	char turn[ID_LEN + 1];

	aw_says(d->k, "t:Hello");
	ok(d->k->w, say(d, "hi", turn));
	assert_said(d, "Hello\n");
	assert_true(str_eq(state_of(d, turn), S("done")));
}

static void interrupt(void)
{
	signal_it(SIGINT);
}

static void an_interrupt_ends_the_turn_and_not_the_command(void **state)
{
	struct desk *d = *state;
	char turn[ID_LEN + 1];

	d->k->on_odd = interrupt;
	aw_says(d->k, "c:odd {}|wait {}");
	aw_says(d->k, "t:Next");
	ok(d->k->w, say(d, "hi", turn));
	assert_true(str_eq(state_of(d, turn), S("canceled")));
	assert_int_equal(d->own.signo, SIGINT);
	assert_int_equal(cancel_reason(&d->own.leave), CANCEL_NONE);
	ok(d->k->w, say(d, "and now", turn));
	assert_said(d, "Next\n");
	assert_int_equal(d->own.signo, 0);
}

static void fill_and_interrupt(void)
{
	atomic_store(&full_writes, -1);
	signal_it(SIGINT);
}

static void a_full_disk_neither_stops_an_interrupt_nor_loses_a_message(void **state)
{
	struct desk *d = *state;
	char turn[ID_LEN + 1];

	d->k->on_odd = fill_and_interrupt;
	aw_says(d->k, "c:odd {}|wait {}");
	aw_says(d->k, "t:First");
	aw_says(d->k, "t:Second");
	assert_int_equal(say(d, "one", turn), E_FULL);
	assert_true(str_eq(state_of(d, turn), S("running")));
	atomic_store(&full_writes, 0);
	/* Both, in the order they were said; and turn is the second's. */
	ok(d->k->w, say(d, "two", turn));
	assert_said(d, "First\nSecond\n");
	assert_true(str_eq(world_text(d->k->w, arena_fmt(&d->k->w->a,
							 "SELECT text FROM inbox WHERE "
							 "turn_id = '%s'",
							 turn)
						       .p),
			   S("two")));
	world_check(d->k->w);
}

/* Another process runs a turn of the session; its user says /new. */
static void a_message_that_another_chat_dropped_is_not_waited_for(void **state)
{
	struct desk *d = *state;
	struct inbox_new row = { .channel = S(OWN_CHANNEL),
				 .address = S("chat"),
				 .kind = S("cli"),
				 .owner = S("somebody"),
				 .text = S("theirs") };
	char turn[ID_LEN + 1];
	struct tx tx = world_begin(d->k->w);
	int64_t id;
	struct turn theirs;

	ok(d->k->w, store_inbox_add(&tx, &row, &id, &d->k->w->e));
	ok(d->k->w, store_turn_claim(&tx, S("somebody"), &d->k->w->a, &theirs, &d->k->w->e));
	ok(d->k->w, store_message_user(&tx, theirs.id, S("{\"role\":\"user\"}"), S("theirs"),
				       S(""), &d->k->w->e));
	world_commit(d->k->w, &tx);
	world_sql(d->k->w, "CREATE TRIGGER other AFTER INSERT ON inbox BEGIN UPDATE inbox SET "
			   "state = 'dropped' WHERE id = new.id; END");
	assert_int_equal(say(d, "mine", turn), E_CANCELED);
	assert_string_equal(turn, "");
	world_sql(d->k->w, "DROP TRIGGER other");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_is_answered),
		TEST(an_interrupt_ends_the_turn_and_not_the_command),
		TEST(a_full_disk_neither_stops_an_interrupt_nor_loses_a_message),
		TEST(a_message_that_another_chat_dropped_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
