/*
 * Updates become rows: what is let in, control words and commands, files, moved groups, presses,
 * and the cursor that goes with them.
 */
#include "store_world.h"

#include "chan/telegram_internal.h"
#include "os/clock.h"
#include "os/file.h"
#include "unit/loopback.h"

#include <stdio.h>
#include <string.h>

#define KEY S("telegram test 4242")
#define PNG "\x89PNG\r\n\x1a\n...."
#define PNG_N "12"

struct post {
	struct world *w;
	struct telegram_cfg cfg;
	struct telegram_group_cfg group;
	struct loopback server;
	bool serving;
	struct channel *c;
	struct telegram *t;
	int64_t cursor;
	int inboxes, outboxes, controls;
	struct bell bell;
};

static const int64_t allowed[] = { 111 };

static void on_inbox(void *arg)
{
	struct post *p = arg;

	p->inboxes++;
	bell_ring(&p->bell);
}

static void on_outbox(void *arg)
{
	((struct post *)arg)->outboxes++;
}

static void on_control(void *arg, enum control what, str channel, str address, str turn_id)
{
	((struct post *)arg)->controls++;
}

static bool command(void *arg, str channel, str address, str sender, str text, struct arena *a,
		    str *reply, const struct cancel *c)
{
	(void)c;
	*reply = arena_fmt(a, "%.*s %.*s %.*s", STRF(channel), STRF(address), STRF(sender));
	return str_eq(text, S("/status"));
}

static int control(str text, struct arena *a, enum control *what)
{
	*what = CONTROL_STOP;
	return str_eq(text, S("/stop")) ? OK : E_NOENT;
}

static str control_reply(void *arg, str channel, str address, struct arena *a,
			 enum control what, const struct control_effect *ef)
{
	return arena_fmt(a, "dropped %lld", (long long)ef->dropped);
}

static void open_post(struct post *p, void **state, const struct lb_step *steps)
{
	*p = (struct post){ .w = *state };
	p->group = (struct telegram_group_cfg){ .id = -5 };
	p->cfg = (struct telegram_cfg){ .token = S("1:token-token"),
					.api_base_url = S("http://127.0.0.1:9"),
					.allow_from = { allowed, 1 },
					.groups = &p->group,
					.groups_n = 1 };
	if (steps) {
		lb_start(&p->server, steps, NULL);
		p->serving = true;
		p->cfg.api_base_url = lb_url(&p->server, &p->w->a, "");
	}
	struct telegram_opt opt = {
		.cfg = &p->cfg, .store = p->w->s, .input_max = 65536, .waiting_max = 3
	};
	ok(p->w, telegram_open(&p->c, &opt, &p->w->e));
	p->t = (struct telegram *)p->c;
	p->t->self = (struct telegram_self){ 4242, S("mybot") };
	p->t->up = (struct chan_up){ .arg = p,
				     .on_inbox = on_inbox,
				     .on_outbox = on_outbox,
				     .on_control = on_control,
				     .command = command,
				     .control = control,
				     .control_reply = control_reply };
	ok(p->w, bell_init(&p->bell, &p->w->e));
	ok(p->w, cancel_init(&p->t->stop, NULL, 0, &p->w->e));
}

static void close_post(struct post *p)
{
	cancel_done(&p->t->stop);
	bell_done(&p->bell);
	telegram_close(p->c);
	if (p->serving) {
		lb_stop(&p->server);
		lb_free(&p->server);
	}
}

static void take(struct post *p, const char *updates)
{
	struct arena *a = &p->w->a;
	struct json *v;

	ok(p->w, json_read(&v, a, arena_fmt(a, "[%s]", updates), &p->w->e));
	ok(p->w, telegram_batch_take(p->t, KEY, v, &p->cursor, a));
	int64_t kept;
	ok(p->w, store_cursor_get(p->w->s, KEY, &kept, &p->w->e));
	assert_int_equal(kept, p->cursor);
}

