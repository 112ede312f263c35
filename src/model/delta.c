/*
 * The assembler of answers.  What the pieces mean in the end (ids made up, arguments
 * normalised, the wire message) is decided in reply.c.
 */
#include "model/delta.h"

#include <string.h>

const struct opaque_key opaque_message[OPAQUE_MESSAGE_N] = {
	{ "reasoning_content", true }, { "reasoning", true },
	{ "reasoning_details", true }, { "thinking", true },
	{ "extra_content", false },    { "provider_specific_fields", false },
};
const struct opaque_key opaque_call[OPAQUE_CALL_N] = {
	{ "extra_content", false },
	{ "thought_signature", false },
	{ "provider_specific_fields", false },
};

struct answer answer_in(struct arena *a, size_t max)
{
	return (struct answer){
		.a = a,
		.max = max,
		.content = buf_in(a, max),
		.reasoning = buf_in(a, max),
		.refusal = buf_in(a, max),
		.usage = { -1, -1, -1, -1 },
	};
}

static void add(struct answer *s, struct buf *b, str piece)
{
	if (!b->a)
		*b = buf_in(s->a, s->max);
	buf_add(b, piece);
	if (piece.n)
		s->progress = true;
}

/* ---- opaque fields ------------------------------------------------------------------ */

static struct json *copy(struct arena *a, const struct json *v)
{
	struct json *c = NEW(a, struct json), **tail = &c->child;

	*c = *v;
	c->s = arena_dup(a, v->s);
	c->key = arena_dup(a, v->key);
	c->child = c->next = NULL;
	for (const struct json *m = v->child; m; m = m->next) {
		*tail = copy(a, m);
		tail = &(*tail)->next;
	}
	return c;
}

static struct json *member(struct json *v, str key)
{
	for (struct json *m = v->child; m; m = m->next)
		if (str_eq(m->key, key))
			return m;
	return NULL;
}

static void append(struct json *v, struct json *m)
{
	struct json **tail = &v->child;

	while (*tail)
		tail = &(*tail)->next;
	*tail = m;
	v->n++;
}

/* The text of a detail comes in pieces, the rest of it whole. */
static bool joined(str key)
{
	return str_eq(key, S("text")) || str_eq(key, S("summary")) || str_eq(key, S("data"));
}

/* Merge a further piece of the object into: text grows, other values replace. */
static void merge(struct arena *a, struct json *into, const struct json *piece)
{
	for (const struct json *p = piece->child; p; p = p->next) {
		struct json *m = member(into, p->key);
		if (p->type == JSON_NULL)
			continue;
		if (!m) {
			append(into, copy(a, p));
		} else if (m->type == JSON_STRING && p->type == JSON_STRING && joined(p->key)) {
			m->s = arena_cat(a, m->s, p->s);
		} else if (m->type == JSON_OBJECT && p->type == JSON_OBJECT) {
			merge(a, m, p);
		} else {
			struct json *next = m->next;
			*m = *copy(a, p);
			m->next = next;
		}
	}
}

static bool continues(const struct json *last, const struct json *piece)
{
	return json_is(last, JSON_OBJECT) && json_is(piece, JSON_OBJECT) &&
	       json_is(json_get(piece, "index"), JSON_INT) &&
	       json_i64(last, "index", -1) == json_i64(piece, "index", -2) &&
	       str_eq(json_str(last, "type"), json_str(piece, "type"));
}

static void merge_array(struct arena *a, struct json *into, const struct json *piece)
{
	for (const struct json *p = piece->child; p; p = p->next) {
		struct json *last = into->child;
		while (last && last->next)
			last = last->next;
		if (continues(last, p))
			merge(a, last, p);
		else
			append(into, copy(a, p));
	}
}

static void keep_opaque(struct answer *s, struct opaque *o, const struct opaque_key *keys,
			size_t n, const struct json *from)
{
	for (size_t i = 0; i < n; i++) {
		const struct json *v = json_get(from, keys[i].name);
		if (!v || v->type == JSON_NULL)
			continue;
		if (v->type == JSON_STRING)
			add(s, &o[i].text, v->s);
		else if (o[i].v && o[i].v->type == JSON_ARRAY && v->type == JSON_ARRAY)
			merge_array(s->a, o[i].v, v);
		else if (o[i].v && o[i].v->type == JSON_OBJECT && v->type == JSON_OBJECT)
			merge(s->a, o[i].v, v);
		else if (v->type == JSON_ARRAY) {
			o[i].v = NEW(s->a, struct json);
			o[i].v->type = JSON_ARRAY;
			merge_array(s->a, o[i].v, v);
		} else
			o[i].v = copy(s->a, v);
		s->progress = true;
	}
}

/* ---- tool calls --------------------------------------------------------------------- */

static struct answer_call *by_id(struct answer *s, str id)
{
	for (size_t i = 0; id.n && i < s->calls_n; i++)
		if (str_eq(s->calls[i]->id, id))
			return s->calls[i];
	return NULL;
}

