/*
 * The tools of a chat, for people.  Their holds are rows like the model's own: the next request
 * shows what they say, also that of a turn that runs.
 */
#include "agent/holds.h"

#include "agent/internal.h"
#include "text/text.h"
#include "tools/dynamic.h"

#define TITLE_MAX 60
#define PREFIXES_MAX 8
#define SHOWN 80

int holds_of_chat(struct holds *out, struct agent *ag, str channel, str address,
		  struct arena *a, struct err *e)
{
	struct snapshot *snap = agent_snapshot_get(ag);
	struct session s = { 0 };
	int rc = OK;

	*out = (struct holds){ .dynamic = snap->cfg->agent.dynamic_tools };
	agent_snapshot_put(ag, snap);
	tools_snapshot(ag->opt.tools, a, &out->set);
	out->shown = out->set.n;
	out->shown_tokens = out->all_tokens = toolset_tokens(&out->set);
	if (!out->dynamic)
		return OK;
	rc = store_session_find(ag->opt.store, channel, address, a, &s, e);
	if (rc == OK)
		rc = store_tool_holds(ag->opt.store, s.id, a, &out->on, &out->on_n, e);
	if (rc < 0 && rc != E_NOENT)
		return rc;
	dynamic_gate(&out->set, out->on, out->on_n, a);
	for (size_t i = 0; i < out->set.n; i++)
		out->shown -= out->set.off[i];
	out->shown_tokens = toolset_tokens(&out->set);
	return OK;
}

str holds_status(const struct holds *h, struct arena *a)
{
	if (!h->dynamic)
		return arena_fmt(a, "\ntools=%zu\nschema_est_tokens=%lld (estimate)", h->set.n,
				 (long long)h->all_tokens);
	return arena_fmt(a,
			 "\ntools=%zu (%zu shown to the model, the others off until their "
			 "prefix is on)\nschema_est_tokens=%lld (estimate; %lld with all)",
			 h->set.n, h->shown, (long long)h->shown_tokens,
			 (long long)h->all_tokens);
}

static void add_head(struct buf *b, const struct holds *h)
{
	if (!h->dynamic) {
		buf_fmt(b, "tools (%zu, about %lld tokens of schema, estimated):", h->set.n,
			(long long)h->all_tokens);
		return;
	}
	buf_fmt(b,
		"tools (%zu, %zu of them shown to the model, about %lld tokens of schema, "
		"estimated; %lld with all):\nprefixes that are on:",
		h->set.n, h->shown, (long long)h->shown_tokens, (long long)h->all_tokens);
	for (size_t i = 0; i < h->on_n; i++)
		buf_fmt(b, "%s %.*s", i ? "," : "", STRF(h->on[i]));
	buf_add(b, h->on_n ? S("") : S(" none"));
	buf_add(b, S("; /brief, /short and /off switch them"));
}

/* What a server says of itself, on one line. */
static str shown(struct arena *a, str text)
{
	return text_line(a, text_visible(a, text, true), TITLE_MAX);
}

str holds_list(const struct holds *h, struct arena *a)
{
	struct buf b = buf_in(a, 1u << 20);

	if (h->set.n == 0)
		return S("tools: (none)");
	add_head(&b, h);
	for (size_t i = 0; i < h->set.n; i++) {
		const struct tool_spec *t = &h->set.v[i];
		buf_fmt(&b, "\n- %.*s", STRF(t->name));
		if (t->server.n && t->title.n)
			buf_fmt(&b, "  \"%.*s\"", STRF(shown(a, t->title)));
		if (t->icon.n)
			buf_fmt(&b, "  [icon: %.*s]", STRF(shown(a, t->icon)));
		if (t->server.n)
			buf_fmt(&b, "  (server=%.*s tool=%.*s)", STRF(t->server),
				STRF(t->tool));
		if (h->set.off && h->set.off[i])
			buf_add(&b, S("  off"));
	}
	return buf_str(&b);
}

/* The parts of a text; false: too many. */
static bool parts(str text, str *out, size_t *n)
{
	*n = 0;
	while (text.n) {
		str one = str_trim(str_cut(&text, ','));
		if (one.n && *n == PREFIXES_MAX)
			return false;
		if (one.n)
			out[(*n)++] = one;
	}
	return true;
}

