/*
 * The scripted server.  One loop over stdin; what it does with a message is decided by the
 * tricks on its command line.
 */
#include "mcp_fake.h"

#include "base/buf.h"
#include "mcp/rpc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_MAX ((size_t)64 << 20)

extern char **environ;

static struct fake {
	char **tricks;
	int n;
	bool late, noisy, changed;
	struct arena kept;
	struct buf seen, replies;
	char revision[16];
	int64_t asking; /* the call that waits for the answer to a question */
} me;

static const char *trick(const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; i < me.n; i++)
		if (strncmp(me.tricks[i], name, n) == 0 &&
		    (me.tricks[i][n] == '\0' || me.tricks[i][n] == '='))
			return me.tricks[i][n] ? me.tricks[i] + n + 1 : "";
	return NULL;
}

static int number(const char *name)
{
	const char *v = trick(name);
	int64_t n = 0;

	return v && str_i64(str_of(v), &n) ? (int)n : 0;
}

static void put(const char *p, size_t n, size_t step)
{
	for (size_t done = 0; done < n;) {
		size_t want = n - done < step ? n - done : step;
		ssize_t got = write(1, p + done, want);

		if (got <= 0)
			exit(9);
		done += (size_t)got;
	}
}

/* One whole line of b, which ends in a line feed. */
static void send_line(struct buf *b)
{
	size_t step = trick("trickle") ? 1 : OUT_MAX;
	str s = buf_str(b);

	put(s.p, s.n - 1, step);
	if (trick("crlf"))
		put("\r\n", 2, step);
	else
		put("\n", 1, step);
	buf_reset(b);
}

static void answer(struct arena *a, const struct json *id, const char *result)
{
	struct buf b = buf_in(a, OUT_MAX);

	mcp_rpc_answer(&b, id, str_of(result));
	if (trick("twice")) {
		struct buf again = buf_in(a, OUT_MAX);

		buf_add(&again, buf_str(&b));
		send_line(&again);
	}
	send_line(&b);
}

static void notice(struct arena *a, const char *method, const char *params)
{
	struct buf b = buf_in(a, OUT_MAX);

	mcp_rpc_notice(&b, method, str_of(params));
	send_line(&b);
}

static void text_result(struct arena *a, const struct json *id, str text)
{
	struct buf b = buf_in(a, OUT_MAX);

	buf_add(&b, S("{\"content\":[{\"type\":\"text\",\"text\":"));
	buf_json(&b, text);
	buf_add(&b, S("}]}"));
	answer(a, id, buf_str(&b).p);
}

static void make_noise(void)
{
	static const char lines[] =
		"Server v1.2 started\n\n{\"level\":\"info\",\"msg\":\"x\"}\n[1]\nnull\n"
		"{\"jsonrpc\":\"2.0\",\"id\":777777,\"result\":{}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"conte\n";

	if (trick("noise") && !me.noisy)
		put(lines, sizeof(lines) - 1, OUT_MAX);
	me.noisy = true;
}

static void flood_stderr(void)
{
	static char block[4096];

	memset(block, 'e', sizeof(block));
	for (int i = 0; i < 64; i++)
		if (write(2, block, sizeof(block)) < 0)
			exit(8);
	(void)!write(2, "the end of it\n", 14);
}

static void ask_client(struct arena *a)
{
	static const char *const asks[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n",
		("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sampling/"
		 "createMessage\",\"params\":{}}\n"),
		"[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n",
	};

	for (size_t i = 0; i < COUNT(asks); i++) {
		struct buf b = buf_in(a, 1000);

		buf_add(&b, str_of(asks[i]));
		send_line(&b);
	}
}

static void on_initialize(struct arena *a, const struct json *id)
{
	const char *revision = trick("revision") ? trick("revision") : me.revision;

	if (trick("early-changed"))
		notice(a, "notifications/tools/list_changed", "");
	if (trick("ask-first"))
		ask_client(a);
	if (trick("init-error")) {
		struct buf b = buf_in(a, 1000);

		mcp_rpc_refuse(&b, id, -32602, S("not today"));
		send_line(&b);
		return;
	}
	answer(a, id,
	       arena_fmt(a,
			 "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}%s},"
			 "\"serverInfo\":{\"name\":\"fake\",\"version\":\"1.0\"}}",
			 revision, trick("updates") ? ",\"resources\":{}" : "")
		       .p);
}

static const char *const names[] = { "echo", "fail",     "rpc_error", "hang",     "seen",
				     "env",  "big",      "huge",      "progress", "log",
				     "die",  "die_once", "freeze",    "pid",      "replies",
				     "raw",  "deaf",     "mute",      "ask",      "again" };

