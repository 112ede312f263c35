/*
 * tools_enable: the model asks for the tools of some prefixes.  The rows are written in the
 * transaction of the result.
 */
#include "base/buf.h"
#include "store/tool_hold.h"
#include "text/text.h"
#include "tools/builtin.h"
#include "tools/dynamic.h"

#define PREFIXES_MAX 8
#define SHOWN 80

struct enabling {
	str session_id;
	enum tool_hold hold;
	str keys[PREFIXES_MAX];
	size_t n;
};

static bool enabled(const struct tools_opt *opt)
{
	return opt->dynamic && opt->store;
}

static int effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	const struct enabling *x = arg;
	int rc = OK;

	(void)out;
	for (size_t i = 0; rc == OK && i < x->n; i++)
		rc = store_tool_hold(tx, x->session_id, x->keys[i], x->hold, e);
	return rc;
}

static const struct dynamic_key *find(const struct dynamic_key *v, size_t n, str key)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(v[i].key, key))
			return &v[i];
	return NULL;
}

static bool hold_of(const struct json *args, enum tool_hold *out)
{
	str hold = json_str(args, "hold");

	*out = str_eq(hold, S("short")) ? TOOL_HOLD_SHORT : TOOL_HOLD_BRIEF;
	return !json_get(args, "hold") || str_eq(hold, S("short")) || str_eq(hold, S("brief"));
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct enabling *x = NEW(a, struct enabling);
	const struct json *list = json_get(args, "prefixes");
	struct buf on = buf_in(a, 4096), unknown = buf_in(a, 4096);
	struct dynamic_key *keys;
	struct toolset set;

	(void)e;
	(void)c;
	if (!json_is(list, JSON_ARRAY) || list->n == 0 || list->n > PREFIXES_MAX)
		return tool_fail(out, a, "prefixes must be a list of one to eight of them");
	if (!hold_of(args, &x->hold))
		return tool_fail(out, a, "hold must be brief or short");
	if (!env->ctx || env->ctx->session_id.n == 0)
		return tool_fail(out, a, "there is no chat to switch them on for");
	tools_snapshot(env->tools, a, &set);
	size_t n = dynamic_keys(&set, a, &keys);
	for (const struct json *v = list->child; v; v = v->next) {
		str key = str_trim(json_text(v));
		const struct dynamic_key *k = find(keys, n, key);
		if (!k) {
			buf_fmt(&unknown, "%s %.*s", unknown.n ? "," : "",
				STRF(text_line(a, key, SHOWN)));
			continue;
		}
		buf_fmt(&on, "%s %.*s (%zu)", on.n ? "," : "", STRF(k->key), k->tools);
		x->keys[x->n++] = k->key;
	}
	if (x->n == 0)
		return tool_fail(out, a, "no such prefix:%.*s", STRF(buf_str(&unknown)));
	x->session_id = env->ctx->session_id;
	out->text = arena_fmt(a, "on:%.*s%s%.*s", STRF(buf_str(&on)),
			      unknown.n ? "; no such prefix:" : "", STRF(buf_str(&unknown)));
	out->effect = effect;
	out->effect_arg = x;
	return OK;
}

const struct tool tool_tools_enable = {
	.name = "tools_enable",
	.title = "Switch tools on",
	.description = "", /* dynamic_index() */
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"prefixes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
		  "\"maxItems\":8},"
		  "\"hold\":{\"type\":\"string\",\"enum\":[\"brief\",\"short\"]}},"
		  "\"required\":[\"prefixes\"],\"additionalProperties\":false}",
	.safe = true,
	.enabled = enabled,
	.run = run,
};
