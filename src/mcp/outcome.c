/*
 * Results of tools/call by their type.  What is left out of a result means that it is complete.
 */
#include "mcp/outcome.h"

#include "base/utf.h"
#include "mcp/result.h"
#include "mcp/rpc.h"

#define QUESTIONS_MAX 16
#define KEY_MAX 256
#define TASK_ID_MAX 4096
#define TEXT_MAX ((size_t)16 << 20)
#define LINKS_MAX 8
#define LINK_BYTES 2048
#define MESSAGE_BYTES 2000

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

bool mcp_outcome_task(struct mcp_result *out, const struct json *result, int64_t token,
		      const struct mcp_offer *offer, struct arena *a)
{
	const struct json *task = json_get(result, "task");
	str id = json_str(task, "taskId");

	if (!id.n || id.n > TASK_ID_MAX || !(task = copy(task, a)))
		return false;
	*out = (struct mcp_result){ .task = task, .offer = *offer, .token = token };
	return true;
}

/* The links of such an error, NULL: it is another, or they are none, or too many. */
static const struct json *links_of(const struct json *error)
{
	const struct json *list = json_get(json_get(error, "data"), "elicitations");

	if (json_i64(error, "code", 0) != MCP_LINKS_REQUIRED || !json_is(list, JSON_ARRAY) ||
	    list->n == 0 || list->n > LINKS_MAX)
		return NULL;
	for (const struct json *v = list->child; v; v = v->next) {
		str url = json_str(v, "url");

		if (!url.n || url.n > LINK_BYTES)
			return NULL;
	}
	return list;
}

/* As a question: in the server's words, and what comes of saying yes. */
static const struct json *link_params(const struct json *link, struct arena *a)
{
	struct buf b = buf_in(a, 65536);
	struct json *v;

	buf_add(&b, S("{\"mode\":\"url\""));
	buf_json_member(&b, "url", json_str(link, "url"));
	buf_json_member(&b, "elicitationId",
			utf_head(json_str(link, "elicitationId"), KEY_MAX));
	buf_json_member(
		&b, "message",
		arena_fmt(a,
			  "%.*s\n(The call is made again when you say that this is done, "
			  "or the server does.)",
			  STRF(utf_repair(
				  a, utf_head(json_str(link, "message"), MESSAGE_BYTES)))));
	buf_add(&b, S("}"));
	return json_read(&v, a, buf_str(&b), NULL) == OK ? v : NULL;
}

size_t mcp_outcome_links(const struct json *error, struct arena *a,
			 const struct mcp_question **out)
{
	const struct json *list = links_of(error);
	struct mcp_question *v;
	size_t n = 0;

	if (!list)
		return 0;
	v = NEWN(a, struct mcp_question, list->n);
	for (const struct json *l = list->child; l; l = l->next, n++) {
		v[n].kind = MCP_ELICIT;
		if (!(v[n].params = link_params(l, a)))
			return 0;
	}
	*out = v;
	return n;
}

/* For a model whose user nobody could show the links. */
static str with_links(str text, const struct json *error, struct arena *a)
{
	const struct json *list = links_of(error);
	struct buf b = buf_in(a, text.n + LINKS_MAX * 2 * (LINK_BYTES + MESSAGE_BYTES) + 100);

	if (!list)
		return text;
	buf_add(&b, text);
	buf_add(&b, S("\nBefore this can be called again the user has to open:"));
	for (const struct json *l = list->child; l; l = l->next)
		buf_fmt(&b, "\n%.*s: %.*s",
			STRF(utf_repair(a, utf_head(json_str(l, "message"), MESSAGE_BYTES))),
			STRF(utf_repair(a, json_str(l, "url"))));
	return buf_str(&b);
}

void mcp_outcome_read(struct mcp_result *out, const struct json *result,
		      const struct json *error, str server, const struct mcp_offer *offer,
		      struct arena *a)
{
	str type = json_str(result, "resultType");

	if (error) {
		out->failed = true;
		out->text = with_links(mcp_result_error(a, error), error, a);
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
