/*
 * Slash commands.  A command is a whole message: a word with a slash and, where its row
 * says so, arguments; anything else that begins with a slash is text for the model.
 * Control words act in the transaction that records them (see store/inbox); the rest is
 * answered beside whatever turn runs, and only reads, but for /resend and the holds of tools.
 */
#include "agent/spend.h"
#include "agent/slash.h"

#include "agent/holds.h"
#include "agent/internal.h"
#include "agent/prompt.h"
#include "agent/server_prompt.h"
#include "agent/sign_in.h"
#include "base/version.h"
#include "model/quirks.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/sandbox.h"
#include "store/approval.h"
#include "store/outbox.h"
#include "store/state.h"
#include "text/text.h"

enum args { ARGS_NONE, ARGS_OPTIONAL, ARGS_WORD };
enum { SLOW = 1 };

struct ask {
	struct agent *ag;
	str channel, address, sender, args;
	struct arena *a;
	const struct cancel *c;
};

static str run_help(const struct ask *q);
static str run_status(const struct ask *q);
static str run_tools(const struct ask *q);
static str run_brief(const struct ask *q);
static str run_short(const struct ask *q);
static str run_off(const struct ask *q);
static str run_perf(const struct ask *q);
static str run_tokens(const struct ask *q);
static str run_usage(const struct ask *q);
static str run_start(const struct ask *q);
static str run_whoami(const struct ask *q);
static str run_resend(const struct ask *q);
static str run_prompts(const struct ask *q);
static str run_auth(const struct ask *q);

static const struct slash {
	const char *name;
	enum args args;
	str (*run)(const struct ask *q); /* NULL: a control word */
	int what; /* of a control word: its enum control; else 0, or SLOW: it asks the network */
	const char *help; /* NULL: an alias, not listed */
} table[] = {
	{ "start", ARGS_OPTIONAL, run_start, 0, "a greeting, and this list" },
	{ "help", ARGS_NONE, run_help, 0, "this list" },
	{ "new", ARGS_NONE, NULL, CONTROL_NEW, "forget this conversation and start afresh" },
	{ "clear", ARGS_NONE, NULL, CONTROL_NEW, NULL },
	{ "status", ARGS_NONE, run_status, 0, "uptime, model, history, tools, tokens" },
	{ "tools", ARGS_NONE, run_tools, 0, "every tool the model can call" },
	{ "prompts", ARGS_NONE, run_prompts, SLOW,
	  "the prompts of tool servers, /SERVER:PROMPT" },
	{ "stop", ARGS_NONE, NULL, CONTROL_STOP, "end the running turn, drop what waits" },
	{ "cancel", ARGS_NONE, NULL, CONTROL_STOP, NULL },
	{ "whoami", ARGS_NONE, run_whoami, 0, "who you are here: chat, user, session" },
	{ "resend", ARGS_NONE, run_resend, 0, "send again what may not have arrived" },
	{ "brief", ARGS_WORD, run_brief, 0, "PREFIX: switch its tools on, for six hours" },
	{ "short", ARGS_WORD, run_short, 0, "PREFIX: switch its tools on, for 27 hours" },
	{ "off", ARGS_WORD, run_off, 0, "PREFIX: switch its tools off again" },
	{ "auth", ARGS_OPTIONAL, run_auth, SLOW, "SERVER: sign in to a tool server" },
	{ "tokens", ARGS_NONE, run_tokens, 0, "where the tokens of a request go" },
	{ "usage", ARGS_NONE, run_usage, 0, "tokens and cost: today, this month, here" },
	{ "perf", ARGS_NONE, run_perf, 0, "where the time of the last turns went" },
};

static const struct slash *find(str text, struct arena *a, str *args)
{
	str word;

	if (!text_slash(a, text, (str){ 0 }, &word, args))
		return NULL;
	for (size_t i = 0; i < COUNT(table); i++) {
		if (!str_eq(word, str_of(table[i].name)))
			continue;
		bool one = args->n > 0 && !str_has(*args, S(" ")) && !str_has(*args, S("\n"));
		bool fits = table[i].args == ARGS_OPTIONAL ||
			    (table[i].args == ARGS_WORD ? one : args->n == 0);
		return fits ? &table[i] : NULL;
	}
	return NULL;
}

