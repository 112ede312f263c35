/*
 * Presses of buttons: what they say, whether they belong here, and that one of them decides.
 */
#include "store_world.h"

#include "chan/telegram_internal.h"
#include "os/clock.h"
#include "store/audit.h"

#include <string.h>

#define ID "0123456789abcdef0123456789abcdef"

static void only_our_own_buttons_are_understood(void **state)
{
	static const struct {
		const char *data;
		bool good, yes, always;
	} rows[] = {
		{ "ok:" ID, true, true, false },
		{ "no:" ID, true, false, false },
		{ "al:" ID, true, true, true },
		{ "ok:1", false, false, false },
		{ "ok:0123456789ABCDEF0123456789abcdef", false, false, false },
		{ "xx:" ID, false, false, false },
		{ ID, false, false, false },
		{ "", false, false, false },
		{ "ok:" ID "0", false, false, false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		bool yes = false, always = false;
		str id;

		bool good = telegram_press_parse(str_of(rows[i].data), &id, &yes, &always);
		if (good != rows[i].good ||
		    (good && (yes != rows[i].yes || always != rows[i].always)))
			fail_msg("%s", rows[i].data);
	}
}

/* A question in the chat -5, in its topic 42. */
static void ask(struct world *w, char *id)
{
	struct tx tx;
	struct inbox_new row = { .channel = S(TELEGRAM_CHANNEL),
				 .address = S("-5:42"),
				 .kind = S("message"),
				 .text = S("do it") };
	int64_t inbox;

	tx = world_begin(w);
	ok(w, store_inbox_add(&tx, &row, &inbox, &w->e));
	world_commit(w, &tx);
	struct turn t = world_claim(w);
	struct call call = world_call(1, 1, CALL_PLANNED, false);
	world_step(w, &t, 1, &call, 1);
	struct approval q = {
		.session_id = t.session.id,
		.turn_id = t.id,
		.call_id = str_of(call.id),
		.channel = S(TELEGRAM_CHANNEL),
		.address = S("-5:42"),
		.tool = S("tool"),
		.command = S("{}"),
		.hash = S("h"),
		.reason = S("asks"),
		.created_at_ms = clock_now_ms(),
		.expires_at_ms = clock_now_ms() + 3600000,
	};
	tx = world_begin(w);
	ok(w, store_approval_add(&tx, &q, id, &w->e));
	ok(w, store_approval_message(&tx, str_of(id), S("7"), &w->e));
	world_commit(w, &tx);
}

static struct telegram_press press(struct world *w, int64_t chat, int64_t message_id,
				   const char *verb, const char *id)
{
	struct telegram t = { .store = w->s };
	struct telegram_event ev = { .chat = chat,
				     .message_id = message_id,
				     .from = 111,
				     .from_name = S("Ann"),
				     .data = arena_fmt(&w->a, "%s:%s", verb, id) };
	struct telegram_press p;
	struct tx tx;

	telegram_press_judge(&t, &ev, &w->a, &p);
	tx = world_begin(w);
	ok(w, telegram_press_decide(&tx, &ev, &p, &w->a, &w->e));
	world_commit(w, &tx);
	return p;
}

#define STATE "SELECT state || ' ' || decided_by FROM approvals"

static void the_first_press_decides_and_the_second_is_told(void **state)
{
	struct world *w = *state;
	char id[ID_LONG_LEN + 1];
	struct telegram_press p;

	ask(w, id);
	p = press(w, -5, 7, "ok", id);
	assert_true(p.decided && p.edit);
	assert_true(str_has(p.verdict, S("Approved by Ann")));
	assert_true(str_eq(world_text(w, STATE), S("approved 111")));
	p = press(w, -5, 7, "no", id);
	assert_false(p.decided);
	assert_true(p.edit && p.verdict.n == 0); /* who decided stays there */
	assert_true(str_has(p.answer, S("Already decided: approved")));
	assert_true(str_eq(world_text(w, STATE), S("approved 111")));
	/* The same question as it was asked before a restart loses its buttons. */
	p = press(w, -5, 6, "no", id);
	assert_true(p.edit && str_has(p.verdict, S("approved")));
}

static void a_press_from_elsewhere_or_for_nothing_changes_nothing(void **state)
{
	struct world *w = *state;
	char id[ID_LONG_LEN + 1];
	struct telegram_press p;

	ask(w, id);
	p = press(w, -6, 7, "ok", id);
	assert_true(str_has(p.answer, S("not asked here")));
	p = press(w, -5, 7, "ok", ID);
	assert_true(str_has(p.answer, S("unknown")));
	p = press(w, -5, 7, "ok", "1");
	assert_int_equal(p.answer.n, 0);
	assert_true(str_eq(world_text(w, STATE), S("pending ")));
}

static void always_keeps_a_grant(void **state)
{
	struct world *w = *state;
	char id[ID_LONG_LEN + 1];
	enum grant_found found = GRANT_NONE;

	ask(w, id);
	assert_true(press(w, -5, 7, "al", id).decided);
	ok(w, store_grant_find(w->s, S("tool"), S("h"), 0, &found, &w->e));
	assert_int_equal(found, GRANT_YES);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_our_own_buttons_are_understood),
		T(the_first_press_decides_and_the_second_is_told),
		T(a_press_from_elsewhere_or_for_nothing_changes_nothing),
		T(always_keeps_a_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
