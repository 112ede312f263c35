/*
 * Which tools a request carries.  The toolset of a turn is frozen; with tools.dynamic the part
 * of it that is shown grows during the turn, when the model asks for it.
 */
#include "agent/run.h"

#include "base/buf.h"
#include "store/tool_hold.h"
#include "text/json.h"
#include "tools/dynamic.h"

/* The tools as they are shown, in two forms. */
static void show(struct run *r)
{
	struct buf json = buf_in(r->a, 16u << 20);

	r->tools = NEWN(r->a, struct model_tool, r->set.n + 1);
	r->tools_n = 0;
	buf_addc(&json, '[');
	for (size_t i = 0; i < r->set.n; i++) {
		const struct tool_spec *s = &r->set.v[i];
		if (r->set.off && r->set.off[i])
			continue;
		buf_add(&json, r->tools_n ? S(",{") : S("{"));
		r->tools[r->tools_n++] =
			(struct model_tool){ s->name, s->description, s->schema };
		buf_json_member(&json, "name", s->name);
		buf_json_member(&json, "description", s->description);
		buf_json_key(&json, "parameters");
		buf_add(&json, s->schema);
		buf_addc(&json, '}');
	}
	buf_addc(&json, ']');
	r->tools_json = buf_str(&json);
	r->set_tokens = toolset_tokens(&r->set);
}

static bool same(const struct run *r, const str *keys, size_t n)
{
	if (n != r->held_n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!str_eq(keys[i], r->held[i]))
			return false;
	return true;
}

int run_publish(struct run *r, struct err *e)
{
	str *keys = NULL;
	size_t n = 0;

	if (!r->snap->cfg->agent.dynamic_tools) {
		if (!r->tools)
			show(r);
		return OK;
	}
	int rc = store_tool_holds(r->ag->opt.store, r->t->session.id, r->a, &keys, &n, e);
	if (rc < 0 || (r->tools && same(r, keys, n)))
		return rc;
	r->held = keys;
	r->held_n = n;
	dynamic_gate(&r->set, keys, n, r->a);
	show(r);
	return OK;
}

int run_tools_used(const struct run *r, struct tx *tx, const struct call *calls, size_t n,
		   struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && r->held_n && i < n; i++) {
		str key = dynamic_held(calls[i].name, r->held, r->held_n);
		if (key.n)
			rc = store_tool_used(tx, r->t->session.id, key, e);
	}
	return rc;
}
