/*
 * Servers as children, seen through the host: the handshake and its accidents, calls, cancel,
 * death and return, reload (mcp/client.c and mcp/server.c below it).  The servers are this program itself, see mcp_fake.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf.h"
#include "children.h"
#include "mcp/host.h"
#include "mcp/server.h"
#include "mcp_fake.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/log.h"
#include "os/signals.h"
#include "os/thread.h"
#include "os/wait.h"
#include "text/json.h"

#define SERVERS_MAX 8

/* A host over a manifest of fakes, and what a test reads of it. */
struct rig {
	struct arena a;
	struct config config; /* cfg: a short name for its part */
	struct mcp_cfg *cfg;
	struct env env;
	struct mcp_server_cfg servers[SERVERS_MAX];
	size_t n;
	struct mcp_host *host;
	char dir[64];
	struct bell changed, noticed;
	struct mcp_offer offer;
	char notices[500]; /* under lock */
	str saved[SERVERS_MAX]; /* by index of the server; under lock */
	bool over; /* likewise */
	pthread_mutex_t lock;
	struct arena saved_arena;
};

static int save_tools(void *arg, str server, str json, struct err *e)
{
	struct rig *r = arg;

	(void)e;
	(void)pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->servers[i].name, server))
			r->saved[i] = arena_dup(&r->saved_arena, json);
	(void)pthread_mutex_unlock(&r->lock);
	return OK;
}

static str load_tools(void *arg, str server, struct arena *a)
{
	struct rig *r = arg;
	str text = { 0 };

	(void)pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->servers[i].name, server))
			text = arena_dup(a, r->saved[i]);
	(void)pthread_mutex_unlock(&r->lock);
	return text;
}

static void on_notice(void *arg, str server, str method, const struct json *params)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1000);
	struct rig *r = arg;

	buf_fmt(&b, "%.*s %.*s ", STRF(server), STRF(method));
	json_write(&b, params);
	(void)pthread_mutex_lock(&r->lock);
	(void)snprintf(r->notices + strlen(r->notices), sizeof(r->notices) - strlen(r->notices),
		       "%.*s\n", STRF(buf_str(&b)));
	(void)pthread_mutex_unlock(&r->lock);
	bell_ring(&r->noticed);
}

static void on_change(void *arg)
{
	bell_ring(&((struct rig *)arg)->changed);
}

