/*
 * Conversations with two tool servers, one behind pipes and one behind a URL: callers call and
 * leave, servers answer, ask, flood, hang and die in any order (stage_peer.h), time passes, the
 * manifest is read again.  All of mcp/ below the host is the real one, on a stage (stage.h).
 *
 * What has to hold: every call ends within its limits, and at once when its caller leaves; no
 * caller is given the answer to another call; no id is used twice; whatever is sent is a whole
 * message; what comes of a call is text that can be shown; and nothing waits for ever.
 */
#include "stage_peer.h"

#include "base/utf.h"
#include "mcp/host.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/thread.h"

#include <stdio.h>
#include <string.h>

#define CALLERS 8
#define OPS 300
#define CALL_MS 5000
#define MAX_MS 60000
#define LEAVE_MS 50

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct caller {
	struct thread thread;
	struct cancel cancel;
	struct arena a;
	int who;
	int64_t n, since_ms, asked_ms; /* asked: how long it answered questions */
	bool used, leaves, over;
	unsigned mood; /* how it answers */
};

static const char *const names[PEERS] = { [PEER_PIPE] = "pipe", [PEER_WEB] = "web" };

static struct {
	struct arena a;
	struct config config;
	struct env env;
	struct mcp_server_cfg servers[PEERS];
	struct mcp_host *host;
	struct caller callers[CALLERS];
	int64_t calls;
} w;

/* --- callers ---------------------------------------------------------------------------- */

static int on_question(void *arg, const struct mcp_question *q, struct arena *a,
		       struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct caller *me = arg;
	int64_t since = clock_mono_ms();
	int rc = wait_ms(me->mood % 4 * 700, c, e);

	(void)a;
	must(q->kind == MCP_ELICIT || q->kind == MCP_SAMPLE);
	me->asked_ms += clock_mono_ms() - since;
	*out = (struct mcp_answer){ .result = S("{\"action\":\"decline\"}") };
	return rc < 0 && me->mood & 4 ? rc : OK;
}

/* "for-7.": which request was it the answer to? */
static int64_t meant_for(str text)
{
	size_t at = str_find(text, S("for-"));
	int64_t id = -1;

	if (at == SIZE_MAX)
		return -1;
	str rest = str_sub(text, at + 4, text.n), digits = str_cut(&rest, '.');
	return str_i64(digits, &id) ? id : -1;
}

static void check_mine(const struct caller *me, str text)
{
	const struct peer *p = &peers[me->who];
	int64_t id = meant_for(text);
	bool mine = false, known = false;

	must(text.n && utf_valid(text));
	for (size_t i = 0; i < p->notes_n && i < PEER_IDS && id >= 0; i++)
		if (p->notes[i].id == id) {
			known = true;
			mine |= p->notes[i].call == me->n;
		}
	if (!known || mine)
		return;
	(void)fprintf(stderr, "call %lld was given the answer to request %lld\n",
		      (long long)me->n, (long long)id);
	abort();
}

static void *call(void *arg)
{
	struct caller *me = arg;
	struct mcp_result r = { 0 };
	struct err e = { 0 };
	struct mcp_call c = { .server = str_of(names[me->who]),
			      .tool = S("echo"),
			      .args = arena_fmt(&me->a, "{\"n\":%lld}", (long long)me->n),
			      .on_question = me->mood & 8 ? on_question : NULL,
			      .origin = me->mood & 16 ? S("o") : S(""),
			      .arg = me };
	int rc = mcp_host_call(w.host, &c, &me->a, &r, &me->cancel, &e);

	/* Asked for more, it says so once more, with answers. */
	for (int i = 0; i < 3 && rc == OK && r.needs_input; i++) {
		c.state = arena_dup(&me->a, r.state);
		c.answers = S("{\"k\":{\"action\":\"decline\"}}");
		me->since_ms = clock_mono_ms();
		rc = mcp_host_call(w.host, &c, &me->a, &r, &me->cancel, &e);
	}
	must(rc <= OK && (rc == OK || e.msg[0]));
	if (rc == OK && !r.needs_input)
		check_mine(me, r.text);
	me->over = true;
	return NULL;
}

static void begin_call(void)
{
	struct caller *c = w.callers;

	while (c->used)
		if (++c == w.callers + CALLERS)
			return;
	*c = (struct caller){ .used = true,
			      .who = (int)stage_below(PEERS),
			      .n = w.calls++,
			      .mood = stage_byte(),
			      .since_ms = clock_mono_ms() };
	must(cancel_init(&c->cancel, NULL, 0, NULL) == OK);
	must(thread_start(&c->thread, "caller", call, c, NULL) == OK);
}

