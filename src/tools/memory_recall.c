/*
 * memory_recall: what is remembered about a text; without one, the latest.
 */
#include "store/memory.h"
#include "tools/builtin.h"

#define DEFAULT 20
#define MOST 100

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	const struct json *q = json_get(args, "query");
	str query = str_trim(json_text(q));
	struct memory *list;
	int64_t limit;
	size_t n;

	(void)c;
	if (q && !json_is(q, JSON_NULL) && !json_is(q, JSON_STRING))
		return tool_fail(out, a, "query must be a text");
	if (!tool_arg_i64(args, "limit", DEFAULT, &limit))
		return tool_fail(out, a, "limit must be a number");
	limit = limit < 1 ? DEFAULT : limit > MOST ? MOST : limit;
	struct memory_filter latest = { .limit = limit };
	int rc = query.n ? store_memory_search(env->opt->store, query, limit, a, &list, &n, e)
			 : store_memory_list(env->opt->store, &latest, a, &list, &n, e);
	if (rc < 0)
		return rc;
	out->text = n ? tool_memories(a, list, n) : S("no memories matched");
	return OK;
}

const struct tool tool_memory_recall = {
	.name = "memory_recall",
	.title = "Recall",
	.description = "What is remembered about something: a name, a few words or a whole "
		       "question, in the language it was stored in. Without a query: the "
		       "latest memories.",
	.schema = "{\"type\":\"object\",\"properties\":{"
		  "\"query\":{\"type\":\"string\"},"
		  "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,"
		  "\"description\":\"20 unless given\"}},\"additionalProperties\":false}",
	.safe = true,
	.enabled = tools_memory_enabled,
	.run = run,
};