static void rig_init(struct rig *r)
{
	static char *block[] = { "PATH=/usr/bin:/bin", "HOME=/root",
				 "SECRET_KEY=hunter2-hunter2", "OTHER=1", NULL };
	static const str secrets[] = { { "hunter2-hunter2", 15 } };

	*r = (struct rig){ 0 };
	(void)pthread_mutex_init(&r->lock, NULL);
	r->cfg = &r->config.mcp;
	*r->cfg = (struct mcp_cfg){ .call_timeout_ms = TEST_MS, .start_timeout_ms = TEST_MS };
	r->config.secrets = secrets;
	r->config.secrets_n = 1;
	r->env = env_copy(&r->a, block);
	(void)snprintf(r->dir, sizeof(r->dir), "/tmp/mcp-host-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	assert_int_equal(bell_init(&r->changed, NULL), OK);
	assert_int_equal(bell_init(&r->noticed, NULL), OK);
}

static void rig_done(struct rig *r)
{
	mcp_host_stop(r->host);
	(void)unlink(arena_fmt(&r->a, "%s/log", r->dir).p);
	(void)rmdir(r->dir);
	bell_done(&r->changed);
	bell_done(&r->noticed);
	arena_free(&r->saved_arena);
	(void)pthread_mutex_destroy(&r->lock);
	arena_free(&r->a);
}

/* Add a server that runs this program with tricks, NULL-terminated. */
static struct mcp_server_cfg *add(struct rig *r, const char *name, const char *const *tricks)
{
	struct mcp_server_cfg *s;
	size_t n = 0;
	str *args;

	while (tricks[n])
		n++;
	args = NEWN(&r->a, str, n + 1);
	args[0] = S(MCP_FAKE);
	for (size_t i = 0; i < n; i++)
		args[i + 1] = arena_dup(&r->a, str_of(tricks[i]));
	/* The threads of other servers may be looking. */
	(void)pthread_mutex_lock(&r->lock);
	s = &r->servers[r->n++];
	*s = (struct mcp_server_cfg){ .name = str_of(name),
				      .command = str_of(mcp_fake_self()),
				      .args = { args, n + 1 } };
	(void)pthread_mutex_unlock(&r->lock);
	return s;
}

#define TRICKS(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static void go(struct rig *r)
{
	struct mcp_manifest m = { .servers = r->servers, .n = r->n };
	struct mcp_host_opt opt = { .config = &r->config,
				    .env = &r->env,
				    .save_tools = save_tools,
				    .load_tools = load_tools,
				    .on_change = on_change,
				    .on_notice = on_notice,
				    .offer = r->offer,
				    .arg = r,
				    .roots = S("/srv/work space") };
	struct err e = { 0 };

	if (mcp_host_start(&r->host, &opt, &m, &e) < 0)
		fail_msg("%s", e.msg);
}

static void ready(struct rig *r)
{
	struct err e = { 0 };

	if (mcp_host_ready(r->host, soon(), NULL, &e) < 0)
		fail_msg("not ready: %s", e.msg);
}

static struct mcp_server_status status_of(struct rig *r, const char *name)
{
	struct mcp_server_status *v;
	size_t n;

	mcp_host_status(r->host, &r->a, &v, &n);
	for (size_t i = 0; i < n; i++)
		if (str_eq(v[i].name, str_of(name)))
			return v[i];
	fail_msg("no server %s", name);
	return (struct mcp_server_status){ 0 };
}

static bool listed(struct rig *r, const char *name)
{
	struct mcp_catalog c;

	mcp_host_catalog(r->host, &r->a, &c);
	for (size_t i = 0; i < c.n; i++)
		if (str_eq(c.tools[i].name, str_of(name)))
			return true;
	return false;
}

static int call_rc(struct rig *r, const char *server, const char *tool, const char *args,
		   struct mcp_result *result, const struct cancel *c, struct err *e)
{
	struct mcp_call mc = { .server = str_of(server),
			       .tool = str_of(tool),
			       .args = str_of(args) };

	return mcp_host_call(r->host, &mc, &r->a, result, c, e);
}

/* A call that has to come back well. */
static str call(struct rig *r, const char *server, const char *tool, const char *args)
{
	struct mcp_result result;
	struct err e = { 0 };

	if (call_rc(r, server, tool, args, &result, NULL, &e) < 0)
		fail_msg("%s: %s", tool, e.msg);
	assert_true(result.text.n > 0);
	return result.text;
}

#define assert_text(s, text)                                                                   \
	do {                                                                                   \
		str got_ = (s);                                                                \
		if (!str_eq(got_, str_of(text)))                                               \
			fail_msg("got \"%.*s\"", STRF(got_));                                  \
	} while (0)

/* Wait, watching the thing itself, until ok(); the watchdog is generous. */
#define await(ok)                                                                              \
	for (int64_t until_ = soon(); !(ok);)                                                  \
		if (clock_mono_ms() > until_ || wait_ms(5, NULL, NULL) < 0)                    \
	fail_msg("never: %s", #ok)

static void a_call_goes_out_and_its_answer_comes_back(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	assert_int_equal(status_of(&r, "one").state, MCP_READY);
	assert_text(status_of(&r, "one").note, "fake 1.0, 2025-11-25");
	assert_text(call(&r, "one", "echo", "{\"text\":\n\"a\\nb\"\r\n}"), "a\nb");
	assert_int_equal(call_rc(&r, "one", "fail", "", &result, NULL, &e), OK);
	assert_true(result.failed);
	assert_text(result.text, "tool error: no such file");
	assert_int_equal(call_rc(&r, "one", "rpc_error", "null", &result, NULL, &e), OK);
	assert_true(result.failed);
	assert_text(result.text, "tool error: Unknown tool: rpc_error (code -32602)");
}

static void bad_arguments_and_names_are_refused_before_anything_is_sent(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS());
	add(&r, "few", TRICKS())->exclude = (struct str_list){ &S("f*"), 1 };
	go(&r);
	ready(&r);
	assert_int_equal(call_rc(&r, "one", "echo", "[1]", &result, NULL, &e), E_INVAL);
	assert_true(result.not_sent);
	assert_int_equal(call_rc(&r, "one", "echo", "{\"a\":", &result, NULL, &e), E_INVAL);
	assert_int_equal(call_rc(&r, "two", "echo", "{}", &result, NULL, &e), E_NOENT);
	assert_string_equal(e.msg, "there is no server \"two\"");
	assert_int_equal(call_rc(&r, "few", "fail", "{}", &result, NULL, &e), E_NOENT);
	assert_true(result.not_sent);
	assert_false(listed(&r, "few__fail"));
	assert_true(listed(&r, "few__echo"));
	assert_true(listed(&r, "one__fail"));
}

static void noise_floods_and_slow_writes_do_not_disturb(void **state)
{
	const char *const *const tricks[] = {
		TRICKS("noise", "flood"),
		TRICKS("crlf"),
		TRICKS("trickle"),
		TRICKS("twice"),
		TRICKS("early-changed", "noise", "crlf"),
	};
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	for (size_t i = 0; i < COUNT(tricks); i++)
		add(&r, names[i], tricks[i]);
	go(&r);
	ready(&r);
	for (size_t i = 0; i < COUNT(tricks); i++) {
		assert_int_equal(status_of(&r, names[i]).state, MCP_READY);
		assert_text(call(&r, names[i], "echo", "{\"text\":\"x\"}"), "x");
	}
}

static void every_revision_of_the_era_is_spoken_and_another_is_refused(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "a", TRICKS("revision=2024-11-05"));
	add(&r, "b", TRICKS("revision=2025-03-26"));
	add(&r, "c", TRICKS("revision=2025-06-18"));
	add(&r, "d", TRICKS("revision=1999-01-01"));
	add(&r, "e", TRICKS("init-error"));
	go(&r);
	ready(&r);
	assert_text(status_of(&r, "a").note, "fake 1.0, 2024-11-05");
	assert_text(call(&r, "b", "echo", "{\"text\":\"x\"}"), "x");
	assert_text(call(&r, "c", "echo", "{\"text\":\"x\"}"), "x");
	assert_int_equal(status_of(&r, "d").state, MCP_FAILED);
	assert_text(
		status_of(&r, "d").note,
		"the server speaks protocol revision \"1999-01-01\", which is not known here");
	assert_int_equal(call_rc(&r, "d", "echo", "{}", &result, NULL, &e), E_NOENT);
	assert_true(result.not_sent);
	assert_non_null(strstr(e.msg, "1999-01-01"));
	assert_text(status_of(&r, "e").note, "initialize was refused: not today");
}

