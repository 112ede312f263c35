/*
 * Prompts from rows.  Pure: what is sent depends on the rows and on nothing else, so that a
 * resumed turn asks exactly what it asked before, and provider caches keep hitting.
 *
 * The repair in here is not a second journal: the store keeps calls and results paired.
 * It is the promise that even a database somebody edited by hand, or one that an interrupted
 * release left odd, can never produce a request that a provider refuses for ever.
 */
#include "agent/prompt.h"

#include "sched/when.h"
#include "text/json.h"
#include "text/text.h"

#include <string.h>

#define SYSTEM_MAX (4u << 20)
#define INTERRUPTED "interrupted: no result of this call is known"

str prompt_system(struct arena *a, const struct prompt_system *in)
{
	struct buf b = buf_in(a, SYSTEM_MAX);

	buf_add(&b, in->persona);
	if (in->remembers)
		buf_add(&b, S("\n\nThe persona above outranks anything recalled from memory. "
			      "If they disagree, say so and follow the persona. Store only "
			      "single statements that the user wants kept, no guesses; what is "
			      "wrong is replaced or forgotten."));
	if (in->memory.n) {
		buf_add(&b, S("\n\n[memory]"));
		buf_add(&b, in->memory);
	}
	if (in->summary.n) {
		buf_add(&b, S("\n\n[session summary]\n"));
		buf_add(&b, in->summary);
	}
	return arena_dup(a, str_trim(buf_str(&b)));
}

str prompt_context(struct arena *a, int64_t now_ms, const struct zone *zone,
		   const struct mcp_server_status *servers, size_t n)
{
	struct buf b = buf_in(a, 4096);

	buf_fmt(&b, "[context]\nnow: %.*s", STRF(when_clock(a, zone, now_ms)));
	for (size_t i = 0; i < n; i++)
		if (servers[i].state == MCP_FAILED)
			buf_fmt(&b, "\ntool server %.*s is down: %.*s", STRF(servers[i].name),
				STRF(text_line(a, servers[i].note, 120)));
	return buf_str(&b);
}

/* What stands for a collapsed tool result. */
static str collapsed(struct arena *a, str name, size_t chars)
{
	return arena_fmt(a, "[tool %.*s: %zu chars, truncated]",
			 STRF(name.n ? name : S("result")), chars);
}

/* The repaired list under construction. */
struct list {
	struct arena *a;
	struct model_msg *v;
	str *text; /* plain text of v[i], for merging */
	bool *calls;
	size_t *pictures; /* of user messages: where theirs begin; they end at .image */
	size_t n;
	const struct prompt_image *images;
	size_t images_n, image; /* image: those before it have been placed */
};

static void push(struct list *l, str role, str wire, str issuer, str text, bool calls)
{
	l->v[l->n] = (struct model_msg){ .role = role, .wire = wire, .issuer = issuer };
	l->text[l->n] = text;
	l->calls[l->n] = calls;
	l->n++;
}

/* A row whose wire JSON cannot be ours is rebuilt from its text. */
static bool sound(const struct message *m)
{
	return str_starts(m->wire, S("{\"role\":\"")) && str_ends(m->wire, S("}"));
}

/* Take the pictures of a message; what is said in place of one goes into *text. */
static bool take_images(struct list *l, const struct message *m, str *text)
{
	size_t from = l->image;

	for (; l->image < l->images_n && l->images[l->image].seq <= m->seq; l->image++) {
		str note = l->images[l->image].note;
		if (note.n)
			*text = arena_fmt(l->a, "%.*s\n\n%.*s", STRF(*text), STRF(note));
	}
	return l->image > from;
}

/* With the pictures from the given one on. */
static str user_wire(struct list *l, str text, size_t from)
{
	str *urls = NEWN(l->a, str, l->image - from + 1);
	size_t n = 0;

	for (size_t i = from; i < l->image; i++)
		if (l->images[i].url.n)
			urls[n++] = l->images[i].url;
	return n ? model_user_images_wire(l->a, text, urls, n) : model_user_wire(l->a, text);
}

static void add_user(struct list *l, const struct message *m)
{
	struct arena *a = l->a;
	str text = m->text, wire = m->wire;
	size_t from = l->image;
	bool joined = take_images(l, m, &text);

	if (m->context.n && !m->collapsed) {
		text = arena_fmt(a, "%.*s\n\n%.*s", STRF(text), STRF(m->context));
		joined = true;
	}
	if (l->n && str_eq(l->v[l->n - 1].role, S("user"))) {
		l->n--;
		from = l->pictures[l->n];
		text = arena_fmt(a, "%.*s\n\n%.*s", STRF(l->text[l->n]), STRF(text));
		joined = true;
	}
	if (!joined && !sound(m) && text.n == 0)
		return;
	if (joined || !sound(m))
		wire = user_wire(l, text, from);
	l->pictures[l->n] = from;
	push(l, S("user"), wire, (str){ 0 }, text, false);
}

