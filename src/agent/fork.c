/*
 * A fork goes on from answer to answer as a turn does, with the recorded results in place of
 * tools.  Which recorded call is meant is told by name and arguments, not by place: another model
 * may ask in another order.
 */
#include "agent/fork.h"

#include "agent/internal.h"
#include "agent/once.h"
#include "text/json.h"
#include "text/text.h"

/* --- which recorded call is it? --------------------------------------------------------- */

/* The same value; members of objects in any order. */
static bool same_json(const struct json *x, const struct json *y)
{
	if (!x || !y || x->type != y->type || x->n != y->n)
		return false;
	if (x->type == JSON_STRING)
		return str_eq(x->s, y->s);
	if (x->type == JSON_INT)
		return x->i == y->i;
	if (x->type == JSON_REAL)
		return !(x->d < y->d) && !(x->d > y->d);
	const struct json *q = y->child;
	for (const struct json *p = x->child; p; p = p->next) {
		if (x->type == JSON_OBJECT)
			for (q = y->child; q && !str_eq(q->key, p->key);)
				q = q->next;
		if (!same_json(p, q))
			return false;
		q = q->next;
	}
	return true;
}

static bool same_args(struct arena *a, str x, str y)
{
	struct json *p, *q;

	if (str_eq(x, y))
		return true;
	return json_read(&p, a, x, NULL) == OK && json_read(&q, a, y, NULL) == OK &&
	       same_json(p, q);
}

static bool is_call(struct arena *a, const struct call *then, str name, str args)
{
	return (str_eq(then->requested, name) || str_eq(then->name, name)) &&
	       same_args(a, then->args, args);
}

/* The first one that no earlier call of the fork had, else the last: a model that asks the same
 * again may have the same again. */
static const struct call *recorded(const struct fork *f, bool *used, struct arena *a, str name,
				   str args)
{
	const struct call *found = NULL;

	for (size_t i = 0; i < f->past.calls_n; i++) {
		const struct call *c = &f->past.calls[i];
		if (c->state == CALL_PLANNED || c->state == CALL_RUNNING ||
		    !is_call(a, c, name, args))
			continue;
		found = c;
		if (!used[i]) {
			used[i] = true;
			break;
		}
	}
	return found;
}

size_t fork_then(const struct fork *f, int64_t round, struct arena *a,
		 const struct call ***calls, str *text)
{
	const struct replay *p = &f->past;
	size_t n = 0;

	*calls = NEWN(a, const struct call *, p->calls_n + 1);
	*text = S("");
	for (size_t i = 0; i < p->calls_n; i++)
		if (p->calls[i].round == round)
			(*calls)[n++] = &p->calls[i];
	for (size_t i = 0; i < p->rows_n; i++)
		if (p->rows[i].round == round && str_eq(p->rows[i].role, S("assistant")))
			*text = p->rows[i].text;
	return n;
}

/* The same calls in the same order. */
static bool same_calls(const struct fork *f, const struct fork_round *r, struct arena *a)
{
	const struct call **then;
	str text;

	if (fork_then(f, (int64_t)f->n, a, &then, &text) != r->calls_n)
		return false;
	for (size_t i = 0; i < r->calls_n; i++)
		if (!is_call(a, then[i], r->calls[i].name, r->calls[i].args))
			return false;
	return true;
}

/* --- one after the other ---------------------------------------------------------------- */

struct asking {
	struct fork *f;
	struct agent *ag;
	struct arena *a;
	struct model_msg *msgs;
	size_t msgs_n, cap;
	bool *used; /* recorded calls */
};

static void add_msg(struct asking *k, str role, str wire, str issuer)
{
	if (k->msgs_n == k->cap) {
		size_t cap = k->cap ? 2 * k->cap : 64;
		k->msgs = arena_grow(k->a, k->msgs, k->cap * sizeof *k->msgs,
				     cap * sizeof *k->msgs);
		k->cap = cap;
	}
	k->msgs[k->msgs_n++] =
		(struct model_msg){ .role = role, .wire = wire, .issuer = issuer };
}