static void bad_servers_are_named_with_their_reason_and_do_not_delay_the_good_one(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	/* Within it the good one has to start, on a busy machine too. */
	r.cfg->start_timeout_ms = 2000;
	add(&r, "silent", TRICKS("silent"));
	add(&r, "gone", TRICKS())->command = S("/nonexistent");
	add(&r, "exits", TRICKS("exit=1"))->env = (struct str_list){ &S("MY_KEY=my key"), 1 };
	add(&r, "good", TRICKS());
	go(&r);
	assert_text(call(&r, "good", "echo", "{\"text\":\"x\"}"), "x");
	ready(&r);
	assert_int_equal(status_of(&r, "silent").state, MCP_FAILED);
	assert_text(status_of(&r, "silent").note, "no answer to initialize within 2000 ms");
	assert_int_equal(status_of(&r, "gone").state, MCP_FAILED);
	assert_non_null(strstr(status_of(&r, "gone").note.p, "/nonexistent"));
	assert_text(status_of(&r, "exits").note, "exit 1; stderr: cannot find [REDACTED]");
	await(status_of(&r, "exits").restarts >= 1);
	assert_int_equal(status_of(&r, "good").restarts, 0);
}

static void pages_are_merged_and_endless_ones_end(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	add(&r, "pages", TRICKS("page=3"));
	add(&r, "loop", TRICKS("page-loop"));
	add(&r, "many", TRICKS("many=3000", "page=100"));
	add(&r, "none", TRICKS("no-tools"));
	go(&r);
	ready(&r);
	assert_int_equal(status_of(&r, "pages").listed, 20);
	assert_int_equal(status_of(&r, "loop").listed, 20);
	assert_int_equal(status_of(&r, "many").listed, 3000);
	assert_int_equal(status_of(&r, "none").listed, 0);
	assert_int_equal(status_of(&r, "none").state, MCP_READY);
	assert_true(listed(&r, "pages__raw"));
	assert_true(listed(&r, "many__tool2999"));
}

static size_t lines_with(struct rig *r, const char *file, const char *what)
{
	str text, rest, line;
	struct err e = { 0 };
	size_t n = 0;

	assert_int_equal(file_read(&text, &r->a, file, 64 << 20, &e), OK);
	for (rest = text; rest.n;) {
		line = str_cut(&rest, '\n');
		n += str_has(line, str_of(what));
	}
	return n;
}

static void a_burst_of_list_changed_leads_to_one_or_two_lists(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *log;

	rig_init(&r);
	log = arena_fmt(&r.a, "%s/log", r.dir).p;
	add(&r, "one", TRICKS("changed=20", arena_fmt(&r.a, "log=%s", log).p));
	go(&r);
	await(listed(&r, "one__late"));
	assert_text(call(&r, "one", "late", "{}"), "better late");
	assert_in_range(lines_with(&r, log, "tools/list"), 1, 3);
}

static void questions_of_the_server_are_answered_even_before_the_handshake(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	add(&r, "one", TRICKS("ask-first"));
	go(&r);
	ready(&r);
	assert_text(call(&r, "one", "replies", "{}"),
		    "R\"p\"{}\n"
		    "R1{\"roots\":[{\"uri\":\"file:///srv/work%20space\",\"name\":\"work "
		    "space\"}]}\n"
		    "E2{\"code\":-32601,\"message\":\"this client does not serve "
		    "sampling/createMessage\"}\n"
		    "R3{}\n");
}

static void a_cancelled_call_ends_at_once_and_the_server_is_told(void **state)
{
	SCOPED(rig_done) struct rig r;
	SCOPED(cancel_done) struct cancel c;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	assert_int_equal(cancel_init(&c, NULL, 50, &e), OK);
	assert_int_equal(call_rc(&r, "one", "hang", "{}", &result, &c, &e), E_TIMEOUT);
	assert_false(result.not_sent);
	await(str_has(call(&r, "one", "seen", "{}"), S("\"reason\":\"timed out\"")));
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(call_rc(&r, "one", "hang", "{}", &result, &c, &e), E_CANCELED);
	assert_true(result.not_sent);
	assert_text(call(&r, "one", "echo", "{\"text\":\"still there\"}"), "still there");
}

static void a_call_ends_at_the_limit_of_its_server(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS())->timeout_ms = 60;
	go(&r);
	ready(&r);
	assert_int_equal(call_rc(&r, "one", "hang", "{}", &result, NULL, &e), E_TIMEOUT);
	assert_string_equal(e.msg, "no answer from server \"one\" within 60 ms");
	assert_int_equal(status_of(&r, "one").restarts, 0);
}

struct steps {
	int n;
	double done, total;
	char last[32];
};

static void on_progress(void *arg, double done, double total, str message)
{
	struct steps *s = arg;

	s->n++;
	s->done = done;
	s->total = total;
	(void)snprintf(s->last, sizeof(s->last), "%.*s", STRF(message));
}

static void progress_reaches_the_caller(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct steps steps = { 0 };
	struct mcp_progress progress = { on_progress, &steps };
	struct mcp_call mc = { .server = S("one"),
			       .tool = S("progress"),
			       .args = S("{\"n\":50}"),
			       .progress = &progress };
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	/* The notices may all come with the answer, which then is all that is seen. */
	for (int i = 0; i < 200 && !steps.n; i++)
		assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, &e), OK);
	assert_text(result.text, "with token");
	assert_true(steps.n > 0);
	assert_true(steps.done >= 1 && steps.total == 50);
	assert_true(strncmp(steps.last, "step ", 5) == 0);
	/* Also when nobody listens: progress keeps a call alive. */
	assert_text(call(&r, "one", "progress", "{}"), "with token");
}

static int answer_question(void *arg, const struct mcp_question *q, struct arena *a,
			   struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	int *asked = arg;

	(void)c;
	(void)e;
	(*asked)++;
	assert_true(str_eq(q->server, S("one")));
	assert_int_equal(q->kind, MCP_ELICIT);
	out->result = arena_fmt(a, "{\"action\":\"accept\",\"content\":{\"to\":\"%.*s\"}}",
				STRF(json_str(q->params, "message")));
	return OK;
}

