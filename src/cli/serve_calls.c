/*
 * The tools that gantry mcp serves.  All but ask are the built-in tools of the same kind, called
 * through the gate as any call of a model's is, with an audit row of its own.
 */
#include "cli/serve_parts.h"

#include "base/utf.h"
#include "chan/stdio.h"
#include "chan/telegram_update.h"
#include "cli/cron_jobs.h"
#include "store/message.h"

#include <string.h>

#define NAME_MAX_BYTES 64
#define HOST_MAX 40

static const struct mcp_serve_tool recall_tool = {
	.name = "memory_recall",
	.title = "Recall",
	.description = "What this agent remembers about something: a name, a few words or a "
		       "whole question. Without a query: its latest memories.",
	.input = "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"},"
		 "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
		 "\"description\":\"20 unless given\"}},\"additionalProperties\":false}",
	.read_only = true,
	.idempotent = true,
};

static const struct mcp_serve_tool store_tool = {
	.name = "memory_store",
	.title = "Remember",
	.description = "Have this agent remember one statement across all its conversations. "
		       "To correct a memory give the id of the old one as replaces.",
	.input = "{\"type\":\"object\",\"properties\":{\"kind\":{\"type\":\"string\",\"enum\":["
		 "\"fact\",\"preference\",\"person\",\"episode\",\"insight\"]},"
		 "\"subject\":{\"type\":\"string\",\"description\":\"Whom or what it is about, "
		 "in a word or two\"},"
		 "\"content\":{\"type\":\"string\",\"description\":\"The statement\"},"
		 "\"replaces\":{\"type\":\"integer\"}},"
		 "\"required\":[\"kind\",\"subject\",\"content\"],"
		 "\"additionalProperties\":false}",
	.idempotent = true,
};

static const struct mcp_serve_tool schedule_tool = {
	.name = "schedule",
	.title = "Schedule",
	.description =
		"What this agent does later by itself, once or again and again: it is given "
		"the prompt at that time, and its answer goes to a chat of its owner. add "
		"wants prompt and when; remove wants the id that list or add said.",
	.input = "{\"type\":\"object\",\"properties\":{"
		 "\"action\":{\"type\":\"string\",\"enum\":[\"add\",\"list\",\"remove\"]},"
		 "\"prompt\":{\"type\":\"string\",\"description\":\"What to do then; to be "
		 "understood alone\"},"
		 "\"when\":{\"type\":\"string\",\"description\":\"in 30m | 17:00 | "
		 "tomorrow 9am | friday 18:00 | 2026-12-24 18:00 | every:1h | "
		 "a cron expression\"},"
		 "\"repeat\":{\"type\":\"string\",\"enum\":[\"once\",\"daily\",\"weekdays\","
		 "\"weekly\"]},"
		 "\"id\":{\"type\":\"integer\"},"
		 "\"chat\":{\"type\":\"string\",\"description\":\"Where the answer goes, "
		 "such as telegram:12345; the owner's chat unless given\"}},"
		 "\"required\":[\"action\"],\"additionalProperties\":false}",
	.destructive = true,
};

const struct mcp_serve_tool serve_ask_tool = {
	.name = "ask",
	.title = "Ask the agent",
	.description =
		"Ask this personal agent: it has memory, tools and a conversation of its own, "
		"works until it has an answer, and tells its progress. The same session "
		"goes on with the same conversation.",
	.input = "{\"type\":\"object\",\"properties\":{"
		 "\"text\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The question "
		 "or the task\"},"
		 "\"session\":{\"type\":\"string\",\"pattern\":\"^[A-Za-z0-9._-]{1,64}$\","
		 "\"description\":\"Which conversation; the host's own unless given\"}},"
		 "\"required\":[\"text\"],\"additionalProperties\":false}",
	.output = "{\"type\":\"object\",\"properties\":{"
		  "\"answer\":{\"type\":\"string\"},"
		  "\"session\":{\"type\":\"string\"},"
		  "\"turn\":{\"type\":\"string\",\"description\":\"For gantry trace\"},"
		  "\"state\":{\"type\":\"string\"}},"
		  "\"required\":[\"answer\",\"session\",\"turn\",\"state\"]}",
	.destructive = true,
	.open_world = true,
};

