/*
 * memory_forget: delete by id, or what a query finds, or bring back what the last forgetting of
 * this conversation took.  It works inside the transaction of its result.
 */
#include "store/memory_forget.h"
#include "text/text.h"
#include "tools/builtin.h"

#define MOST 30 /* rows a query may take */

struct forgetting {
	struct arena *a;
	str session_id;
	bool undo, by_query;
	int64_t *ids;
	size_t n;
};

static int undo(const struct forgetting *f, struct tx *tx, struct tool_result *out,
		struct err *e)
{
	struct memory *back = NULL;
	size_t n = 0;
	int rc = f->session_id.n ? store_memory_unforget(tx, f->session_id, f->a, &back, &n, e)
				 : OK;

	if (rc < 0)
		return rc;
	if (n == 0)
		return tool_fail(out, f->a, "nothing was forgotten in this conversation");
	out->text = arena_fmt(f->a, "brought back %zu:\n%.*s", n,
			      STRF(tool_memories(f->a, back, n)));
	return OK;
}

/* The result stays in the conversation, so that it must not say what is to be forgotten. */
static str named(struct arena *a, const struct memory *list, size_t n)
{
	struct buf b = buf_in(a, 1u << 20);

	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "\nid=%lld (%.*s) %.*s", (long long)list[i].id, STRF(list[i].kind),
			STRF(text_line(a, list[i].subject, MEMORY_SUBJECT_MAX)));
	return buf_str(&b);
}

static int effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	const struct forgetting *f = arg;
	struct memory *gone;
	size_t n;

	if (f->undo)
		return undo(f, tx, out, e);
	int rc = store_memory_forget(tx, f->ids, f->n, f->session_id, f->a, &gone, &n, e);
	if (rc < 0)
		return rc;
	if (n == 0)
		return tool_fail(out, f->a, "no memory with id %lld", (long long)f->ids[0]);
	if (!f->by_query)
		out->text = arena_fmt(f->a, "forgot id=%lld", (long long)f->ids[0]);
	else
		out->text = arena_fmt(
			f->a, "forgot %zu; tell the user what went, undo brings it back:%.*s",
			n, STRF(named(f->a, gone, n)));
	return OK;
}

static int find(const struct tool_env *env, str query, struct forgetting *f, struct err *e)
{
	struct memory *hits;
	size_t n;
	int rc = store_memory_match(env->opt->store, query, f->a, &hits, &n, e);

	if (rc < 0)
		return rc;
	f->ids = NEWN(f->a, int64_t, n + 1);
	for (size_t i = 0; i < n; i++)
		f->ids[f->n++] = hits[i].id;
	return OK;
}

static int by_query(const struct tool_env *env, str query, struct forgetting *f,
		    struct tool_result *out, struct err *e)
{
	int rc = find(env, query, f, e);

	if (rc < 0)
		return rc;
	if (f->n == 0)
		return tool_fail(out, f->a,
				 "no memory has all words of the query; recall it first, and "
				 "forget by id");
	if (f->n > MOST)
		return tool_fail(out, f->a,
				 "the query fits %zu memories, at most %d go at once; be more "
				 "specific, or forget by id",
				 f->n, MOST);
	return OK;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct forgetting *f = NEW(a, struct forgetting);
	str query = str_trim(json_str(args, "query"));
	int64_t id;

	(void)c;
	*f = (struct forgetting){ .a = a, .undo = json_bool(args, "undo", false) };
	if (env->ctx)
		f->session_id = env->ctx->session_id;
	if (!tool_arg_i64(args, "id", 0, &id))
		return tool_fail(out, a, "id must be a number");
	if (f->undo && (id > 0 || query.n))
		return tool_fail(out, a, "undo stands alone");
	if (!f->undo && id <= 0 && query.n == 0)
		return tool_fail(out, a, "give an id or a query");
	if (!f->undo && id > 0) {
		f->ids = NEW(a, int64_t);
		f->ids[0] = id;
		f->n = 1;
	} else if (!f->undo) {
		f->by_query = true;
		int rc = by_query(env, query, f, out, e);
		if (rc < 0 || out->failed)
			return rc;
	}
	out->effect = effect;
	out->effect_arg = f;
	return OK;
}

const struct tool tool_memory_forget = {
	.name = "memory_forget",
	.title = "Forget",
	.description =
		"Delete a memory by its id, or all that have every word of a query. "
		"What went is listed by subject; undo brings back what the last call in this "
		"conversation took.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"id\":{\"type\":\"integer\"},"
		  "\"query\":{\"type\":\"string\"},"
		  "\"undo\":{\"type\":\"boolean\"}},\"additionalProperties\":false}",
	.safe = true,
	.enabled = tools_memory_enabled,
	.run = run,
};