/* The calls of an assistant message, NULL when it has none or is unreadable. */
static const struct json *calls_of(struct arena *a, const struct message *m)
{
	struct json *v;

	if (m->calls)
		return m->calls;
	if (!sound(m) || !str_has(m->wire, S("\"tool_calls\"")))
		return NULL;
	if (json_read(&v, a, m->wire, NULL) < 0)
		return NULL;
	const struct json *calls = json_get(v, "tool_calls");
	return json_is(calls, JSON_ARRAY) && calls->n ? calls : NULL;
}

void prompt_read(struct arena *a, struct message *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(rows[i].role, S("assistant")))
			rows[i].calls = calls_of(a, &rows[i]);
}

static const struct message *result_of(const struct message *rows, size_t n,
				       const struct message *assistant, int64_t index)
{
	for (size_t i = 0; i < n; i++) {
		const struct message *m = &rows[i];
		if (!str_eq(m->turn_id, assistant->turn_id) || m->round != assistant->round)
			break;
		if (str_eq(m->role, S("tool")) && m->index == index)
			return m;
	}
	return NULL;
}

static void add_result(struct list *l, const struct message *m, const struct json *call)
{
	str id = json_str(call, "id"), wire;
	str name = json_str(json_get(call, "function"), "name");

	if (!m)
		wire = model_tool_wire(l->a, id, S(INTERRUPTED));
	else if (m->collapsed)
		wire = model_tool_wire(
			l->a, id,
			collapsed(l->a, m->tool_name.n ? m->tool_name : name, m->text.n));
	else if (sound(m) && str_has(m->wire, id))
		wire = m->wire;
	else
		wire = model_tool_wire(l->a, id, m->text.n ? m->text : S("(no output)"));
	push(l, S("tool"), wire, (str){ 0 }, (str){ 0 }, false);
}

str prompt_words(struct arena *a, const struct message *m)
{
	struct json *v;

	if (m->text.n || !sound(m) || json_read(&v, a, m->wire, NULL) < 0)
		return m->text;
	return str_trim(json_str(v, "content"));
}

/* rows[0] is the assistant message, its results follow. */
static void add_assistant(struct list *l, const struct message *rows, size_t n)
{
	const struct message *m = &rows[0];
	const struct json *calls = calls_of(l->a, m);
	str said = calls ? m->text : prompt_words(l->a, m);

	if (l->n == 0)
		return; /* a request begins with the user */
	if (!calls && said.n == 0)
		return; /* neither text nor calls */
	if (!calls && l->v[l->n - 1].role.n && str_eq(l->v[l->n - 1].role, S("assistant")) &&
	    !l->calls[l->n - 1]) {
		l->n--;
		str text = arena_fmt(l->a, "%.*s\n\n%.*s", STRF(l->text[l->n]), STRF(said));
		push(l, S("assistant"), model_assistant_wire(l->a, text), (str){ 0 }, text,
		     false);
		return;
	}
	if (!sound(m) || (!calls && str_has(m->wire, S("\"tool_calls\""))))
		push(l, S("assistant"), model_assistant_wire(l->a, said), (str){ 0 }, said,
		     false);
	else
		push(l, S("assistant"), m->wire, m->issuer, said, calls != NULL);
	int64_t index = 0;
	for (const struct json *c = calls ? calls->child : NULL; c; c = c->next)
		add_result(l, result_of(rows + 1, n - 1, m, ++index), c);
}

/* How many results can come out at most: one per call, and calls hold at least an "id". */
static size_t capacity(const struct message *rows, size_t n)
{
	size_t cap = n + 1;

	for (size_t i = 0; i < n; i++) {
		str rest = rows[i].wire;
		if (!str_eq(rows[i].role, S("assistant")) ||
		    !str_has(rest, S("\"tool_calls\"")))
			continue;
		for (size_t at; (at = str_find(rest, S("\"id\""))) != SIZE_MAX; cap++)
			rest = str_sub(rest, at + 4, rest.n);
	}
	return cap;
}

int prompt_messages(struct arena *a, const struct message *rows, size_t n,
		    struct model_msg **out, size_t *out_n, struct err *e)
{
	return prompt_messages_with(a, rows, n, NULL, 0, out, out_n, e);
}

int prompt_messages_with(struct arena *a, const struct message *rows, size_t n,
			 const struct prompt_image *images, size_t images_n,
			 struct model_msg **out, size_t *out_n, struct err *e)
{
	size_t cap = capacity(rows, n);
	struct list l = {
		.a = a,
		.v = NEWN(a, struct model_msg, cap),
		.text = NEWN(a, str, cap),
		.calls = NEWN(a, bool, cap),
		.pictures = NEWN(a, size_t, cap),
		.images = images,
		.images_n = images_n,
	};

	for (size_t i = 0; i < n; i++) {
		if (str_eq(rows[i].role, S("user")))
			add_user(&l, &rows[i]);
		else if (str_eq(rows[i].role, S("assistant")))
			add_assistant(&l, rows + i, n - i);
		/* Tool rows were taken with their assistant message. */
	}
	if (l.n == 0)
		return err_set(e, E_INVAL, "prompt: no user message");
	*out = l.v;
	*out_n = l.n;
	return OK;
}

int64_t prompt_tokens(const struct model_msg *msgs, size_t n)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += text_tokens(msgs[i].wire);
	return sum;
}