int slash_control(str text, struct arena *a, enum control *what)
{
	str args;
	const struct slash *s = find(text, a, &args);

	if (!s || s->run)
		return E_NOENT;
	*what = (enum control)s->what;
	return OK;
}

str slash_control_reply(struct arena *a, enum control what, const struct control_effect *ef,
			bool busy)
{
	str queued = ef->dropped
			     ? arena_fmt(a, " %lld waiting message%s dropped.",
					 (long long)ef->dropped, ef->dropped == 1 ? "" : "s")
			     : S("");

	if (what == CONTROL_NEW)
		return arena_fmt(a, "session reset%s%.*s",
				 ef->turn_id.n ? "; the running turn was stopped." : ".",
				 STRF(queued));
	if (ef->turn_id.n || busy)
		return arena_fmt(a, "stopping…%.*s", STRF(queued));
	return ef->dropped ? str_trim(queued) : S("nothing is running.");
}

/* Signing in is for whom the agent belongs to, not for whoever may talk to it in a group. */
static bool owns(const struct agent *ag, str channel, str sender)
{
	const struct i64_list *owners = &ag->opt.cfg->telegram.allow_from;
	int64_t id = 0;

	if (!str_eq(channel, S("telegram")))
		return true;
	for (size_t i = 0; str_i64(sender, &id) && i < owners->n; i++)
		if (owners->v[i] == id)
			return true;
	return false;
}

bool slash_command(struct agent *ag, str channel, str address, str sender, str text,
		   struct arena *a, str *reply, const struct cancel *c)
{
	str args;
	const struct slash *s = find(text, a, &args);

	if (!s && owns(ag, channel, sender) && sign_in_paste(ag, text, a, reply, c))
		return true;
	if (!s || !s->run)
		return false;
	*reply = s->run(&(struct ask){ ag, channel, address, sender, args, a, c });
	return true;
}

bool slash_slow(struct agent *ag, str channel, str sender, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str args;
	const struct slash *s = find(text, &a, &args);

	return s ? s->run && s->what == SLOW
		 : owns(ag, channel, sender) && sign_in_expects(ag, text);
}

/* Two words, whatever is between them. */
static bool has_blank(str s)
{
	s = str_trim(s);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == ' ' || (s.p[i] >= '\t' && s.p[i] <= '\r'))
			return true;
	return false;
}

bool slash_secret(str text)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str word, args, t = str_trim(text);

	if (text_slash(&a, t, (str){ 0 }, &word, &args))
		return str_is(word, "auth") &&
		       (str_has(args, S("=")) || str_has(args, S("://")) || has_blank(args));
	return str_starts(t, S("http")) && str_has(t, S("code=")) && str_has(t, S("state="));
}

bool slash_listed(size_t i, str *name, str *help)
{
	for (size_t k = 0; k < COUNT(table); k++) {
		if (!table[k].help || i-- > 0)
			continue;
		*name = str_of(table[k].name);
		*help = str_of(table[k].help);
		return true;
	}
	return false;
}

static str run_help(const struct ask *q)
{
	struct buf b = buf_in(q->a, 8192);

	for (size_t i = 0; i < COUNT(table); i++)
		if (table[i].help)
			buf_fmt(&b, "%s/%s: %s", b.n ? "\n" : "", table[i].name, table[i].help);
	return buf_str(&b);
}

static str run_perf(const struct ask *q)
{
	return agent_perf_text(q->ag, q->a);
}

static str run_auth(const struct ask *q)
{
	if (!owns(q->ag, q->channel, q->sender))
		return S("Only who is in channels.telegram.allow_from may sign in here.");
	return sign_in_command(q->ag, q->args, q->a, q->c);
}