static struct answer_call *by_index(struct answer *s, int64_t index)
{
	for (size_t i = 0; i < s->owner_n; i++)
		if (s->owner[i].index == index)
			return s->owner[i].call;
	return NULL;
}

static void point(struct answer *s, int64_t index, struct answer_call *c)
{
	size_t i = 0;

	while (i < s->owner_n && s->owner[i].index != index)
		i++;
	if (i == s->owner_n) {
		if (i == CALLS_MAX)
			return;
		s->owner_n++;
	}
	s->owner[i].index = index;
	s->owner[i].call = c;
}

static struct answer_call *new_call(struct answer *s, bool indexed, int64_t index)
{
	struct answer_call *c;

	if (s->calls_n == CALLS_MAX)
		return NULL;
	c = NEW(s->a, struct answer_call);
	c->name = buf_in(s->a, 1024);
	c->args = buf_in(s->a, s->max);
	c->order = indexed ? index : s->calls_n ? s->calls[s->calls_n - 1]->order : 0;
	s->calls[s->calls_n++] = c;
	return c;
}

/* Which call an element without an id of its own belongs to; NULL: to a new one. */
static struct answer_call *nameless(struct answer *s, bool indexed, int64_t index, str name,
				    bool alone)
{
	if (indexed) {
		struct answer_call *c = by_index(s, index);
		return c || name.n ? c : s->last;
	}
	/* With neither id nor index: a name after arguments begins a new call. */
	if (name.n && s->last && (!alone || s->last->args.n))
		return NULL;
	return s->last;
}

static struct answer_call *call_for(struct answer *s, const struct json *el, bool alone)
{
	const struct json *at = json_get(el, "index");
	bool indexed = json_is(at, JSON_INT) || json_is(at, JSON_REAL);
	int64_t index = json_i64(el, "index", 0);
	str id = json_str(el, "id"), name = json_str(json_get(el, "function"), "name");
	struct answer_call *c = by_id(s, id);

	if (index < 0)
		index = 0;
	if (!c && id.n && indexed) {
		c = by_index(s, index);
		if (c && c->id.n) /* parallel calls, all at index 0 */
			c = NULL;
	} else if (!c && !id.n) {
		c = nameless(s, indexed, index, name, alone);
	}
	if (!c)
		c = new_call(s, indexed, index);
	if (!c)
		return NULL;
	if (id.n && !c->id.n)
		c->id = arena_dup(s->a, id);
	if (indexed)
		point(s, index, c);
	return s->last = c;
}

/* A name comes whole, in fragments, or again and again. */
static void merge_name(struct answer *s, struct answer_call *c, str piece)
{
	str have = buf_str(&c->name);

	if (str_starts(piece, have))
		buf_reset(&c->name);
	else if (str_starts(have, piece))
		return;
	add(s, &c->name, piece);
}

static void add_args(struct answer *s, struct answer_call *c, const struct json *v)
{
	if (!v || v->type == JSON_NULL)
		return;
	if (v->type == JSON_STRING) {
		add(s, &c->args, v->s);
		return;
	}
	buf_reset(&c->args); /* an object comes whole */
	json_write(&c->args, v);
	s->progress = true;
}

static int add_call(struct answer *s, const struct json *el, bool whole, bool alone,
		    struct err *e)
{
	const struct json *f = json_get(el, "function");
	struct answer_call *c;

	if (!json_is(el, JSON_OBJECT))
		return OK;
	if (whole) {
		c = new_call(s, false, 0);
		if (c && !by_id(s, json_str(el, "id")))
			c->id = arena_dup(s->a, json_str(el, "id"));
	} else {
		c = call_for(s, el, alone);
	}
	if (!c)
		return err_set(e, E_LIMIT, "more than %d tool calls", CALLS_MAX);
	if (json_str(f, "name").n)
		merge_name(s, c, json_str(f, "name"));
	add_args(s, c, json_get(f, "arguments"));
	keep_opaque(s, c->opaque, opaque_call, OPAQUE_CALL_N, el);
	return OK;
}

static int add_calls(struct answer *s, const struct json *message, bool whole, struct err *e)
{
	const struct json *list = json_get(message, "tool_calls");
	const struct json *old = json_get(message, "function_call");
	int rc;

	if (json_is(list, JSON_ARRAY))
		for (const struct json *el = list->child; el; el = el->next)
			if ((rc = add_call(s, el, whole, list->n == 1, e)) < 0)
				return rc;
	if (json_is(old, JSON_OBJECT) && (!list || list->n == 0)) {
		struct json f = *old, el = { .type = JSON_OBJECT, .child = &f, .n = 1 };
		f.key = S("function");
		f.next = NULL;
		return add_call(s, &el, whole, true, e);
	}
	return OK;
}

/* ---- messages and chunks ------------------------------------------------------------ */