/* Take its calls in, with the results that were recorded.  False: one has none. */
static bool take_calls(struct asking *k, struct fork_round *r, const struct model_reply *reply)
{
	bool all = true;

	r->calls = NEWN(k->a, struct fork_call, reply->calls_n + 1);
	r->calls_n = reply->calls_n;
	add_msg(k, S("assistant"), reply->wire, k->f->issuer);
	for (size_t i = 0; i < reply->calls_n; i++) {
		const struct model_call *c = &reply->calls[i];
		r->calls[i] =
			(struct fork_call){ c->name, c->args,
					    recorded(k->f, k->used, k->a, c->name, c->args) };
		if (r->calls[i].then)
			add_msg(k, S("tool"),
				model_tool_wire(k->a, c->id, r->calls[i].then->result), S(""));
		all = all && r->calls[i].then;
	}
	r->same_calls = same_calls(k->f, r, k->a);
	return all;
}

static int ask(struct asking *k, struct model_reply *reply, struct model_failure *fail,
	       const struct cancel *c, struct err *e)
{
	const struct remade *m = k->f->first;
	struct model_req req = {
		.system = m->row->system,
		.msgs = k->msgs,
		.msgs_n = k->msgs_n,
		.tools = m->tools,
		.tools_n = m->tools_n,
	};
	const struct once q = { .tokens = text_tokens(req.system) + text_tokens(m->row->tools) +
					  prompt_tokens(k->msgs, k->msgs_n) };
	int rc = agent_once_request(k->ag, &q, &req, k->a, reply, fail, c, e);

	if (rc < 0)
		return rc;
	k->f->v[k->f->n++] = (struct fork_round){
		.text = reply->text,
		.usage = reply->usage,
		.est_tokens = q.tokens,
		.answer_tokens = text_tokens(reply->wire),
		.ms = reply->total_ms,
	};
	return OK;
}

static int go_on(struct asking *k, struct model_failure *fail, const struct cancel *c,
		 struct err *e)
{
	struct fork *f = k->f;
	struct model_reply reply;
	int rc;

	for (f->end = FORK_ENDLESS; f->n < FORK_ROUNDS_MAX;) {
		if ((rc = ask(k, &reply, fail, c, e)) < 0)
			return rc;
		struct fork_round *r = &f->v[f->n - 1];
		bool all = take_calls(k, r, &reply);
		if (!r->calls_n) {
			f->end = FORK_ANSWERED;
			f->is = reply.text;
			return OK;
		}
		if (!all) {
			f->end = FORK_UNRECORDED;
			return OK;
		}
	}
	return OK;
}

/* What the recorded turn ended with. */
static str answer_then(const struct replay *p)
{
	str text = S("");
	int64_t round = -1;

	for (size_t i = 0; i < p->rows_n; i++)
		if (str_eq(p->rows[i].role, S("assistant")) && p->rows[i].round > round) {
			round = p->rows[i].round;
			text = p->rows[i].text;
		}
	for (size_t i = 0; i < p->calls_n; i++)
		if (p->calls[i].round == round)
			return S(""); /* it ended with calls */
	return text;
}

int fork_turn(struct fork *out, struct agent *ag, str id, struct arena *a,
	      struct model_failure *fail, const struct cancel *c, struct err *e)
{
	struct asking k = { .f = out, .ag = ag, .a = a };
	int rc;

	*fail = (struct model_failure){ 0 };
	*out = (struct fork){ .issuer = model_issuer(ag->opt.model) };
	if ((rc = replay_turn(&out->past, ag->opt.store, id, a, e)) < 0)
		return rc;
	if (out->past.n == 0)
		return err_set(e, E_NOENT, "turn %.*s asked no model", STRF(out->past.turn.id));
	out->first = &out->past.v[0].made;
	if (out->past.v[0].state == REPLAY_UNKNOWN || !out->first->msgs_n)
		return err_set(e, E_NOENT,
			       "the first request of turn %.*s cannot be made: %.*s",
			       STRF(out->past.turn.id), STRF(out->past.v[0].where));
	out->was = answer_then(&out->past);
	out->v = NEWN(a, struct fork_round, FORK_ROUNDS_MAX + 1);
	k.used = NEWN(a, bool, out->past.calls_n + 1);
	for (size_t i = 0; i < out->first->msgs_n; i++)
		add_msg(&k, out->first->msgs[i].role, out->first->msgs[i].wire,
			out->first->msgs[i].issuer);
	return go_on(&k, fail, c, e);
}
