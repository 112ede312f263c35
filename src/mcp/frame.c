/*
 * Frames, each in an arena of its own, which lets it change hands between threads.
 */
#include "mcp/frame.h"

#include "base/utf.h"
#include "mcp/rpc.h"
#include "mcp/stateless.h"

void mcp_frame_free(struct mcp_frame *f)
{
	if (!f)
		return;
	struct arena a = f->a;

	arena_free(&a);
}

static struct mcp_frame *frame_new(int64_t id)
{
	struct arena a = { 0 };
	struct mcp_frame *f = NEW(&a, struct mcp_frame);

	f->a = a;
	f->id = id;
	return f;
}

/* It goes out as it is, but a line break between two tokens would end the frame. */
int mcp_frame_object(str text, struct arena *a, str *out, struct err *e)
{
	struct json *v;
	char *p;
	int rc;

	text = str_trim(text);
	if (!text.n || str_eq(text, S("null"))) {
		*out = S("{}");
		return OK;
	}
	if ((rc = json_read(&v, a, text, e)) < 0)
		return err_wrap(e, E_INVAL, "the arguments are no JSON");
	if (v->type != JSON_OBJECT)
		return err_set(e, E_INVAL, "the arguments are no JSON object");
	text = arena_dup(a, utf_repair(a, text));
	p = (char *)(uintptr_t)text.p;
	for (size_t i = 0; i < text.n; i++)
		if (p[i] == '\n' || p[i] == '\r')
			p[i] = ' ';
	*out = text;
	return OK;
}

int mcp_frame_params(const struct mcp_call *call, struct arena *a, str *params, struct err *e)
{
	struct buf b;
	str args, answers = { 0 };
	int rc;

	if ((rc = mcp_frame_object(call->args, a, &args, e)) < 0 ||
	    (call->answers.n && (rc = mcp_frame_object(call->answers, a, &answers, e)) < 0))
		return rc;
	b = buf_in(a, args.n + answers.n + 6 * (call->tool.n + call->state.n) + 100);
	buf_add(&b, S("{"));
	buf_json_member(&b, "name", call->tool);
	buf_json_key(&b, "arguments");
	buf_add(&b, args);
	if (answers.n) {
		buf_json_key(&b, "inputResponses");
		buf_add(&b, answers);
	}
	if (call->state.n)
		buf_json_member(&b, "requestState", call->state);
	if (call->as_task)
		buf_add(&b, S(",\"task\":{}"));
	buf_add(&b, S("}"));
	*params = buf_str(&b);
	return OK;
}

struct mcp_frame *mcp_frame_request(int64_t id, const char *method, str params)
{
	struct mcp_frame *f = frame_new(id);
	str inside = str_trim(str_sub(params, 1, params.n - 1));

	f->b = buf_in(&f->a, params.n + 8192);
	buf_add(&f->b, S("{\"jsonrpc\":\"2.0\""));
	buf_json_member_i64(&f->b, "id", id);
	buf_json_member(&f->b, "method", str_of(method));
	buf_json_key(&f->b, "params");
	buf_add(&f->b, S("{"));
	buf_add(&f->b, inside);
	buf_json_key(&f->b, "_meta");
	buf_fmt(&f->b, "{\"progressToken\":%lld", (long long)id);
	f->open_n = f->b.n;
	return f;
}

void mcp_frame_close(struct mcp_frame *f, str meta, const char *level)
{
	if (!f->open_n)
		return;
	f->b.n = f->open_n;
	buf_add(&f->b, meta);
	if (level)
		buf_json_member(&f->b, MCP_STATELESS_META "logLevel", str_of(level));
	buf_add(&f->b, S("}}}\n"));
	f->text = buf_str(&f->b);
}

struct mcp_frame *mcp_frame_cancel(int64_t id, const char *reason)
{
	struct mcp_frame *f = frame_new(0);
	struct buf params = buf_in(&f->a, 400), line = buf_in(&f->a, 600);

	buf_add(&params, S("{"));
	buf_json_member_i64(&params, "requestId", id);
	buf_json_member(&params, "reason", str_of(reason));
	buf_add(&params, S("}"));
	mcp_rpc_notice(&line, "notifications/cancelled", buf_str(&params));
	f->text = buf_str(&line);
	return f;
}

struct mcp_frame *mcp_frame_answer(const struct json *id, const struct mcp_answer *answer)
{
	struct mcp_frame *f = frame_new(0);
	struct buf line = buf_in(&f->a, answer->result.n + 6 * answer->message.n + 4096);

	if (answer->code)
		mcp_rpc_refuse(&line, id, answer->code, answer->message);
	else
		mcp_rpc_answer(&line, id, answer->result);
	f->text = buf_str(&line);
	return f;
}