/* Which tool of ours each is. */
static const struct {
	const struct mcp_serve_tool *tool;
	const char *ours;
} served[] = {
	{ &recall_tool, "memory_recall" },
	{ &store_tool, "memory_store" },
	{ &schedule_tool, "cron_schedule" },
};

void serve_tools_init(struct serve *s, struct arena *a)
{
	const struct mcp_serve_tool **v =
		NEWN(a, const struct mcp_serve_tool *, COUNT(served) + 1);
	struct toolset set;
	size_t n = 0;
	str hint;

	v[n++] = &serve_ask_tool;
	tools_snapshot(s->g->tools, a, &set);
	for (size_t i = 0; i < COUNT(served); i++) {
		const struct tool_spec *spec =
			toolset_find(&set, str_of(served[i].ours), a, &hint);
		if (spec && str_is(spec->name, served[i].ours))
			v[n++] = served[i].tool;
	}
	s->opt.tools = v;
	s->opt.tools_n = n;
}

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

/* A host's name as part of an address. */
static str host_word(struct arena *a, str host)
{
	str word = arena_dup(a, utf_head(str_trim(host), HOST_MAX));
	char *p = NEWN(a, char, word.n + 1);

	for (size_t i = 0; i < word.n; i++)
		p[i] = plain(word.p[i]) ? word.p[i] : '_';
	return word.n ? (str){ p, word.n } : S("host");
}

str serve_call_check(struct serve_call *k, str host)
{
	const struct json *session = json_get(k->args, "session");
	str label = json_text(session);
	bool fine = label.n > 0 && label.n <= NAME_MAX_BYTES;

	if (k->tool != &serve_ask_tool)
		return S("");
	if (!str_trim(json_str(k->args, "text")).n)
		return S("text is missing: say what is asked");
	if ((int64_t)json_str(k->args, "text").n > k->s->cfg->limits.input_max_bytes)
		return S("text is too long");
	for (size_t i = 0; i < label.n; i++)
		fine = fine && plain(label.p[i]);
	if (session && !json_is(session, JSON_NULL) && !fine)
		return S("session is up to 64 letters, digits, dots, dashes and underscores");
	host = host_word(&k->a, host);
	k->label = label.n ? label : S("default");
	k->address = label.n ? arena_fmt(&k->a, "mcp:%.*s:%.*s", STRF(host), STRF(label))
			     : arena_fmt(&k->a, "mcp:%.*s", STRF(host));
	return S("");
}

static void fail(struct serve_call *k, str why)
{
	k->failed = true;
	k->text = why;
}

static void run_recorded(struct serve_call *k, const struct tool_spec *spec, struct call *c,
			 const struct tool_ctx *ctx)
{
	struct engine *g = k->s->g;
	struct err e = { 0 }, why = { 0 };

	if (store_call_record(g->store, c, false, &g->root, &e) < 0) {
		fail(k,
		     arena_fmt(&k->a, "error: not done, as it cannot be recorded: %s", e.msg));
		return;
	}
	if (c->state == CALL_RUNNING) {
		int rc = tools_run(g->tools, spec, c, ctx, &k->a, &k->token, &e);
		if (store_call_record(g->store, c, true, &g->root, &why) < 0 && rc == OK) {
			fail(k, arena_fmt(&k->a,
					  "error: it was run, but how it ended is not "
					  "recorded: %s",
					  why.msg));
			return;
		}
	}
	k->failed = c->state != CALL_DONE;
	k->text = c->result;
}

