/*
 * A conversation over Telegram: people write, press and send files, the Bot API answers well,
 * badly or never, turns run, ask and answer, time passes and clocks are set, and the process is
 * stopped or killed and started again.  The channel, the deliverers and the journal are the real
 * ones, on a stage (stage.h) with a Bot API that keeps a ledger (stage_bot.h).
 *
 * What has to hold: a message that was confirmed to Telegram is a row, once; an answer begins to
 * arrive once, but for one more time a kill; the cursor does not go back; who was told to wait
 * does; what is sent is what Telegram takes; nobody waits for ever; and the token is nowhere.
 */
#include "stage_bot.h"

#include "agent/slash.h"
#include "base/utf.h"
#include "chan/telegram_internal.h"
#include "gateway/work.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "store/approval.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TURNS 4
#define DELIVERERS 2
#define OPS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t allowed[] = { BOT_PERSON };
static const struct telegram_group_cfg any_group = { .any = true };
static const struct telegram_cfg telegram = { .token = { BOT_TOKEN, sizeof BOT_TOKEN - 1 },
					      .api_base_url = { BOT_URL, sizeof BOT_URL - 1 },
					      .allow_from = { allowed, 1 },
					      .groups = &any_group,
					      .groups_n = 1 };

/* What a process is made of, and what outlives it. */
static struct world {
	char dir[64], file[80], wal[96];
	str empty; /* a database where nothing happened yet, and the one of a kill */
	str snapshot, snapshot_wal;
	struct arena keep, run, a;
	struct store_cfg cfg;
	struct engine g;
	struct channel *c;
	struct thread deliverers[DELIVERERS];
	struct turn turns[TURNS];
	size_t turns_n;
	int answers, kills;
	bool fatal, up;
} w;

static struct err why;

static void sound(int rc)
{
	if (rc != OK) {
		(void)fprintf(stderr, "%s: %s\n", err_word(rc), why.msg);
		abort();
	}
}

/* --- a process -------------------------------------------------------------------------- */

static void on_nothing(void *arg)
{
	(void)arg;
}

static void on_outbox(void *arg)
{
	(void)arg;
	bell_ring(&w.g.outbox);
}

static void on_turn(void *arg, str turn_id)
{
	(void)arg;
	(void)turn_id;
}

static void on_control(void *arg, enum control what, str channel, str address, str turn_id)
{
	(void)what;
	(void)channel;
	(void)address;
	on_turn(arg, turn_id);
}

static str control_reply(void *arg, str channel, str address, struct arena *a,
			 enum control what, const struct control_effect *ef)
{
	(void)arg;
	(void)channel;
	(void)address;
	return slash_control_reply(a, what, ef, false);
}

static bool command(void *arg, str channel, str address, str sender, str text, struct arena *a,
		    str *reply, const struct cancel *c)
{
	(void)arg;
	(void)channel;
	(void)sender;
	(void)c;
	*reply = arena_fmt(a, "at %.*s", STRF(address));
	return str_starts(text, S("/"));
}

static void on_fatal(void *arg, int code)
{
	(void)arg;
	must(code == E_DENIED); /* the token: nothing else ends a daemon here */
	w.fatal = true;
}

static void *deliver(void *arg)
{
	const struct work_opt opt = { .channel = w.c };

	(void)arg;
	while (cancel_reason(&w.g.root) == CANCEL_NONE) {
		struct err e = { 0 };
		int64_t wake = 0;
		bell_hear(&w.g.outbox);
		int rc = work_deliver(&w.g, &opt, &wake, &e);
		must(rc == OK || rc == E_NOENT || rc == E_CANCELED);
		if (rc == OK)
			continue;
		int64_t left = wake ? wake - clock_now_ms() : 60000;
		left = left < 1 ? 1 : left > 60000 ? 60000 : left;
		rc = wait_fd(w.g.outbox.fd, POLLIN, clock_mono_ms() + left, &w.g.root, NULL);
		if (rc < 0 && rc != E_TIMEOUT)
			break;
	}
	return NULL;
}