static void add_word(struct buf *b, const char *head, str word, struct arena *a)
{
	buf_fmt(b, "%s %.*s", b->n ? "," : head, STRF(text_line(a, word, SHOWN)));
}

/* One transaction for all of them; hold NULL: off. */
static int write_all(struct agent *ag, str channel, str address, const struct str_list *keys,
		     const enum tool_hold *hold, struct arena *a, const struct cancel *c,
		     struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct session s;
	int rc;

	if ((rc = store_begin(&tx, ag->opt.store, c, e)) < 0 ||
	    (rc = store_session_ensure(&tx, channel, address, a, &s, e)) < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < keys->n; i++)
		rc = hold ? store_tool_hold(&tx, s.id, keys->v[i], *hold, e)
			  : store_tool_release(&tx, s.id, keys->v[i], e);
	return rc < 0 ? rc : store_commit(&tx, e);
}

/* What both commands begin with; an answer when there is nothing to do, else "". */
static str begin(struct holds *h, struct agent *ag, str channel, str address, str text,
		 str *keys, size_t *n, struct arena *a)
{
	struct err e = { 0 };

	if (!parts(text, keys, n))
		return arena_fmt(a, "At most %d prefixes at once.", PREFIXES_MAX);
	if (holds_of_chat(h, ag, channel, address, a, &e) < 0)
		return arena_fmt(a, "That did not work: %s", e.msg);
	if (!h->dynamic)
		return S(
			"All tools are shown to the model all the time: tools.dynamic is off.");
	return *n ? S("") : S("Name a prefix; /tools lists them.");
}

/* In words what became of it. */
static str told(struct buf *done, struct buf *others, const char *after, int rc,
		const struct err *e, struct arena *a)
{
	if (rc < 0)
		return arena_fmt(a, "That did not work: %s", e->msg);
	return arena_fmt(a, "%.*s%s%s%.*s", STRF(buf_str(done)), done->n ? after : "",
			 done->n && others->n ? "; " : "", STRF(buf_str(others)));
}

str holds_set(struct agent *ag, str channel, str address, str prefixes, enum tool_hold hold,
	      struct arena *a, const struct cancel *c)
{
	struct buf on = buf_in(a, 4096), unknown = buf_in(a, 4096);
	str keys[PREFIXES_MAX], known[PREFIXES_MAX];
	struct dynamic_key *all;
	size_t n, known_n = 0;
	struct holds h;
	struct err e = { 0 };
	str answer = begin(&h, ag, channel, address, prefixes, keys, &n, a);

	if (answer.n)
		return answer;
	size_t all_n = dynamic_keys(&h.set, a, &all);
	for (size_t i = 0, k; i < n; i++) {
		for (k = 0; k < all_n && !str_eq(all[k].key, keys[i]);)
			k++;
		if (k == all_n) {
			add_word(&unknown, "no such prefix:", keys[i], a);
			continue;
		}
		known[known_n++] = keys[i];
		add_word(&on, "on:", keys[i], a);
	}
	int rc = known_n ? write_all(ag, channel, address, &(struct str_list){ known, known_n },
				     &hold, a, c, &e)
			 : OK;
	return told(&on, &unknown,
		    hold == TOOL_HOLD_SHORT ? " (27 hours after the last use)"
					    : " (six hours after the last use)",
		    rc, &e, a);
}

str holds_off(struct agent *ag, str channel, str address, str prefixes, struct arena *a,
	      const struct cancel *c)
{
	struct buf off = buf_in(a, 4096), others = buf_in(a, 4096);
	str keys[PREFIXES_MAX], held[PREFIXES_MAX];
	size_t n, held_n = 0;
	struct holds h;
	struct err e = { 0 };
	str answer = begin(&h, ag, channel, address, prefixes, keys, &n, a);

	if (answer.n)
		return answer;
	for (size_t i = 0; i < n; i++) {
		str by = dynamic_held(keys[i], h.on, h.on_n);
		if (str_eq(by, keys[i])) {
			held[held_n++] = keys[i];
			add_word(&off, "off:", keys[i], a);
			continue;
		}
		add_word(&others, "not on by itself:", keys[i], a);
		if (by.n)
			buf_fmt(&others, " (on with %.*s)", STRF(by));
	}
	int rc = held_n ? write_all(ag, channel, address, &(struct str_list){ held, held_n },
				    NULL, a, c, &e)
			: OK;
	return told(&off, &others, "", rc, &e, a);
}