/* Content is a string, or parts: text, thinking (again text or parts), refusal. */
static void add_content(struct answer *s, struct buf *into, const struct json *v, int depth)
{
	if (json_is(v, JSON_STRING)) {
		add(s, into, v->s);
		return;
	}
	if (!json_is(v, JSON_ARRAY) || depth > 2)
		return;
	for (const struct json *p = v->child; p; p = p->next) {
		add_content(s, into, json_get(p, "text"), depth + 1);
		add_content(s, &s->reasoning, json_get(p, "thinking"), depth + 1);
		add_content(s, &s->refusal, json_get(p, "refusal"), depth + 1);
	}
}

static void add_reasoning(struct answer *s, const struct json *message)
{
	static const char *const names[] = { "reasoning_content", "reasoning", "thinking" };

	for (size_t i = 0; i < COUNT(names); i++) {
		str piece = json_str(message, names[i]);
		if (piece.n) { /* some send the same under two names */
			add(s, &s->reasoning, piece);
			return;
		}
	}
}

static int add_message(struct answer *s, const struct json *m, bool whole, struct err *e)
{
	if (!json_is(m, JSON_OBJECT))
		return OK;
	add_content(s, &s->content, json_get(m, "content"), 0);
	add_content(s, &s->refusal, json_get(m, "refusal"), 0);
	add_reasoning(s, m);
	keep_opaque(s, s->opaque, opaque_message, OPAQUE_MESSAGE_N, m);
	return add_calls(s, m, whole, e);
}

/* A number of tokens that no request can have is none: sums are made of it. */
static int64_t count_of(const struct json *v, const char *key, int64_t def)
{
	int64_t n = json_i64(v, key, def);

	return n < 0 || n > MODEL_TOKENS_MAX ? def : n;
}

static void take_usage(struct answer *s, const struct json *u)
{
	static const char *const cached[] = { "prompt_cache_hit_tokens", "cached_tokens",
					      "cache_read_input_tokens" };
	static const char *const written[] = { "cache_write_tokens", "cache_creation_tokens" };
	struct model_usage *t = &s->usage;

	if (!json_is(u, JSON_OBJECT))
		return;
	t->prompt = count_of(u, "prompt_tokens", count_of(u, "input_tokens", t->prompt));
	t->completion =
		count_of(u, "completion_tokens", count_of(u, "output_tokens", t->completion));
	for (size_t i = 0; i < COUNT(cached); i++)
		t->cached = count_of(u, cached[i], t->cached);
	const struct json *details = json_get(u, "prompt_tokens_details");
	t->cached = count_of(details, "cached_tokens", t->cached);
	t->written = count_of(u, "cache_creation_input_tokens", t->written);
	for (size_t i = 0; i < COUNT(written); i++)
		t->written = count_of(details, written[i], t->written);
	if (t->prompt >= 0 && t->cached > t->prompt)
		t->cached = t->prompt;
	s->progress = true;
}

static bool says_something(const struct json *v)
{
	return v && v->type != JSON_NULL && v->type != JSON_FALSE &&
	       (v->type != JSON_STRING || v->s.n);
}

/* Where an error is reported in a chunk, or NULL. */
static const struct json *reported(const struct json *chunk)
{
	const struct json *choice = json_at(json_get(chunk, "choices"), 0);

	if (json_is(chunk, JSON_ARRAY))
		return says_something(json_get(json_at(chunk, 0), "error")) ? chunk : NULL;
	if (says_something(json_get(chunk, "error")) ||
	    str_eq(json_str(chunk, "object"), S("error")))
		return chunk;
	if (says_something(json_get(choice, "error")) ||
	    str_eq(json_str(choice, "finish_reason"), S("error")))
		return choice;
	return NULL;
}

int answer_chunk(struct answer *s, const struct json *chunk, bool whole, struct err *e)
{
	const struct json *error = reported(chunk), *choices = json_get(chunk, "choices");
	const struct json *choice = json_at(choices, 0), *message;
	str finish = json_str(choice, "finish_reason");
	int rc;

	s->progress = false;
	if (error) {
		struct buf b = buf_in(s->a, s->max);
		json_write(&b, error);
		s->error = buf_str(&b);
		return err_set(e, E_PROTO, "the provider reported an error");
	}
	take_usage(s, json_get(chunk, "usage"));
	take_usage(s, json_get(json_get(chunk, "x_groq"), "usage"));
	take_usage(s, json_get(choice, "usage"));
	if (!json_is(choice, JSON_OBJECT) || json_i64(choice, "index", 0) != 0)
		return OK;
	message = json_get(choice, "delta");
	if (whole || !json_is(message, JSON_OBJECT))
		message = json_get(choice, "message");
	if (json_is(message, JSON_OBJECT) || (finish.n && !whole))
		s->choices = true;
	if ((rc = add_message(s, message, whole, e)) < 0)
		return rc;
	if (finish.n) {
		s->progress = true;
		s->finish = arena_dup(s->a, finish);
	}
	if (s->content.full || s->reasoning.full || s->refusal.full)
		return err_set(e, E_LIMIT, "answer over %zu bytes", s->max);
	return OK;
}