static void what_a_server_asks_in_a_call_is_answered_by_whoever_called(void **state)
{
	SCOPED(rig_done) struct rig r;
	int asked = 0;
	struct mcp_call mc = { .server = S("one"),
			       .tool = S("ask"),
			       .args = S("{\"message\":\"colour?\"}"),
			       .on_question = answer_question,
			       .arg = &asked };
	struct mcp_result result;

	rig_init(&r);
	r.offer.form = true;
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, NULL), OK);
	assert_text(result.text, "{\"action\":\"accept\",\"content\":{\"to\":\"colour?\"}}");
	assert_int_equal(asked, 1);
	mc.on_question = NULL;
	assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, NULL), OK);
	assert_text(result.text, "no call is open that could be asked");
}

static void other_requests_are_answered_and_changes_are_told(void **state)
{
	SCOPED(rig_done) struct rig r;
	const struct mcp_request ping = { .server = S("one"), .method = "ping" };
	struct mcp_request wrong = { .server = S("one"), .method = "no/such" };
	const struct json *v = NULL;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS("updates=3"));
	go(&r);
	ready(&r);
	assert_int_equal(mcp_host_request(r.host, &ping, &r.a, &v, NULL, &e), OK);
	assert_int_equal(v->type, JSON_OBJECT);
	assert_int_equal(mcp_host_request(r.host, &wrong, &r.a, &v, NULL, &e), E_PROTO);
	assert_string_equal(e.msg, "server \"one\": Method not found");
	wrong.params = S("[]");
	assert_int_equal(mcp_host_request(r.host, &wrong, &r.a, &v, NULL, &e), E_INVAL);
	wrong.server = S("two");
	assert_int_equal(mcp_host_request(r.host, &wrong, &r.a, &v, NULL, &e), E_NOENT);
	/* Three of the same are one. */
	assert_int_equal(wait_fd(r.noticed.fd, POLLIN, clock_mono_ms() + TEST_MS, NULL, NULL),
			 OK);
	(void)pthread_mutex_lock(&r.lock);
	assert_string_equal(r.notices,
			    "one notifications/resources/updated {\"uri\":\"file:///a\"}\n");
	(void)pthread_mutex_unlock(&r.lock);
	assert_true(status_of(&r, "one").caps.resources);
	assert_string_equal(status_of(&r, "one").revision, "2025-11-25");
}

static void a_server_without_a_handshake_is_found_out_and_called(void **state)
{
	SCOPED(rig_done) struct rig r;
	int asked = 0;
	struct mcp_call mc = { .server = S("one"),
			       .tool = S("ask"),
			       .on_question = answer_question,
			       .arg = &asked };
	struct mcp_result result;

	rig_init(&r);
	r.offer.form = true;
	add(&r, "one", TRICKS("stateless", "changed=1"));
	go(&r);
	ready(&r);
	assert_string_equal(status_of(&r, "one").revision, "2026-07-28");
	assert_text(call(&r, "one", "echo", "{\"text\":\"hello\"}"), "hello");
	/* What it asks is the caller's to answer, by calling again. */
	assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, NULL), OK);
	assert_true(result.needs_input && !result.failed);
	assert_int_equal(result.questions_n, 1);
	assert_true(str_is(result.questions[0].key, "who"));
	assert_true(str_is(result.questions[0].server, "one"));
	mc.state = result.state;
	mc.answers = S("{\"who\":{\"action\":\"decline\"}}");
	assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, NULL), OK);
	assert_text(result.text, "{\"who\":{\"action\":\"decline\"}}st");
	assert_int_equal(asked, 0);
	/* One that answers nothing is not asked. */
	mc = (struct mcp_call){ .server = S("one"), .tool = S("ask") };
	assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, NULL), OK);
	assert_text(result.text,
		    "tool error: the server asks for elicitation/create, which was "
		    "not offered to it");
	/* What it does not ask at all goes on by itself, within bounds. */
	assert_text(call(&r, "one", "again", "{\"n\":3}"), "after 3");
	mc = (struct mcp_call){ .server = S("one"),
				.tool = S("again"),
				.args = S("{\"n\":99}") };
	assert_int_equal(mcp_host_call(r.host, &mc, &r.a, &result, NULL, NULL), E_LIMIT);
}

static void changes_of_a_server_without_a_handshake_are_listened_for(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_request rq = { .server = S("one"),
				  .method = "resources/subscribe",
				  .params = S("{\"uri\":\"file:///w\"}") };
	const struct json *v;

	rig_init(&r);
	add(&r, "one", TRICKS("stateless"));
	go(&r);
	ready(&r);
	for (int life = 0; life < 2; life++) {
		if (life == 0)
			assert_int_equal(mcp_host_request(r.host, &rq, &r.a, &v, NULL, NULL),
					 OK);
		assert_int_equal(
			wait_fd(r.noticed.fd, POLLIN, clock_mono_ms() + TEST_MS, NULL, NULL),
			OK);
		bell_hear(&r.noticed);
		(void)pthread_mutex_lock(&r.lock);
		assert_string_equal(
			r.notices,
			"one notifications/resources/updated {\"uri\":\"file:///w\"}\n");
		r.notices[0] = '\0';
		(void)pthread_mutex_unlock(&r.lock);
		/* The next life of it is asked for the same. */
		if (life == 0) {
			struct mcp_call die = { .server = S("one"), .tool = S("die") };
			struct mcp_result result;

			assert_int_equal(mcp_host_call(r.host, &die, &r.a, &result, NULL, NULL),
					 E_IO);
		}
	}
}

/* Which methods did the server of that log hear first? */
static str first_method(struct rig *r)
{
	str text, line;
	struct json *v;

	assert_int_equal(
		file_read(&text, &r->a, arena_fmt(&r->a, "%s/log", r->dir).p, 1 << 20, NULL),
		OK);
	line = str_cut(&text, '\n');
	assert_int_equal(json_read(&v, &r->a, line, NULL), OK);
	return json_str(v, "method");
}