static void begin_process(void)
{
	static const struct telegram_command menu[] = { { { "help", 4 }, { "this list", 9 } } };
	const struct chan_up up = { .on_inbox = on_nothing,
				    .on_outbox = on_outbox,
				    .on_control = on_control,
				    .command = command,
				    .on_answer = on_turn,
				    .control = slash_control,
				    .control_reply = control_reply,
				    .on_poll = on_nothing,
				    .on_fatal = on_fatal };
	struct telegram_opt opt = { .cfg = &telegram,
				    .stream = true,
				    .input_max = 65536,
				    .waiting_max = 8,
				    .commands = menu,
				    .commands_n = 1 };
	int64_t n;

	w.g = (struct engine){ 0 };
	sound(cancel_init(&w.g.root, NULL, 0, &why));
	sound(bell_init(&w.g.outbox, &why));
	sound(bell_init(&w.g.control, &why));
	sound(bell_init(&w.g.clock, &why));
	sound(store_open(&w.g.store, &w.cfg, STORE_DAEMON, NULL, &why));
	sound(store_recover(w.g.store, NULL, &n, &why));
	opt.store = w.g.store;
	sound(telegram_open(&w.c, &opt, &why));
	for (size_t i = 0; i < DELIVERERS; i++)
		sound(thread_start(&w.deliverers[i], "deliver", deliver, NULL, &why));
	sound(w.c->start(w.c, w.g.store, &up, NULL, &why));
	w.up = true;
	w.fatal = false;
}

static void end_process(void)
{
	if (!w.up)
		return;
	w.c->stop(w.c);
	cancel_fire(&w.g.root, CANCEL_SHUTDOWN);
	for (size_t i = 0; i < DELIVERERS; i++)
		thread_join(&w.deliverers[i]);
	telegram_close(w.c);
	store_close(w.g.store);
	bell_done(&w.g.outbox);
	bell_done(&w.g.control);
	bell_done(&w.g.clock);
	cancel_done(&w.g.root);
	arena_free(&w.run);
	w.turns_n = 0;
	w.up = false;
}

static void put_file(const char *path, str bytes)
{
	FILE *f = fopen(path, "we");

	must(f && fwrite(bytes.p, 1, bytes.n, f) == bytes.n);
	must(fclose(f) == 0);
}

static str get_file(struct arena *a, const char *path)
{
	str out = { 0 };
	int rc = file_read(&out, a, path, 64 << 20, &why);

	must(rc == OK || rc == E_NOENT);
	return out;
}

/* What the disk holds at this instant is what the next process finds. */
static void die(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str file = get_file(&a, w.file), wal = get_file(&a, w.wal);

	w.kills++;
	bot.dead = true;
	end_process();
	bot.dead = false;
	put_file(w.file, file);
	put_file(w.wal, wal);
}

/* --- turns ------------------------------------------------------------------------------ */

static void claim(void)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct turn *t = &w.turns[w.turns_n];
	str wire = S("{\"role\":\"user\",\"content\":\"x\"}");

	if (w.turns_n == TURNS)
		return;
	sound(store_begin(&tx, w.g.store, NULL, &why));
	int rc = store_turn_claim(&tx, S(""), &w.run, t, &why);
	if (rc == E_NOENT)
		return;
	sound(rc);
	if (!t->resumed)
		sound(store_message_user(&tx, t->id, wire, t->rows[0].text, S(""), &why));
	sound(store_commit(&tx, &why));
	w.turns_n++;
	w.c->live(w.c, t->id, t->address, LIVE_START, S(""));
}

static void show(const struct turn *t)
{
	static const enum live_kind kinds[] = { LIVE_TEXT, LIVE_TEXT, LIVE_TRACE, LIVE_SLOW };
	str text = stage_text(200);

	if (utf_valid(text))
		w.c->live(w.c, t->id, t->address, kinds[stage_below(4)], text);
}

static void forget(size_t i)
{
	w.c->live(w.c, w.turns[i].id, w.turns[i].address, LIVE_STOP, S(""));
	w.turns[i] = w.turns[--w.turns_n];
}