static void on_list(struct arena *a, const struct json *id, const struct json *params)
{
	const char *cursor = json_str(params, "cursor").p;
	int64_t from = 0;
	size_t n = number("many") ? (size_t)number("many") : COUNT(names) + me.late, end = n;
	struct buf b = buf_in(a, OUT_MAX);

	if (cursor)
		(void)str_i64(json_str(params, "cursor"), &from);
	if (number("page"))
		end = (size_t)from + (size_t)number("page") < n
			      ? (size_t)from + (size_t)number("page")
			      : n;
	buf_add(&b, S("{\"tools\":["));
	for (size_t i = (size_t)from; i < end; i++)
		buf_fmt(&b, "%s{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}%s}",
			i > (size_t)from ? "," : "",
			number("many")     ? arena_fmt(a, "tool%zu", i).p
			: i < COUNT(names) ? names[i]
					   : "late",
			trick("read-only") ? ",\"annotations\":{\"readOnlyHint\":true}" : "");
	buf_add(&b, S("]"));
	if (trick("page-loop"))
		buf_add(&b, S(",\"nextCursor\":\"0\""));
	else if (end < n)
		buf_fmt(&b, ",\"nextCursor\":\"%zu\"", end);
	buf_add(&b, S("}"));
	answer(a, id, buf_str(&b).p);
}

static void on_initialized(struct arena *a)
{
	me.late = number("changed") > 0;
	for (int i = 0; i < number("changed"); i++)
		notice(a, "notifications/tools/list_changed", "");
	for (int i = 0; i < number("updates"); i++)
		notice(a, "notifications/resources/updated", "{\"uri\":\"file:///a\"}");
}

/* Ask the person behind the client; the call waits for what comes back. */
static void ask_person(struct arena *a, const struct json *id, const struct json *args)
{
	struct buf b = buf_in(a, OUT_MAX), params = buf_in(a, OUT_MAX);

	json_write(&params, args);
	me.asking = id->i;
	buf_fmt(&b,
		"{\"jsonrpc\":\"2.0\",\"id\":\"asked\",\"method\":\"elicitation/create\","
		"\"params\":%.*s}\n",
		STRF(buf_str(&params)));
	send_line(&b);
}

static void on_person(struct arena *a, const struct mcp_msg *m)
{
	struct json id = { .type = JSON_INT, .i = me.asking, .d = (double)me.asking };
	struct buf b = buf_in(a, OUT_MAX);

	if (m->result)
		json_write(&b, m->result);
	text_result(a, &id, m->error ? json_str(m->error, "message") : buf_str(&b));
}

static void send_progress(struct arena *a, const struct json *id, const struct json *params)
{
	int64_t token = json_i64(json_get(params, "_meta"), "progressToken", 0);
	int64_t n = json_i64(json_get(params, "arguments"), "n", 3);

	for (int64_t i = 1; i <= n && token; i++)
		notice(a, "notifications/progress",
		       arena_fmt(a,
				 "{\"progressToken\":%lld,\"progress\":%lld,\"total\":%lld,"
				 "\"message\":\"step %lld\"}",
				 (long long)token, (long long)i, (long long)n, (long long)i)
			       .p);
	text_result(a, id, token ? S("with token") : S("no token"));
}

static str filled(struct arena *a, int64_t n)
{
	struct buf b = buf_in(a, OUT_MAX);

	while (n-- > 0)
		buf_add(&b, S("\xE3\x81\x82"));
	return buf_str(&b);
}