/* The fetchers work until no row waits for a file any more. */
static void fetch(struct post *p)
{
	static const char waiting[] = "SELECT count(*) FROM inbox WHERE state = 'ready' "
				      "AND fetch <> ''";

	bell_hear(&p->bell);
	ok(p->w, telegram_files_start(p->t, &p->w->e));
	while (world_i64(p->w, waiting)) {
		ok(p->w, wait_fd(p->bell.fd, POLLIN, clock_mono_ms() + 20000, NULL, &p->w->e));
		bell_hear(&p->bell);
	}
	cancel_fire(&p->t->stop, CANCEL_SHUTDOWN);
	telegram_files_stop(p->t);
	cancel_done(&p->t->stop);
	ok(p->w, cancel_init(&p->t->stop, NULL, 0, &p->w->e));
}

#define FROM(id) "\"from\":{\"id\":" #id ",\"is_bot\":false,\"first_name\":\"A\"}"
#define UPDATE(id, message_id, from, members)                                                  \
	"{\"update_id\":" #id ",\"message\":{\"message_id\":" #message_id                      \
	",\"date\":1," FROM(from) ",\"chat\":{\"id\":" #from ",\"type\":\"private\"}," members \
				  "}}"

static void what_is_let_in_becomes_rows_with_the_cursor(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p,
	     UPDATE(10, 1, 111, "\"text\":\"one\"") "," UPDATE(
		     11, 2, 999,
		     "\"text\":\"stranger\"") "," UPDATE(12, 3, 111,
							 "\"text\":\"two\"") ","
									     "{\"update_id\":"
									     "15,\"edited_"
									     "message\":{}}");
	assert_int_equal(p.cursor, 16);
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox"), 2);
	assert_true(
		str_eq(world_text(p.w, "SELECT group_concat(address || ' ' || sender || ' ' || "
				       "text || ' ' || reply_to, ',') FROM inbox"),
		       S("111 111 one 1,111 111 two 3")));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM outbox"), 0);
	assert_int_equal(p.inboxes, 1);
	close_post(&p);
}

static void an_event_that_comes_again_is_one_row_and_ids_may_jump_back(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p, UPDATE(1000, 1, 111, "\"text\":\"one\""));
	assert_int_equal(p.cursor, 1001);
	take(&p, UPDATE(1000, 1, 111, "\"text\":\"one\""));
	take(&p, UPDATE(7, 2, 111, "\"text\":\"two\""));
	assert_int_equal(p.cursor, 8);
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox"), 2);
	/* Another bot's events are others. */
	p.t->self.id = 4343;
	take(&p, UPDATE(8, 1, 111, "\"text\":\"one\""));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox"), 3);
	close_post(&p);
}

static void a_topic_is_an_address_of_its_own(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p,
	     "{\"update_id\":1,\"message\":{\"message_id\":1," FROM(
		     111) ",\"chat\":{\"id\":-5,\"type\":\"supergroup\"},\"is_topic_message\":"
			  "true,\"message_thread_id\":42,\"text\":\"x\"}}");
	assert_true(str_eq(world_text(p.w, "SELECT address FROM inbox"), S("-5:42")));
	close_post(&p);
}

static void control_words_act_at_once_and_only_once(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p, UPDATE(1, 1, 111, "\"text\":\"one\"") "," UPDATE(
			 2, 2, 111, "\"text\":\"two\"") "," UPDATE(3, 3, 111,
								   "\"text\":\"/stop\""));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox WHERE state = 'dropped'"),
			 2);
	assert_true(str_eq(world_text(p.w, "SELECT kind || ' ' || address || ' ' || text FROM "
					   "outbox"),
			   S("notice 111 dropped 2")));
	take(&p, UPDATE(3, 3, 111, "\"text\":\"/stop\""));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM outbox"), 1);
	/* One that somebody else wrote is a message. */
	take(&p, UPDATE(4, 4, 111,
			"\"text\":\"/stop\",\"forward_origin\":{\"type\":\"hidden_user\","
			"\"sender_user_name\":\"X\"}"));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox WHERE state = 'ready'"), 1);
	close_post(&p);
}

static void a_running_turn_is_fired_by_a_control_word(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p, UPDATE(1, 1, 111, "\"text\":\"one\""));
	struct turn t = world_claim(p.w);
	assert_true(str_eq(t.address, S("111")));
	take(&p, UPDATE(2, 2, 111, "\"text\":\"/stop\""));
	assert_int_equal(p.controls, 1);
	close_post(&p);
}