static int finish_as(const struct turn *t, str text)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct turn_finish f = { .end = TURN_CANCELED, .history = HISTORY_NONE };
	struct outbox_new row = { .session_id = t->session.id,
				  .turn_id = t->id,
				  .channel = t->channel,
				  .address = t->address,
				  .kind = S("reply"),
				  .text = text,
				  .reply_to = t->reply_to };
	int64_t id;
	int rc = store_begin(&tx, w.g.store, NULL, &why);

	if (rc == OK && text.n) {
		f = (struct turn_finish){ .end = TURN_DONE,
					  .history = HISTORY_FULL,
					  .final_wire = S("{\"role\":\"assistant\","
							  "\"content\":\"y\"}"),
					  .final_text = S("y"),
					  .round = 9 };
		rc = store_outbox_add(&tx, &row, &id, &why);
	}
	if (rc == OK)
		rc = store_turn_finish(&tx, t, &f, &why);
	return rc == OK ? store_commit(&tx, &why) : rc;
}

/* With an answer that is counted, and may be long. */
static void finish(size_t i)
{
	unsigned times = stage_byte() % 64;
	str piece = stage_text(200);
	struct buf b = buf_in(&w.run, 1 << 20);
	int rc;

	if (!utf_valid(piece) || w.answers == BOT_WORDS)
		piece = S("");
	buf_fmt(&b, "a%d; ", w.answers < BOT_WORDS ? w.answers++ : 999);
	for (unsigned n = 0; n <= times; n++)
		buf_add(&b, piece);
	rc = finish_as(&w.turns[i], buf_str(&b));
	if (rc == E_CANCELED)
		rc = finish_as(&w.turns[i], S(""));
	sound(rc == E_INVAL ? finish_as(&w.turns[i], S("")) : rc);
	forget(i);
	bell_ring(&w.g.outbox);
}

static void ask(size_t i)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const struct turn *t = &w.turns[i];
	char id[ID_LONG_LEN + 1];
	struct call call = { .round = 1,
			     .index = 1,
			     .provider_id = S("p"),
			     .requested = S("t"),
			     .name = S("t"),
			     .args = S("{}"),
			     .state = CALL_PLANNED,
			     .decision = S("ask"),
			     .decider = S("policy"),
			     .requester = S("111") };
	struct turn_step step = { .round = 1,
				  .wire = S("{\"role\":\"assistant\",\"tool_calls\":[]}"),
				  .calls = &call,
				  .calls_n = 1 };
	bool parked = false;

	if (t->resumed)
		return;
	id_new(call.id);
	struct approval q = { .session_id = t->session.id,
			      .turn_id = t->id,
			      .call_id = str_of(call.id),
			      .channel = t->channel,
			      .address = t->address,
			      .tool = S("tool"),
			      .command = arena_dup(&w.run, stage_text(200)),
			      .hash = S("h"),
			      .reason = S("asks"),
			      .created_at_ms = clock_now_ms(),
			      .expires_at_ms = clock_now_ms() + 3600000 };
	if (!utf_valid(q.command))
		q.command = S("x");
	sound(store_begin(&tx, w.g.store, NULL, &why));
	int rc = store_turn_step(&tx, t->id, &step, &why);
	if (rc == OK)
		rc = store_approval_add(&tx, &q, id, &why);
	if (rc == OK)
		rc = store_turn_park(&tx, t->id, &parked, &why);
	if (rc == OK)
		sound(store_commit(&tx, &why));
	else
		must(rc == E_CANCELED || rc == E_INVAL || rc == E_IO);
	if (parked && rc == OK)
		forget(i);
	bell_ring(&w.g.outbox);
}

static void work(void)
{
	unsigned what = stage_below(6);
	size_t i = w.turns_n ? stage_below((unsigned)w.turns_n) : 0;

	if (!w.turns_n || what < 2)
		claim();
	else if (what < 4)
		show(&w.turns[i]);
	else if (what == 4)
		ask(i);
	else
		finish(i);
}

/* --- judging ---------------------------------------------------------------------------- */

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW) {
		(void)fprintf(stderr, "%s: %s\n", sqlite3_errmsg(db), sql);
		abort();
	}
	int64_t n = sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	return n;
}