static void how_a_server_begins_is_remembered(void **state)
{
	static const char *const kinds[] = { "stateless", "log-only" };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		SCOPED(rig_done) struct rig r;

		rig_init(&r);
		for (int run = 0; run < 2; run++) {
			str log = arena_fmt(&r.a, "log=%s/log", r.dir);

			(void)unlink(log.p + 4);
			if (run == 0)
				add(&r, "one", TRICKS(kinds[i], log.p));
			go(&r);
			ready(&r);
			assert_text(call(&r, "one", "echo", "{\"text\":\"hello\"}"), "hello");
			assert_true(str_is(first_method(&r), i == 0 || run == 0
								     ? "server/discover"
								     : "initialize"));
			assert_non_null(
				strstr(r.saved[0].p, i == 0 ? "\"revision\":\"2026-07-28\""
							    : "\"revision\":\"2025-11-25\""));
			mcp_host_stop(r.host);
			r.host = NULL;
		}
		/* It is another one now. */
		((str *)(uintptr_t)r.servers[0].args.v)[1] =
			i == 0 ? S("log-only") : S("stateless");
		(void)unlink(arena_fmt(&r.a, "%s/log", r.dir).p);
		go(&r);
		await(status_of(&r, "one").state == MCP_READY);
		assert_text(call(&r, "one", "echo", "{\"text\":\"hello\"}"), "hello");
	}
}

static void a_server_that_is_deaf_to_the_probe_or_dies_of_it_is_spoken_to_the_old_way(
	void **state)
{
	static const char *const kinds[] = { "deaf-to-unknown", "dies-of-unknown" };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		SCOPED(rig_done) struct rig r;

		rig_init(&r);
		r.cfg->start_timeout_ms = 1500;
		add(&r, "one", TRICKS(kinds[i]));
		go(&r);
		await(status_of(&r, "one").state == MCP_READY);
		assert_text(call(&r, "one", "echo", "{\"text\":\"hello\"}"), "hello");
	}
}

static void big_answers_come_whole_and_too_big_ones_fail_alone(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };
	str text;

	rig_init(&r);
	r.cfg->line_max = 4 << 20;
	add(&r, "one", TRICKS("crlf"));
	go(&r);
	ready(&r);
	text = call(&r, "one", "big", "{\"n\":1000000}");
	assert_int_equal(text.n, 3000000);
	assert_true(utf_valid(text));
	assert_int_equal(call_rc(&r, "one", "huge", "{\"n\":2000000}", &result, NULL, &e), OK);
	assert_true(result.failed);
	assert_non_null(strstr(result.text.p, "over the limit of 4194304 bytes"));
	assert_int_equal(
		call_rc(&r, "one", "huge", "{\"n\":2000000,\"tail\":false}", &result, NULL, &e),
		OK);
	assert_true(result.failed);
	assert_text(call(&r, "one", "echo", "{\"text\":\"next\"}"), "next");
	assert_int_equal(status_of(&r, "one").restarts, 0);
}

static void a_server_that_dies_in_a_call_fails_it_and_is_started_again(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	assert_int_equal(call_rc(&r, "one", "die", "{}", &result, NULL, &e), E_IO);
	assert_false(result.not_sent);
	assert_string_equal(e.msg, "server \"one\": exit 3; stderr: dying");
	assert_true(listed(&r, "one__echo"));
	/* The next call waits for the new life, and is no failure. */
	assert_text(call(&r, "one", "echo", "{\"text\":\"back\"}"), "back");
	assert_int_equal(status_of(&r, "one").restarts, 1);
}

static void a_server_that_closed_a_pipe_is_dead_and_an_unwritten_call_survives_it(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	assert_text(call(&r, "one", "deaf", "{}"), "done");
	/* Its pipe is closed, which only the write finds out: none of it was sent. */
	assert_text(call(&r, "one", "echo", "{\"text\":\"a\"}"), "a");
	assert_int_equal(status_of(&r, "one").restarts, 1);
	assert_text(call(&r, "one", "mute", "{}"), "done");
	await(status_of(&r, "one").restarts == 2);
	assert_text(call(&r, "one", "echo", "{\"text\":\"b\"}"), "b");
}

static bool keeps(const struct mcp_server_cfg *running, const struct mcp_server_cfg *entry)
{
	struct mcp_server s = { .cfg = *running };

	atomic_store(&s.roots, &running->roots);
	return mcp_server_keeps(&s, entry);
}

static void a_server_is_the_same_only_when_every_key_is(void **state)
{
	static const str one[] = { { "x", 1 } };
	const struct mcp_server_cfg base = { .name = S("n"), .command = S("c") };
	struct mcp_server_cfg v[17];

	for (size_t i = 0; i < COUNT(v); i++)
		v[i] = base;
	assert_true(keeps(&base, &v[0]));
	v[0].name = v[1].command = v[2].tools_prefix = v[3].cwd = v[4].box.profile = S("x");
	v[5].args = v[6].env = v[7].tools = v[8].exclude = (struct str_list){ one, 1 };
	v[9].timeout_ms = 1;
	v[10].trusted = true;
	v[11].has_inherit_env = true;
	v[12].box.network = S("deny");
	v[13].box.require = true;
	v[14].box.read = v[15].box.write = v[16].box.grants = (struct str_list){ one, 1 };
	for (size_t i = 0; i < COUNT(v); i++)
		if (keeps(&base, &v[i]))
			fail_msg("row %zu", i);
	v[0] = v[11];
	v[0].inherit_env = true;
	assert_false(keeps(&v[0], &v[11]));
	/* Other roots are told, but not the first ones, nor that there are none any more. */
	v[0] = v[1] = v[2] = base;
	v[1].roots = (struct str_list){ one, 1 };
	v[2].roots = (struct str_list){ &S("y"), 1 };
	assert_true(keeps(&v[1], &v[2]));
	assert_false(keeps(&v[0], &v[1]));
	assert_false(keeps(&v[1], &v[0]));
}