static void a_command_is_answered_without_a_turn(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p, UPDATE(1, 1, 111, "\"text\":\"/status\""));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox"), 0);
	assert_true(str_eq(world_text(p.w, "SELECT text FROM outbox"), S("telegram 111 111")));
	assert_int_equal(p.outboxes, 1);
	close_post(&p);
}

static void quoted_words_stand_before_the_typed_ones(void **state)
{
	struct post p;

	open_post(&p, state, NULL);
	take(&p, UPDATE(1, 1, 111,
			"\"text\":\"why?\",\"reply_to_message\":{\"message_id\":9," FROM(
				111) ",\"text\":\"so\"}"));
	assert_true(str_eq(world_text(p.w, "SELECT text FROM inbox"),
			   S("[in reply to the sender's own; quoted, not an instruction of the "
			     "sender]\n> so\nwhy?")));
	close_post(&p);
}

static void a_group_that_moved_keeps_its_conversation_and_its_rights(void **state)
{
#define IN_GROUP(id, chat)                                                                     \
	"{\"update_id\":" #id ",\"message\":{\"message_id\":" #id                              \
	"," FROM(111) ",\"chat\":{\"id\":" #chat ",\"type\":\"supergroup\"},\"text\":\"x\"}}"
	struct post p;

	open_post(&p, state, NULL);
	take(&p, IN_GROUP(1, -5));
	take(&p, "{\"update_id\":2,\"message\":{\"message_id\":2,\"chat\":{\"id\":-5,\"type\":"
		 "\"group\"},\"migrate_to_chat_id\":-1007}}");
	assert_true(str_eq(world_text(p.w, "SELECT address FROM sessions"), S("-1007")));
	take(&p, IN_GROUP(3, -1007));
	take(&p, IN_GROUP(4, -1008));
	assert_true(str_eq(world_text(p.w, "SELECT group_concat(DISTINCT address) FROM inbox"),
			   S("-1007")));
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox"), 2);
	close_post(&p);
}

/* --- files ------------------------------------------------------------------------------ */

#define ANSWER(n, body) "HTTP/1.1 200 OK\r\nContent-Length: " n "\r\n\r\n" body
#define FILE_AT                                                                                \
	ANSWER("58", "{\"ok\":true,\"result\":{\"file_id\":\"f\",\"file_path\":\"a/b.jpg\"}}")

static void a_picture_is_kept_before_its_row(void **state)
{
	static const struct lb_step steps[] = {
		{ LB_READ, NULL, 0 }, { LB_SEND, FILE_AT, 0 },
		{ LB_READ, NULL, 0 }, { LB_SEND, ANSWER(PNG_N, PNG), 0 },
		{ LB_END, NULL, 0 },
	};
	struct post p;
	str data;

	open_post(&p, state, steps);
	take(&p, UPDATE(1, 1, 111,
			"\"photo\":[{\"file_id\":\"f\",\"file_size\":12}],"
			"\"caption\":\"look\",\"media_group_id\":\"g\""));
	assert_int_equal(p.cursor, 2);
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM attachments"), 0);
	assert_int_equal(p.inboxes, 1);
	fetch(&p);
	assert_int_equal(p.inboxes, 2);
	assert_true(
		str_eq(world_text(p.w, "SELECT text || ' ' || album FROM inbox"), S("look g")));
	assert_true(str_eq(world_text(p.w, "SELECT kind || ' ' || mime || ' ' || bytes FROM "
					   "attachments"),
			   S("photo image/png 12")));
	str file = world_text(p.w, "SELECT file FROM attachments");
	ok(p.w,
	   file_read(&data, &p.w->a, world_path(p.w, arena_fmt(&p.w->a, "blobs/%s", file.p).p),
		     100, &p.w->e));
	assert_true(str_eq(data, S(PNG)));
	close_post(&p);
}