/* Any tool of ours, as if a model had called it. */
static void through_gate(struct serve_call *k, const char *name, str args, str channel,
			 str address)
{
	struct engine *g = k->s->g;
	struct call c = { .requested = str_of(name), .args = args, .requester = S("mcp") };
	struct tool_ctx ctx = {
		.channel = channel, .address = address, .requester = S("mcp"), .own_only = true
	};
	SCOPED(serve_person_done) struct serve_person person = { .turn = { .fd = -1 } };
	struct toolset set;
	struct err e = { 0 };

	id_new(c.id);
	if (serve_person_init(&person, k, &k->bell, &e) < 0) {
		fail(k, arena_fmt(&k->a, "error: %s", e.msg));
		return;
	}
	tools_snapshot(g->tools, &k->a, &set);
	const struct tool_spec *spec = tools_admit(g->tools, &set, &c, &k->a);
	if (spec && c.state == CALL_PLANNED &&
	    tools_ask(g->tools, spec, &c, &person.base, &k->a, &k->token, &e) < 0) {
		fail(k, arena_fmt(&k->a, "error: %s", e.msg));
		return;
	}
	run_recorded(k, spec, &c, &ctx);
}

static str args_of(struct serve_call *k, const char *const *keys, size_t n)
{
	struct buf b = buf_in(&k->a, 1u << 20);

	buf_addc(&b, '{');
	for (size_t i = 0; i < n; i++) {
		const struct json *v = json_get(k->args, keys[i]);
		if (!v)
			continue;
		buf_json_key(&b, keys[i]);
		json_write(&b, v);
	}
	buf_addc(&b, '}');
	return b.full ? S("{}") : buf_str(&b);
}

/* The chat that answers of the schedule go to: the one that is named, or the owner's. */
static bool chat_of(struct serve_call *k, str *channel, str *address, str *why)
{
	const struct config *cfg = k->s->cfg;
	str rest = json_str(k->args, "chat");

	if (!rest.n && str_eq(cfg->gateway.channel, S(STDIO_CHANNEL)) && !cfg->telegram.enabled)
		rest = S(STDIO_CHANNEL ":" STDIO_ADDRESS);
	else if (!rest.n && cfg->telegram.allow_from.n == 1)
		rest = arena_fmt(&k->a, TELEGRAM_CHANNEL ":%lld",
				 (long long)cfg->telegram.allow_from.v[0]);
	if (!rest.n) {
		*why = S(
			"say chat, such as telegram:12345: there is not one owner's chat here");
		return false;
	}
	str whole = rest;
	*channel = str_cut(&rest, ':');
	*address = rest;
	bool fine = str_eq(*channel, S(TELEGRAM_CHANNEL))
			    ? cron_reachable(&cfg->telegram, rest)
			    : str_eq(whole, S(STDIO_CHANNEL ":" STDIO_ADDRESS));
	if (!fine)
		*why = arena_fmt(&k->a,
				 "chat \"%.*s\" is none that this agent may write to by "
				 "itself",
				 STRF(utf_head(whole, NAME_MAX_BYTES)));
	return fine;
}

static void schedule(struct serve_call *k)
{
	static const char *const add[] = { "prompt", "when", "repeat" };
	static const char *const remove[] = { "id" };
	str action = json_str(k->args, "action");
	str channel, address, why;

	if (!chat_of(k, &channel, &address, &why))
		fail(k, why);
	else if (str_eq(action, S("add")))
		through_gate(k, "cron_schedule", args_of(k, add, COUNT(add)), channel, address);
	else if (str_eq(action, S("list")))
		through_gate(k, "cron_list", S("{}"), channel, address);
	else if (str_eq(action, S("remove")))
		through_gate(k, "cron_cancel", args_of(k, remove, COUNT(remove)), channel,
			     address);
	else
		fail(k, S("action is add, list or remove"));
}

void serve_call_do(struct serve_call *k)
{
	struct buf b = buf_in(&k->a, 16u << 20);

	if (k->tool == &serve_ask_tool) {
		serve_ask(k);
	} else if (k->tool == &schedule_tool) {
		schedule(k);
	} else {
		json_write(&b, k->args);
		through_gate(k, k->tool->name, buf_str(&b), S(SERVE_CHANNEL), S("mcp"));
	}
}