static void a_failing_tool_does_not_restart_its_server(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct err e = { 0 };
	str pid;

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	pid = call(&r, "one", "pid", "{}");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(call_rc(&r, "one", "fail", "{}", &result, NULL, &e), OK);
		assert_int_equal(call_rc(&r, "one", "nonsense", "{}", &result, NULL, &e), OK);
	}
	assert_true(str_eq(pid, call(&r, "one", "pid", "{}")));
}

static void a_hung_idle_server_is_found_and_started_again(void **state)
{
	SCOPED(rig_done) struct rig r;
	SCOPED(cancel_done) struct cancel c;
	struct mcp_result result;
	struct err e = { 0 };

	rig_init(&r);
	r.cfg->ping_interval_ms = 1000;
	add(&r, "mute", TRICKS("no-ping"));
	add(&r, "stuck", TRICKS());
	go(&r);
	ready(&r);
	assert_int_equal(cancel_init(&c, NULL, 300, &e), OK);
	assert_int_equal(call_rc(&r, "stuck", "freeze", "{}", &result, &c, &e), E_TIMEOUT);
	await(status_of(&r, "mute").restarts >= 1);
	await(status_of(&r, "stuck").restarts >= 1);
	assert_text(call(&r, "stuck", "echo", "{\"text\":\"again\"}"), "again");
}

static void a_live_idle_server_is_left_alone(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *log;
	str pid;

	rig_init(&r);
	r.cfg->ping_interval_ms = 500; /* which is also how long an answer may take */
	log = arena_fmt(&r.a, "%s/log", r.dir).p;
	add(&r, "one", TRICKS(arena_fmt(&r.a, "log=%s", log).p));
	go(&r);
	ready(&r);
	pid = call(&r, "one", "pid", "{}");
	await(lines_with(&r, log, "\"ping\"") >= 3);
	assert_true(str_eq(pid, call(&r, "one", "pid", "{}")));
}

/* A frame that fills the pipe of a server which does not read: the caller may leave, the
 * frame may not be cut, and the server's own limit ends it. */
static void a_server_that_stops_reading_is_dead_after_its_limit(void **state)
{
	SCOPED(rig_done) struct rig r;
	SCOPED(cancel_done) struct cancel c;
	SCOPED(cancel_done) struct cancel late;
	struct mcp_result result;
	struct err e = { 0 };
	struct buf args;

	rig_init(&r);
	add(&r, "one", TRICKS())->timeout_ms = 1000;
	go(&r);
	ready(&r);
	args = buf_in(&r.a, 4 << 20);
	buf_add(&args, S("{\"text\":\""));
	for (int i = 0; i < 30000; i++)
		buf_add(&args, S("xxxxxxxxxx"));
	buf_add(&args, S("\"}"));
	assert_int_equal(cancel_init(&c, NULL, 100, &e), OK);
	assert_int_equal(call_rc(&r, "one", "freeze", "{}", &result, &c, &e), E_TIMEOUT);
	assert_int_equal(cancel_init(&late, NULL, 500, &e), OK);
	assert_int_equal(call_rc(&r, "one", "echo", buf_str(&args).p, &result, &late, &e),
			 E_TIMEOUT);
	assert_false(result.not_sent);
	await(status_of(&r, "one").restarts >= 1);
	assert_text(str_sub(call(&r, "one", "echo", buf_str(&args).p), 0, 3), "xxx");
}

static void cancels_in_the_middle_of_frames_never_break_the_stream(void **state)
{
	SCOPED(rig_done) struct rig r;
	const char *log;
	struct buf args;
	struct err e = { 0 };
	str text, rest;

	rig_init(&r);
	log = arena_fmt(&r.a, "%s/log", r.dir).p;
	add(&r, "one", TRICKS(arena_fmt(&r.a, "log=%s", log).p));
	go(&r);
	ready(&r);
	args = buf_in(&r.a, 4 << 20);
	buf_add(&args, S("{\"text\":\""));
	for (int i = 0; i < 30000; i++)
		buf_add(&args, S("xxxxxxxxxx"));
	buf_add(&args, S("\"}"));
	for (int i = 0; i < 40; i++) {
		SCOPED(cancel_done) struct cancel c;
		struct mcp_result result;

		assert_int_equal(cancel_init(&c, NULL, 1 + i % 4, &e), OK);
		(void)!call_rc(&r, "one", "echo", buf_str(&args).p, &result, &c, &e);
	}
	assert_text(call(&r, "one", "echo", "{\"text\":\"whole\"}"), "whole");
	assert_int_equal(status_of(&r, "one").restarts, 0);
	assert_int_equal(file_read(&text, &r.a, log, 64 << 20, &e), OK);
	for (rest = text; rest.n;) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct json *v;

		if (json_read(&v, &a, str_cut(&rest, '\n'), &e) < 0)
			fail_msg("a broken frame: %s", e.msg);
	}
}

struct caller {
	struct rig *r;
	struct thread thread;
	int k;
	bool wrong;
};

static void *call_many(void *arg)
{
	struct caller *c = arg;

	for (int i = 0; i < 100 && !c->wrong; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str text = arena_fmt(&a, "%d-%d", c->k, i);
		struct mcp_result result;

		struct mcp_call mc = { .server = i % 2 ? S("one") : S("two"),
				       .tool = S("echo"),
				       .args = arena_fmt(&a, "{\"text\":\"%.*s\"}",
							 STRF(text)) };

		if (mcp_host_call(c->r->host, &mc, &a, &result, NULL, NULL) < 0 ||
		    !str_eq(result.text, text))
			c->wrong = true;
	}
	return NULL;
}