/* An answer whose id stands at the end of the line, or nowhere. */
static void huge(struct arena *a, const struct json *id, const struct json *args)
{
	struct buf b = buf_in(a, OUT_MAX);

	buf_add(&b, S("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":"));
	buf_json(&b, filled(a, json_i64(args, "n", 0)));
	buf_fmt(&b, "}]},\"jsonrpc\":\"2.0\",\"id\":%lld%s}\n", (long long)id->i,
		json_bool(args, "tail", true) ? "" : ",\"x\":[1]");
	send_line(&b);
}

static void show_env(struct arena *a, const struct json *id)
{
	struct buf b = buf_in(a, OUT_MAX);

	for (char **e = environ; *e; e++)
		buf_fmt(&b, "%s\n", *e);
	text_result(a, id, buf_str(&b));
}

static void die_once(struct arena *a, const struct json *id, const struct json *args)
{
	int fd = open(json_str(args, "flag").p, O_CREAT | O_EXCL | O_WRONLY, 0600);

	if (fd >= 0)
		exit(3);
	text_result(a, id, S("alive"));
}

static void on_call(struct arena *a, const struct json *id, const struct json *params)
{
	const struct json *args = json_get(params, "arguments");
	str tool = json_str(params, "name");
	struct buf b = buf_in(a, OUT_MAX);

	if (str_eq(tool, S("echo"))) {
		text_result(a, id, json_str(args, "text"));
	} else if (str_eq(tool, S("fail"))) {
		answer(a, id,
		       "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no such "
		       "file\"}]}");
	} else if (str_eq(tool, S("hang"))) {
		return;
	} else if (str_eq(tool, S("ask"))) {
		ask_person(a, id, args);
	} else if (str_eq(tool, S("seen"))) {
		text_result(a, id, buf_str(&me.seen));
	} else if (str_eq(tool, S("replies"))) {
		text_result(a, id, buf_str(&me.replies));
	} else if (str_eq(tool, S("env"))) {
		show_env(a, id);
	} else if (str_eq(tool, S("big"))) {
		text_result(a, id, filled(a, json_i64(args, "n", 0)));
	} else if (str_eq(tool, S("huge"))) {
		huge(a, id, args);
	} else if (str_eq(tool, S("progress"))) {
		send_progress(a, id, params);
	} else if (str_eq(tool, S("log"))) {
		notice(a, "notifications/message",
		       "{\"level\":\"warning\",\"data\":{\"x\":1}}");
		text_result(a, id, S("logged"));
	} else if (str_eq(tool, S("die"))) {
		(void)!write(2, "dying\n", 6);
		exit(3);
	} else if (str_eq(tool, S("die_once"))) {
		die_once(a, id, args);
	} else if (str_eq(tool, S("freeze"))) {
		for (;;)
			pause();
	} else if (str_eq(tool, S("pid"))) {
		text_result(a, id, arena_fmt(a, "%d", (int)getpid()));
	} else if (str_eq(tool, S("raw"))) {
		json_write(&b, json_get(args, "result"));
		answer(a, id, buf_str(&b).p);
	} else if (str_eq(tool, S("deaf")) || str_eq(tool, S("mute"))) {
		if (str_eq(tool, S("deaf")))
			(void)close(0);
		text_result(a, id, S("done"));
		if (str_eq(tool, S("mute")))
			(void)close(1);
		for (;;)
			pause();
	} else if (str_eq(tool, S("late")) && me.late) {
		text_result(a, id, S("better late"));
	} else {
		mcp_rpc_refuse(&b, id, -32602, arena_fmt(a, "Unknown tool: %.*s", STRF(tool)));
		send_line(&b);
	}
}

static void refuse(struct arena *a, const struct json *id, int code, const char *why)
{
	struct buf b = buf_in(a, 1000);

	mcp_rpc_refuse(&b, id, code, str_of(why));
	send_line(&b);
}

/* Asks the person by its result, the call being made again with the answer. */
static void ask_again(struct arena *a, const struct json *id, const struct json *params)
{
	struct buf b = buf_in(a, OUT_MAX);

	if (!json_get(params, "inputResponses")) {
		answer(a, id,
		       "{\"resultType\":\"input_required\",\"requestState\":\"st\","
		       "\"inputRequests\":{\"who\":{\"method\":\"elicitation/"
		       "create\",\"params\":"
		       "{\"message\":\"who?\"}}}}");
		return;
	}
	json_write(&b, json_get(params, "inputResponses"));
	buf_add(&b, json_str(params, "requestState"));
	text_result(a, id, buf_str(&b));
}

/* The call is to be made again n times. */
static void come_again(struct arena *a, const struct json *id, const struct json *params)
{
	int64_t n = json_i64(json_get(params, "arguments"), "n", 0), at = 0;

	(void)str_i64(json_str(params, "requestState"), &at);
	if (at < n)
		answer(a, id,
		       arena_fmt(
			       a,
			       "{\"resultType\":\"input_required\",\"requestState\":\"%lld\"}",
			       (long long)at + 1)
			       .p);
	else
		text_result(a, id, arena_fmt(a, "after %lld", (long long)at));
}

/* A server without a handshake; true when that was all. */
static bool on_stateless(struct arena *a, const struct mcp_msg *m)
{
	const struct json *meta = json_get(m->params, "_meta");
	str tool = json_str(m->params, "name");

	if (m->kind != MCP_REQUEST)
		return false;
	if (!str_is(json_str(meta, "io.modelcontextprotocol/protocolVersion"), "2026-07-28") ||
	    !json_is(json_get(meta, "io.modelcontextprotocol/clientCapabilities"), JSON_OBJECT))
		refuse(a, m->id, -32602, "no _meta");
	else if (str_is(m->method, "server/discover"))
		answer(a, m->id,
		       "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
		       "\"capabilities\":{\"tools\":{\"listChanged\":true},\"resources\":{"
		       "\"subscribe\":true}},\"ttlMs\":0,\"cacheScope\":\"private\"}");
	else if (str_is(m->method, "subscriptions/listen") && number("changed") && !me.late)
		on_initialized(a);
	else if (str_is(m->method, "subscriptions/listen")) {
		str uri = json_text(json_at(
			json_get(json_get(m->params, "notifications"), "resourceSubscriptions"),
			0));
		if (uri.n)
			notice(a, "notifications/resources/updated",
			       arena_fmt(a, "{\"uri\":\"%.*s\"}", STRF(uri)).p);
	} else if (str_is(m->method, "initialize") || str_is(m->method, "ping"))
		refuse(a, m->id, -32601, "Method not found");
	else if (str_is(m->method, "tools/call") && str_is(tool, "ask"))
		ask_again(a, m->id, m->params);
	else if (str_is(m->method, "tools/call") && str_is(tool, "again"))
		come_again(a, m->id, m->params);
	else
		return false;
	return true;
}

static void on_message(struct arena *a, const struct mcp_msg *m)
{
	if (m->kind == MCP_ANSWER && str_eq(json_text(m->id), S("asked"))) {
		on_person(a, m);
		return;
	}
	if (m->kind == MCP_ANSWER) {
		buf_add(&me.replies, m->error ? S("E") : S("R"));
		json_write(&me.replies, m->id);
		json_write(&me.replies, m->error ? m->error : m->result);
		buf_add(&me.replies, S("\n"));
		return;
	}
	if (trick("die-at") && str_eq(m->method, str_of(trick("die-at"))))
		exit(4);
	if (trick("silent"))
		return;
	make_noise();
	if (trick("stateless") && on_stateless(a, m))
		return;
	if (str_eq(m->method, S("server/discover")) && trick("dies-of-unknown"))
		exit(5);
	if (str_eq(m->method, S("server/discover")) && trick("deaf-to-unknown"))
		return;
	if (str_eq(m->method, S("initialize"))) {
		(void)snprintf(me.revision, sizeof(me.revision), "%s",
			       json_str(m->params, "protocolVersion").p);
		on_initialize(a, m->id);
	} else if (str_eq(m->method, S("notifications/initialized"))) {
		on_initialized(a);
	} else if (str_eq(m->method, S("tools/list"))) {
		if (trick("no-tools")) {
			struct buf b = buf_in(a, 1000);

			mcp_rpc_refuse(&b, m->id, -32601, S("Method not found"));
			send_line(&b);
			return;
		}
		on_list(a, m->id, m->params);
	} else if (str_eq(m->method, S("tools/call"))) {
		on_call(a, m->id, m->params);
	} else if (str_eq(m->method, S("ping"))) {
		if (!trick("no-ping"))
			answer(a, m->id, "{}");
	} else if (str_eq(m->method, S("notifications/cancelled"))) {
		json_write(&me.seen, m->params);
		buf_add(&me.seen, S("\n"));
	} else if (m->kind == MCP_REQUEST) {
		refuse(a, m->id, -32601, "Method not found");
	}
}

static void keep_line(str line)
{
	int fd = open(trick("log"), O_CREAT | O_APPEND | O_WRONLY, 0600);

	(void)!write(fd, line.p, line.n);
	(void)!write(fd, "\n", 1);
	(void)close(fd);
}

int mcp_fake_main(int argc, char **argv)
{
	static char chunk[65536];
	struct mcp_lines lines;
	ssize_t n;

	me.tricks = argv;
	me.n = argc;
	me.seen = buf_in(&me.kept, OUT_MAX);
	me.replies = buf_in(&me.kept, OUT_MAX);
	if (trick("exit")) {
		(void)!write(2, "cannot find my key\n", 19);
		return number("exit");
	}
	if (trick("flood"))
		flood_stderr();
	mcp_lines_init(&lines, OUT_MAX);
	while ((n = read(0, chunk, sizeof(chunk))) > 0) {
		str rest = { chunk, (size_t)n };
		struct mcp_line line;

		while (mcp_lines_take(&lines, &rest, &line)) {
			struct mcp_msg m;

			if (trick("log"))
				keep_line(line.text);
			mcp_rpc_read(&m, &line.a, line.text);
			on_message(&line.a, &m);
			arena_free(&line.a);
		}
	}
	while (trick("ignore-eof"))
		pause();
	mcp_lines_done(&lines);
	arena_free(&me.kept);
	return 0;
}

const char *mcp_fake_self(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	return path;
}