static str run_tokens(const struct ask *q)
{
	return agent_tokens_text(q->ag, q->channel, q->address, q->a);
}

static str run_usage(const struct ask *q)
{
	return agent_usage_text(q->ag, q->channel, q->address, q->a);
}

static str run_start(const struct ask *q)
{
	return arena_cat(q->a, S("Hello. Write to me, or use one of these:\n"), run_help(q));
}

static str run_whoami(const struct ask *q)
{
	struct session s = { 0 };
	struct err e = { 0 };
	str thread = q->address, chat = str_cut(&thread, ':');

	(void)!store_session_find(q->ag->opt.store, q->channel, q->address, q->a, &s, &e);
	return arena_fmt(q->a, "channel: %.*s\nchat: %.*s%s%.*s\nuser: %.*s\nsession: %.*s",
			 STRF(q->channel), STRF(chat), thread.n ? "\nthread: " : "",
			 STRF(thread), STRF(q->sender), STRF(s.id.n ? s.id : S("none yet")));
}

static int resend(const struct ask *q, int64_t *n, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, q->ag->opt.store, q->c, e)) < 0 ||
	    (rc = store_outbox_resend(&tx, q->channel, q->address, n, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static str run_resend(const struct ask *q)
{
	struct err e = { 0 };
	int64_t n = 0;

	if (resend(q, &n, &e) < 0)
		return arena_fmt(q->a, "That did not work: %s", e.msg);
	if (n == 0)
		return S("Nothing is missing, as far as I know.");
	return arena_fmt(q->a, "Sending %lld part%s again.", (long long)n, n == 1 ? "" : "s");
}

static str uptime(struct arena *a, int64_t ms)
{
	long long s = (long long)(ms / 1000);

	if (s >= 86400)
		return arena_fmt(a, "%lldd%lldh", s / 86400, s / 3600 % 24);
	if (s >= 3600)
		return arena_fmt(a, "%lldh%lldm", s / 3600, s / 60 % 60);
	return s >= 60 ? arena_fmt(a, "%lldm%llds", s / 60, s % 60) : arena_fmt(a, "%llds", s);
}

/* What the endpoint was found not to take. */
static void add_quirks(struct buf *b, const struct ask *q)
{
	struct agent *ag = q->ag;
	struct err e = { 0 };
	uint32_t flags = 0;
	int64_t window = 0;

	if (!ag->opt.model || store_quirks_get(ag->opt.store, model_issuer(ag->opt.model),
					       &flags, &window, &e) < 0)
		return;
	if (flags)
		buf_fmt(b, "\nmodel_quirks: %.*s (learned)", STRF(quirks_words(q->a, flags)));
	if (window)
		buf_fmt(b, "\nmodel_window=%lld tokens (learned)", (long long)window);
}

static void add_servers(struct buf *b, const struct ask *q)
{
	static const char *const word[] = { "starting", "ready", "down", "stopped" };
	struct mcp_server_status *v;
	size_t n = 0;

	if (q->ag->opt.host)
		mcp_host_status(q->ag->opt.host, q->a, &v, &n);
	for (size_t i = 0; i < n; i++) {
		buf_fmt(b, "\nserver %.*s: %s, %zu of %zu tools", STRF(v[i].name),
			word[v[i].state], v[i].published, v[i].listed);
		if (v[i].sandbox.n)
			buf_fmt(b, ", sandbox %.*s", STRF(v[i].sandbox));
		if (v[i].restarts)
			buf_fmt(b, ", %lld restarts", (long long)v[i].restarts);
		if (v[i].note.n)
			buf_fmt(b, " (%.*s)", STRF(text_line(q->a, v[i].note, 160)));
	}
}

static void add_sandbox(struct buf *b, const struct ask *q)
{
	str commands = tools_sandbox_text(q->ag->opt.tools, q->a);

	if (commands.n)
		buf_fmt(b, "\nsandbox of commands: %.*s", STRF(commands));
	buf_fmt(b, "\nself: %s", sandbox_self_text());
}

static void add_questions(struct buf *b, const struct ask *q)
{
	struct approval *v;
	struct err e = { 0 };
	size_t n = 0;

	if (store_approval_list(q->ag->opt.store, q->channel, q->a, &v, &n, &e) == OK && n > 0)
		buf_fmt(b, "\nwaiting for your answer: %zu question%s", n, n == 1 ? "" : "s");
}

static void add_session(struct buf *b, const struct ask *q)
{
	struct store *db = q->ag->opt.store;
	struct session s = { 0 };
	struct message *rows;
	struct model_msg *msgs;
	size_t n = 0, msgs_n = 0;
	struct err e = { 0 };

	int rc = store_session_find(db, q->channel, q->address, q->a, &s, &e);
	if (rc == OK && store_history(db, &s, 10000, q->a, &rows, &n, &e) == OK && n > 0)
		rc = prompt_messages(q->a, rows, n, &msgs, &msgs_n, &e);
	if (rc < 0 && rc != E_NOENT)
		log_warn("status.session", "err=%.*s", STRF(log_q(q->a, str_of(e.msg))));
	int64_t tokens = msgs_n ? prompt_tokens(msgs, msgs_n) : 0;
	buf_fmt(b, "\nsession=%.*s\nhistory_messages=%zu\nhistory_est_tokens=%lld (estimate)",
		STRF(s.id.n ? s.id : S("none yet")), n, (long long)tokens);
	if (s.prompt_tokens || s.completion_tokens)
		buf_fmt(b, "\nsession_tokens: prompt %lld, completion %lld (as reported)",
			(long long)s.prompt_tokens, (long long)s.completion_tokens);
}

static str run_status(const struct ask *q)
{
	struct buf b = buf_in(q->a, 65536);
	struct agent *ag = q->ag;
	struct snapshot *snap = agent_snapshot_get(ag);
	struct holds h;
	struct usage u = { 0 };
	struct err e = { 0 };

	buf_fmt(&b, "gantry %s\nuptime=%.*s\nmodel=%.*s", version_text(),
		STRF(uptime(q->a, clock_now_ms() - ag->started_at_ms)),
		STRF(snap->cfg->model.name));
	buf_add(&b, spend_text(ag, snap->cfg, q->a));
	agent_snapshot_put(ag, snap);
	add_quirks(&b, q);
	add_session(&b, q);
	add_questions(&b, q);
	if (holds_of_chat(&h, ag, q->channel, q->address, q->a, &e) == OK)
		buf_add(&b, holds_status(&h, q->a));
	add_sandbox(&b, q);
	add_servers(&b, q);
	if (store_usage(ag->opt.store, ag->started_at_ms, &u, &e) == OK)
		buf_fmt(&b,
			"\nsince start: turns %lld, model calls %lld, tool calls %lld, "
			"tokens: prompt %lld (cached %lld), completion %lld",
			(long long)u.turns, (long long)u.model_calls, (long long)u.tool_calls,
			(long long)u.prompt_tokens, (long long)u.cached_tokens,
			(long long)u.completion_tokens);
	return buf_str(&b);
}

static str run_tools(const struct ask *q)
{
	struct err e = { 0 };
	struct holds h;

	if (holds_of_chat(&h, q->ag, q->channel, q->address, q->a, &e) < 0)
		return arena_fmt(q->a, "That did not work: %s", e.msg);
	return holds_list(&h, q->a);
}

static str run_prompts(const struct ask *q)
{
	return server_prompt_list(q->ag, q->a, q->c);
}

static str run_brief(const struct ask *q)
{
	return holds_set(q->ag, q->channel, q->address, q->args, TOOL_HOLD_BRIEF, q->a, q->c);
}

static str run_short(const struct ask *q)
{
	return holds_set(q->ag, q->channel, q->address, q->args, TOOL_HOLD_SHORT, q->a, q->c);
}

static str run_off(const struct ask *q)
{
	return holds_off(q->ag, q->channel, q->address, q->args, q->a, q->c);
}