static void leave(struct caller *c)
{
	if (!c->used || c->over)
		return;
	cancel_fire(&c->cancel, CANCEL_USER);
	stage_pass(LEAVE_MS);
	must(c->over);
}

static void collect(void)
{
	int64_t now = clock_mono_ms();

	for (size_t i = 0; i < CALLERS; i++) {
		struct caller *c = &w.callers[i];
		if (!c->used)
			continue;
		/* A task may be asked about once more at the end of its time. */
		must(c->over || now - c->since_ms <= 2 * MAX_MS + c->asked_ms + 5000);
		if (!c->over)
			continue;
		thread_join(&c->thread);
		cancel_done(&c->cancel);
		arena_free(&c->a);
		c->used = false;
	}
}

/* --- the host --------------------------------------------------------------------------- */

static int save_tools(void *arg, str server, str json, struct err *e)
{
	struct json *v;

	(void)arg;
	(void)server;
	must(json_read(&v, &w.a, json, e) == OK);
	return OK;
}

static str load_tools(void *arg, str server, struct arena *a)
{
	(void)arg;
	(void)server;
	(void)a;
	return S("");
}

static void on_notice(void *arg, str server, str method, const struct json *params)
{
	(void)arg;
	(void)params;
	must(server.n && str_starts(method, S("notifications/")));
}

static void begin(void)
{
	static char *block[] = { NULL };
	struct mcp_host_opt opt = { .config = &w.config,
				    .env = &w.env,
				    .save_tools = save_tools,
				    .load_tools = load_tools,
				    .on_notice = on_notice,
				    .roots = S("/srv/w"),
				    .offer = { .form = true, .url = true } };
	struct mcp_manifest m = { .servers = w.servers, .n = PEERS };
	struct err e = { 0 };

	w.env = env_copy(&w.a, block);
	w.config.mcp = (struct mcp_cfg){ .call_timeout_ms = CALL_MS,
					 .call_max_ms = MAX_MS,
					 .start_timeout_ms = 3000,
					 .ping_interval_ms = 10000,
					 .line_max = 20000 };
	w.servers[PEER_PIPE] =
		(struct mcp_server_cfg){ .name = S("pipe"), .command = S("/bin/x") };
	w.servers[PEER_WEB] =
		(struct mcp_server_cfg){ .name = S("web"),
					 .http = { .url = S(PEER_URL), .allow_http = true } };
	w.servers[PEER_WEB].http.transport = (enum mcp_transport)stage_below(4);
	if (w.servers[PEER_WEB].http.transport == MCP_TRANSPORT_STDIO)
		w.servers[PEER_WEB].http.transport = MCP_TRANSPORT_AUTO;
	must(mcp_host_start(&w.host, &opt, &m, &e) == OK);
}

static void look(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_server_status *v;
	struct mcp_catalog c;
	size_t n;

	mcp_host_status(w.host, &a, &v, &n);
	mcp_host_catalog(w.host, &a, &c);
	must(n == PEERS);
	for (size_t i = 0; i < c.n; i++)
		must(c.tools[i].name.n > 0 && c.tools[i].name.n <= 64);
}

static void reload(void)
{
	struct mcp_manifest m = { .servers = w.servers, .n = PEERS };
	struct err e = { 0 };

	w.servers[PEER_PIPE].timeout_ms = 1000 + stage_below(3) * 1000;
	peers[PEER_PIPE].life++;
	must(mcp_host_reload(w.host, &w.config, &m, &e) == OK);
}

static void play(void)
{
	static const int64_t spans[] = { 1, 50, 500, 1500, 4000, 11000 };

	for (int i = 0; i < OPS && stage_more(); i++) {
		unsigned what = stage_below(20);
		if (what < 5)
			begin_call();
		else if (what < 14)
			peer_act();
		else if (what < 17)
			stage_pass(spans[stage_below(COUNT(spans))]);
		else if (what == 17)
			leave(&w.callers[stage_below(CALLERS)]);
		else if (what == 18)
			look();
		else if (stage_below(8) == 0)
			reload();
		stage_settle();
		peer_read();
		collect();
	}
	/* Left alone, each call ends by itself. */
	for (int i = 0; i < 80; i++) {
		stage_pass(2000);
		peer_read();
		collect();
	}
	for (size_t i = 0; i < CALLERS; i++)
		leave(&w.callers[i]);
	collect();
	peer_behave();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool quiet;

	stage_begin(data, size);
	if (!quiet)
		must(log_open(&(struct log_opt){ .level = LOG_ERROR + 1 }, NULL) == OK);
	quiet = true;
	w.calls = 0;
	peer_begin();
	begin();
	play();
	mcp_host_stop(w.host);
	peer_end();
	arena_free(&w.a);
	stage_end();
	return 0;
}