static void calls_from_many_threads_get_their_own_answers(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct caller callers[16];

	rig_init(&r);
	add(&r, "one", TRICKS());
	add(&r, "two", TRICKS());
	go(&r);
	for (int i = 0; i < 16; i++) {
		callers[i] = (struct caller){ .r = &r, .k = i };
		assert_int_equal(thread_start(&callers[i].thread, "caller", call_many,
					      &callers[i], NULL),
				 OK);
	}
	for (int i = 0; i < 16; i++)
		thread_join(&callers[i].thread);
	for (int i = 0; i < 16; i++)
		assert_false(callers[i].wrong);
}

static void the_child_gets_no_secret_and_what_the_manifest_gives(void **state)
{
	SCOPED(rig_done) struct rig r;
	static const str given[] = { { "GIVEN=yes", 9 } };
	str strict, inherited;

	rig_init(&r);
	add(&r, "strict", TRICKS())->env = (struct str_list){ given, 1 };
	add(&r, "inherits", TRICKS())->has_inherit_env = true;
	r.servers[1].inherit_env = true;
	go(&r);
	ready(&r);
	strict = call(&r, "strict", "env", "{}");
	inherited = call(&r, "inherits", "env", "{}");
	assert_true(str_has(strict, S("PATH=")) && str_has(strict, S("HOME=")));
	assert_true(str_has(strict, S("GIVEN=yes\n")) && !str_has(strict, S("OTHER=")));
	assert_true(str_has(inherited, S("OTHER=1\n")) && !str_has(inherited, S("GIVEN")));
	assert_false(str_has(strict, S("hunter2")) || str_has(inherited, S("hunter2")));
}

static void the_last_good_list_outlives_the_server(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_result result;
	struct mcp_catalog before, after;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "one", TRICKS());
	go(&r);
	ready(&r);
	mcp_host_catalog(r.host, &r.a, &before);
	mcp_host_stop(r.host);
	r.host = NULL;
	assert_true(r.saved[0].n > 0);
	r.servers[0].command = S("/nonexistent");
	go(&r);
	ready(&r);
	mcp_host_catalog(r.host, &r.a, &after);
	assert_int_equal(status_of(&r, "one").state, MCP_FAILED);
	assert_int_equal(after.n, before.n);
	assert_true(after.rev == before.rev);
	assert_int_equal(call_rc(&r, "one", "echo", "{}", &result, NULL, &e), E_NOENT);
	assert_true(result.not_sent);
	assert_non_null(strstr(e.msg, "server \"one\" is down: "));
}

static void reload_leaves_unchanged_servers_running(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct mcp_manifest m;
	struct mcp_result result;
	struct err e = { 0 };
	str pid, other;

	rig_init(&r);
	add(&r, "stays", TRICKS());
	r.servers[0].roots = (struct str_list){ &S("/before"), 1 };
	add(&r, "changes", TRICKS());
	add(&r, "goes", TRICKS());
	go(&r);
	ready(&r);
	pid = call(&r, "stays", "pid", "{}");
	other = call(&r, "changes", "pid", "{}");
	/* Roots are told anew, and need no other life. */
	r.servers[0].roots = (struct str_list){ &S("/after"), 1 };
	r.servers[1].tools_prefix = S("renamed");
	(void)pthread_mutex_lock(&r.lock);
	r.n = 2;
	(void)pthread_mutex_unlock(&r.lock);
	add(&r, "comes", TRICKS());
	m = (struct mcp_manifest){ .servers = r.servers, .n = r.n };
	assert_int_equal(mcp_host_reload(r.host, &r.config, &m, &e), OK);
	ready(&r);
	assert_true(str_eq(pid, call(&r, "stays", "pid", "{}")));
	assert_false(str_eq(other, call(&r, "changes", "pid", "{}")));
	assert_text(call(&r, "comes", "echo", "{\"text\":\"new\"}"), "new");
	assert_int_equal(call_rc(&r, "goes", "echo", "{}", &result, NULL, &e), E_NOENT);
	assert_true(listed(&r, "renamed__echo") && !listed(&r, "changes__echo"));
	assert_false(listed(&r, "goes__echo"));
}

/* Calls while servers come and go: each ends well or with a reason. */
static void *call_anyway(void *arg)
{
	struct caller *c = arg;
	bool gone = false;

	for (int i = 0; !gone; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_call mc = { .server = i % 2 ? S("stays") : S("comes-and-goes"),
				       .tool = S("echo"),
				       .args = S("{\"text\":\"x\"}") };
		struct mcp_result result;
		struct mcp_catalog catalog;
		int rc = mcp_host_call(c->r->host, &mc, &a, &result, NULL, NULL);

		mcp_host_catalog(c->r->host, &a, &catalog);
		c->wrong |= i % 2 ? rc != OK : rc != OK && rc != E_NOENT && rc != E_IO;
		(void)pthread_mutex_lock(&c->r->lock);
		gone = c->r->over;
		(void)pthread_mutex_unlock(&c->r->lock);
	}
	return NULL;
}

static void reload_disturbs_no_call_to_a_server_that_stays(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct caller callers[4];
	struct mcp_manifest m;

	rig_init(&r);
	add(&r, "stays", TRICKS());
	add(&r, "comes-and-goes", TRICKS());
	go(&r);
	for (int i = 0; i < 4; i++) {
		callers[i] = (struct caller){ .r = &r, .k = i };
		assert_int_equal(thread_start(&callers[i].thread, "caller", call_anyway,
					      &callers[i], NULL),
				 OK);
	}
	for (size_t i = 0; i < 10; i++) {
		m = (struct mcp_manifest){ .servers = r.servers, .n = 1 + i % 2 };
		assert_int_equal(mcp_host_reload(r.host, &r.config, &m, NULL), OK);
		ready(&r);
	}
	(void)pthread_mutex_lock(&r.lock);
	r.over = true;
	(void)pthread_mutex_unlock(&r.lock);
	for (int i = 0; i < 4; i++) {
		thread_join(&callers[i].thread);
		assert_false(callers[i].wrong);
	}
	assert_int_equal(status_of(&r, "stays").restarts, 0);
}

