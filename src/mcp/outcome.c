/*
 * Results of tools/call by their type.  What is left out of a result means that it is complete.
 */
#include "mcp/outcome.h"

#include "base/utf.h"
#include "mcp/result.h"

#define QUESTIONS_MAX 16
#define KEY_MAX 256
#define TASK_ID_MAX 4096
#define TEXT_MAX ((size_t)16 << 20)

static bool is_offered(str method, const struct json *params, const struct mcp_offer *offer,
		       enum mcp_question_kind *kind)
{
	*kind = MCP_SAMPLE;
	if (str_is(method, "sampling/createMessage"))
		return offer->sampling;
	*kind = MCP_ELICIT;
	return str_is(method, "elicitation/create") &&
	       (str_is(json_str(params, "mode"), "url") ? offer->url : offer->form);
}

int mcp_outcome_questions(const struct json *requests, str server,
			  const struct mcp_offer *offer, struct arena *a,
			  const struct mcp_question **out, size_t *n, struct err *e)
{
	struct buf b = buf_in(a, TEXT_MAX);
	struct mcp_question *v;
	struct json *own;
	size_t i = 0;
	int rc;

	*n = 0;
	if (!requests)
		return OK;
	if (!json_is(requests, JSON_OBJECT))
		return err_set(e, E_PROTO, "what the server asks for is no object");
	json_write(&b, requests);
	if (b.full || requests->n > QUESTIONS_MAX)
		return err_set(e, E_LIMIT, "the server asks for more than %d things at once",
			       QUESTIONS_MAX);
	if ((rc = json_read(&own, a, buf_str(&b), e)) < 0)
		return rc;
	v = NEWN(a, struct mcp_question, own->n);
	for (const struct json *q = own->child; q; q = q->next) {
		str method = json_str(q, "method");
		enum mcp_question_kind kind;

		if (q->key.n > KEY_MAX)
			return err_set(
				e, E_LIMIT,
				"a key of what the server asks for has more than %d bytes",
				KEY_MAX);
		if (!is_offered(method, json_get(q, "params"), offer, &kind))
			return err_set(e, E_DENIED,
				       "the server asks for %.*s, which was not offered to it",
				       STRF(utf_head(method, 60)));
		v[i++] = (struct mcp_question){ .kind = kind,
						.server = server,
						.key = q->key,
						.params = json_get(q, "params") };
	}
	*out = v;
	*n = i;
	return OK;
}

static void fail(struct mcp_result *out, struct arena *a, str why)
{
	out->failed = true;
	out->text = arena_cat(a, S("tool error: "), why);
}

static void read_input(struct mcp_result *out, const struct json *result, str server,
		       const struct mcp_offer *offer, struct arena *a)
{
	const struct json *state = json_get(result, "requestState");
	struct err e = { 0 };

	if (mcp_outcome_questions(json_get(result, "inputRequests"), arena_dup(a, server),
				  offer, a, &out->questions, &out->questions_n, &e) < 0) {
		fail(out, a, str_of(e.msg));
		return;
	}
	if (!out->questions_n && !json_is(state, JSON_STRING)) {
		fail(out, a, S("the server asks for input, but not for which"));
		return;
	}
	out->needs_input = true;
	out->state = arena_dup(a, json_text(state));
}

static const struct json *copy(const struct json *v, struct arena *a)
{
	struct buf b = buf_in(a, TEXT_MAX);
	struct json *own;

	json_write(&b, v);
	return json_read(&own, a, buf_str(&b), NULL) == OK ? own : NULL;
}

void mcp_outcome_read(struct mcp_result *out, const struct json *result,
		      const struct json *error, str server, const struct mcp_offer *offer,
		      struct arena *a)
{
	str type = json_str(result, "resultType");

	if (error) {
		out->failed = true;
		out->text = mcp_result_error(a, error);
	} else if (!offer || !type.n || str_is(type, "complete")) {
		out->text = mcp_result_text(a, result, &out->failed);
	} else if (str_is(type, "input_required")) {
		read_input(out, result, server, offer, a);
	} else if (str_is(type, "task") && json_str(result, "taskId").n &&
		   json_str(result, "taskId").n <= TASK_ID_MAX) {
		out->task = copy(result, a);
		out->offer = *offer;
	} else {
		fail(out, a,
		     arena_fmt(a,
			       "the server answered with a result of type \"%.*s\", which is "
			       "not known here",
			       STRF(utf_repair(a, utf_head(type, 60)))));
	}
}