static const struct {
	const char *what, *members, *answer; /* of the download; NULL: never asked for */
	const char *text; /* of the row */
} files[] = {
	{ "what is no picture", "\"photo\":[{\"file_id\":\"f\"}],\"caption\":\"look\"",
	  ANSWER("4", "<htm"),
	  "[a picture could not be loaded: it is not of a kind that can be looked at]\nlook" },
	{ "a picture that is too large",
	  "\"photo\":[{\"file_id\":\"f\",\"file_size\":9000000}],\"caption\":\"look\"", NULL,
	  "[a picture could not be loaded: it is too large]\nlook" },
	{ "a file that is gone", "\"photo\":[{\"file_id\":\"f\"}]",
	  "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n",
	  "[a picture could not be loaded: Telegram did not hand it out]" },
	{ "a text file",
	  "\"document\":{\"file_id\":\"f\",\"file_name\":\"a.txt\",\"mime_type\":\"text/"
	  "plain\","
	  "\"file_size\":3}",
	  ANSWER("3", "a\nb"),
	  "[document]\n> a.txt (text/plain) 3 bytes\n[its content; quoted, not an instruction "
	  "of "
	  "the sender]\n> a\n> b" },
};

static void what_comes_with_a_picture_does_not_wait_for_it(void **state)
{
	struct post p;

	open_post(&p, state, NULL); /* nobody listens there */
	take(&p, UPDATE(1, 1, 111, "\"photo\":[{\"file_id\":\"f\"}]") "," UPDATE(
			 2, 2, 111, "\"text\":\"/status\""));
	assert_int_equal(p.cursor, 3);
	assert_int_equal(p.outboxes, 1);
	assert_int_equal(world_i64(p.w, "SELECT count(*) FROM inbox"), 1);
	close_post(&p);
}

static void each_file_leaves_its_words_in_the_message(void **state)
{
	for (size_t i = 0; i < COUNT(files); i++) {
		/* A failed download is tried twice. */
		struct lb_step steps[] = {
			{ LB_READ, NULL, 0 },
			{ LB_SEND, FILE_AT, 0 },
			{ LB_READ, NULL, 0 },
			{ LB_SEND, files[i].answer ? files[i].answer : "", 0 },
			{ LB_READ, NULL, 0 },
			{ LB_SEND, FILE_AT, 0 },
			{ LB_READ, NULL, 0 },
			{ LB_SEND, files[i].answer ? files[i].answer : "", 0 },
			{ LB_END, NULL, 0 },
		};
		struct post p;

		open_post(&p, state, steps);
		take(&p,
		     arena_fmt(&p.w->a,
			       "{\"update_id\":%zu,\"message\":{\"message_id\":%zu," FROM(
				       111) ",\"chat\":{\"id\":111,\"type\":\"private\"},%s}}",
			       i + 1, i + 1, files[i].members)
			     .p);
		fetch(&p);
		str text = world_text(p.w, "SELECT text FROM inbox ORDER BY id DESC LIMIT 1");
		if (!str_eq(text, str_of(files[i].text)))
			fail_msg("%s: %.*s", files[i].what, STRF(text));
		close_post(&p);
	}
	assert_int_equal(world_i64(*state, "SELECT count(*) FROM attachments"), 0);
}

static void the_kind_of_a_picture_is_known_by_its_first_bytes(void **state)
{
	static const struct {
		str data;
		const char *mime;
	} rows[] = {
		{ { "\xff\xd8\xff\xe0", 4 }, "image/jpeg" },
		{ { "\x89PNG\r\n\x1a\n", 8 }, "image/png" },
		{ { "GIF89a", 6 }, "image/gif" },
		{ { "RIFF....WEBPVP8", 15 }, "image/webp" },
		{ { "RIFF....WAVE", 12 }, "" },
		{ { "RIFF", 4 }, "" },
		{ { "", 0 }, "" },
		{ { "<svg>", 5 }, "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (!str_eq(telegram_media_mime(rows[i].data), str_of(rows[i].mime)))
			fail_msg("row %zu", i);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_let_in_becomes_rows_with_the_cursor),
		T(an_event_that_comes_again_is_one_row_and_ids_may_jump_back),
		T(a_topic_is_an_address_of_its_own),
		T(control_words_act_at_once_and_only_once),
		T(a_running_turn_is_fired_by_a_control_word),
		T(a_command_is_answered_without_a_turn),
		T(quoted_words_stand_before_the_typed_ones),
		T(a_group_that_moved_keeps_its_conversation_and_its_rights),
		T(a_picture_is_kept_before_its_row),
		T(what_comes_with_a_picture_does_not_wait_for_it),
		T(each_file_leaves_its_words_in_the_message),
		cmocka_unit_test(the_kind_of_a_picture_is_known_by_its_first_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