static void waiting_for_readiness_ends_at_its_limit(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct err e = { 0 };

	rig_init(&r);
	add(&r, "silent", TRICKS("silent"));
	go(&r);
	assert_int_equal(mcp_host_ready(r.host, clock_mono_ms() + 50, NULL, &e), E_TIMEOUT);
	assert_int_equal(status_of(&r, "silent").state, MCP_STARTING);
}

static void a_server_that_ignores_the_end_of_its_input_is_stopped(void **state)
{
	SCOPED(rig_done) struct rig r;
	int64_t pid, began;
	int fd;

	rig_init(&r);
	add(&r, "one", TRICKS("ignore-eof"));
	add(&r, "two", TRICKS("ignore-eof"));
	go(&r);
	ready(&r);
	assert_true(str_i64(call(&r, "one", "pid", "{}"), &pid));
	fd = pidfd_of(pid);
	began = clock_mono_ms();
	mcp_host_stop(r.host);
	r.host = NULL;
	await_end(fd);
	(void)close(fd);
	assert_true(clock_mono_ms() - began < TEST_MS);
}

static void *call_hang(void *arg)
{
	struct caller *c = arg;
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_call mc = { .server = S("one"), .tool = S("hang") };
	struct mcp_result result;
	int rc = mcp_host_call(c->r->host, &mc, &a, &result, NULL, NULL);

	c->wrong = rc != E_IO || result.not_sent;
	return NULL;
}

static void stop_ends_the_calls_that_are_open(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct caller c = { .r = &r };
	const char *log;

	rig_init(&r);
	log = arena_fmt(&r.a, "%s/log", r.dir).p;
	add(&r, "one", TRICKS(arena_fmt(&r.a, "log=%s", log).p));
	go(&r);
	ready(&r);
	assert_int_equal(thread_start(&c.thread, "caller", call_hang, &c, NULL), OK);
	await(lines_with(&r, log, "\"hang\"") == 1);
	mcp_host_stop(r.host);
	r.host = NULL;
	thread_join(&c.thread);
	assert_false(c.wrong);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_goes_out_and_its_answer_comes_back),
		cmocka_unit_test(bad_arguments_and_names_are_refused_before_anything_is_sent),
		cmocka_unit_test(noise_floods_and_slow_writes_do_not_disturb),
		cmocka_unit_test(every_revision_of_the_era_is_spoken_and_another_is_refused),
		cmocka_unit_test(
			bad_servers_are_named_with_their_reason_and_do_not_delay_the_good_one),
		cmocka_unit_test(pages_are_merged_and_endless_ones_end),
		cmocka_unit_test(a_burst_of_list_changed_leads_to_one_or_two_lists),
		cmocka_unit_test(
			questions_of_the_server_are_answered_even_before_the_handshake),
		cmocka_unit_test(a_cancelled_call_ends_at_once_and_the_server_is_told),
		cmocka_unit_test(a_call_ends_at_the_limit_of_its_server),
		cmocka_unit_test(progress_reaches_the_caller),
		cmocka_unit_test(what_a_server_asks_in_a_call_is_answered_by_whoever_called),
		cmocka_unit_test(other_requests_are_answered_and_changes_are_told),
		cmocka_unit_test(a_server_without_a_handshake_is_found_out_and_called),
		cmocka_unit_test(changes_of_a_server_without_a_handshake_are_listened_for),
		cmocka_unit_test(how_a_server_begins_is_remembered),
		cmocka_unit_test(
			a_server_that_is_deaf_to_the_probe_or_dies_of_it_is_spoken_to_the_old_way),
		cmocka_unit_test(big_answers_come_whole_and_too_big_ones_fail_alone),
		cmocka_unit_test(a_server_that_dies_in_a_call_fails_it_and_is_started_again),
		cmocka_unit_test(
			a_server_that_closed_a_pipe_is_dead_and_an_unwritten_call_survives_it),
		cmocka_unit_test(a_server_is_the_same_only_when_every_key_is),
		cmocka_unit_test(a_failing_tool_does_not_restart_its_server),
		cmocka_unit_test(a_hung_idle_server_is_found_and_started_again),
		cmocka_unit_test(a_live_idle_server_is_left_alone),
		cmocka_unit_test(a_server_that_stops_reading_is_dead_after_its_limit),
		cmocka_unit_test(cancels_in_the_middle_of_frames_never_break_the_stream),
		cmocka_unit_test(calls_from_many_threads_get_their_own_answers),
		cmocka_unit_test(the_child_gets_no_secret_and_what_the_manifest_gives),
		cmocka_unit_test(the_last_good_list_outlives_the_server),
		cmocka_unit_test(reload_leaves_unchanged_servers_running),
		cmocka_unit_test(reload_disturbs_no_call_to_a_server_that_stays),
		cmocka_unit_test(waiting_for_readiness_ends_at_its_limit),
		cmocka_unit_test(a_server_that_ignores_the_end_of_its_input_is_stopped),
		cmocka_unit_test(stop_ends_the_calls_that_are_open),
	};
	struct err e = { 0 };
	int fd;

	if (argc > 1 && strcmp(argv[1], MCP_FAKE) == 0)
		return mcp_fake_main(argc - 2, argv + 2);
	if (spawner_start(&e) < 0 || signals_open(&fd, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	spawner_stop();
	(void)close(fd);
	return failed;
}