static void check(bool holds, const char *what, int64_t n)
{
	if (holds)
		return;
	(void)fprintf(stderr, "it does not hold: %s (%lld)\n", what, (long long)n);
	abort();
}

static void judge(void)
{
	static const char *const none[] = {
		"SELECT count(*) FROM inbox i JOIN turns t ON t.id = i.turn_id WHERE "
		"(i.state = 'claimed') <> (t.state IN ('ready','running','parked'))",
		"SELECT count(*) FROM turns WHERE (state = 'running') <> (owner <> '')",
		"SELECT count(*) FROM (SELECT count(*) AS n FROM turns WHERE state IN "
		"('ready','running','parked') GROUP BY session_id) WHERE n > 1",
		"SELECT count(*) FROM pieces WHERE instr(error, 'token-token')",
		"SELECT count(*) FROM inbox WHERE instr(text, 'let me in')",
	};
	sqlite3 *db;
	char sql[200];

	must(sqlite3_open(w.file, &db) == SQLITE_OK);
	for (size_t i = 0; i < COUNT(none); i++)
		check(number(db, none[i]) == 0, none[i], 0);
	for (size_t i = 0; i < bot.said_n; i++) {
		(void)snprintf(sql, sizeof sql,
			       "SELECT count(*) FROM inbox WHERE instr(text, 'm%zu;') = 1", i);
		int64_t n = number(db, sql);
		check(n <= 1, "a message is one row", (int64_t)i);
		check(n == 1 || !bot.said[i].confirmed || bot.odd,
		      "a message that was confirmed is a row", (int64_t)i);
	}
	for (int i = 0; i < w.answers; i++)
		check(bot.heard[i].sent <= 1 + w.kills, "an answer arrives once", i);
	must(sqlite3_close(db) == SQLITE_OK);
}

/* --- a run ------------------------------------------------------------------------------ */

static void play(void)
{
	static const int64_t spans[] = { 1, 50, 1000, 1500, 5000, 30000, 61000, 300000 };

	bot_serve();
	begin_process();
	for (int i = 0; i < OPS && stage_more(); i++) {
		switch (stage_below(16)) {
		case 0:
		case 1:
		case 2:
			bot_person();
			break;
		case 3:
		case 4:
		case 5:
		case 6:
		case 7:
			work();
			break;
		case 8:
		case 9:
		case 10:
			stage_pass(spans[stage_below(COUNT(spans))]);
			break;
		case 11:
			bot.mean = stage_below(2);
			break;
		case 12:
			stage_set_clock((int64_t)((int)stage_byte() - 128) * 600000);
			break;
		case 13:
			end_process();
			begin_process();
			break;
		case 14:
			die();
			begin_process();
			break;
		default:
			w.c->notice(w.c, S(""), S("the disk is full"));
		}
		stage_settle();
		bot_serve();
		stage_settle();
		if (w.fatal) {
			end_process();
			begin_process();
		}
	}
	/* Whatever it was, when all is well again everything that waits goes out. */
	bot.mean = false;
	for (int i = 0; i < 8; i++) {
		stage_pass(61000);
		bot_serve();
	}
	end_process();
}

static void make_empty(void)
{
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	struct store *s;

	(void)snprintf(w.dir, sizeof w.dir, "%s/gantry-talk-XXXXXX", base);
	must(mkdtemp(w.dir) != NULL);
	(void)snprintf(w.file, sizeof w.file, "%s/gantry.db", w.dir);
	(void)snprintf(w.wal, sizeof w.wal, "%s-wal", w.file);
	w.cfg = (struct store_cfg){ .dsn = str_of(w.file), .data_dir = str_of(w.dir) };
	sound(store_open(&s, &w.cfg, STORE_DAEMON, NULL, &why));
	store_close(s);
	w.empty = get_file(&w.keep, w.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	stage_begin(data, size);
	if (!w.empty.n) {
		sound(log_open(&(struct log_opt){ .level = LOG_ERROR + 1 }, &why));
		make_empty();
	}
	put_file(w.file, w.empty);
	(void)unlink(w.wal);
	w.kills = w.answers = 0;
	bot_begin();
	play();
	judge();
	bot_end();
	arena_free(&w.run);
	stage_end();
	return 0;
}
