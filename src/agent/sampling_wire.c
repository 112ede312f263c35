/*
 * Messages from one shape into the other.  What a server may not have, or what our model could
 * not be given faithfully, is refused rather than left out: the server would take the answer for
 * one to its question.
 */
#include "agent/sampling_wire.h"

#include "base/utf.h"
#include "text/json.h"

#define MESSAGES_MAX 256
#define TEXT_MAX ((size_t)256 << 10)
#define IMAGES_MAX 8
#define IMAGE_MAX ((size_t)4 << 20)
#define IMAGE_COUNTED 4000 /* characters that count as one picture */
#define TOOLS_MAX 64
#define SCHEMA_MAX ((size_t)64 << 10)
#define CALLS_MAX 32
#define STOP_MAX 4
#define STOP_BYTES 100
#define NAME_MAX_BYTES 64
#define RESULT_MAX ((size_t)64 << 20)

struct reading {
	struct arena *a;
	const struct mcp_sampling_cfg *cfg;
	struct buf text; /* everything */
	struct model_msg *msgs;
	size_t msgs_n, images;
	str last;
};

/* One message while it is read. */
struct parts {
	struct buf text;
	str urls[IMAGES_MAX];
	size_t urls_n;
	struct model_call calls[CALLS_MAX];
	size_t calls_n;
};

static void add_msg(struct reading *r, const char *role, str wire)
{
	r->msgs[r->msgs_n++] = (struct model_msg){ .role = str_of(role), .wire = wire };
}

static bool room(const struct reading *r)
{
	return r->msgs_n < MESSAGES_MAX && !r->text.full;
}

static int add_text(struct reading *r, struct parts *p, str text, struct err *e)
{
	if (p->text.n)
		buf_add(&p->text, S("\n"));
	buf_add(&p->text, text);
	buf_add(&r->text, text);
	if (r->text.full || p->text.full)
		return err_set(e, E_LIMIT, "the messages have more than %zu KiB of text",
			       TEXT_MAX >> 10);
	return OK;
}

static bool is_base64(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '='))
			return false;
	}
	return s.n > 0;
}

static int add_image(struct reading *r, struct parts *p, const struct json *v, struct err *e)
{
	static const char *const kinds[] = { "image/png", "image/jpeg", "image/gif",
					     "image/webp" };
	str data = json_str(v, "data"), mime = json_str(v, "mimeType");
	bool known = false;

	for (size_t i = 0; i < COUNT(kinds); i++)
		known |= str_is(mime, kinds[i]);
	if (!known || !is_base64(data))
		return err_set(e, E_INVAL,
			       "a picture has to be base64 of PNG, JPEG, GIF or WebP");
	if (r->images == IMAGES_MAX || data.n > IMAGE_MAX)
		return err_set(e, E_LIMIT, "more than %d pictures, or one over %zu MiB",
			       IMAGES_MAX, IMAGE_MAX >> 20);
	r->images++;
	p->urls[p->urls_n++] = arena_fmt(r->a, "data:%.*s;base64,%.*s", STRF(mime), STRF(data));
	for (int i = 0; i < IMAGE_COUNTED; i++)
		buf_addc(&r->text, 'x');
	return r->text.full ? err_set(e, E_LIMIT, "it is too much to be asked at once") : OK;
}

static bool is_name(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		      (c >= '0' && c <= '9') || c == '_' || c == '-'))
			return false;
	}
	return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

static str json_of(struct arena *a, const struct json *v)
{
	struct buf b = buf_in(a, TEXT_MAX);

	json_write(&b, v);
	return b.full ? S("{}") : buf_str(&b);
}

static int add_call(struct reading *r, struct parts *p, const struct json *v, struct err *e)
{
	str id = json_str(v, "id"), name = json_str(v, "name");
	const struct json *input = json_get(v, "input");

	if (p->calls_n == CALLS_MAX || !id.n || id.n > NAME_MAX_BYTES || !is_name(name) ||
	    !json_is(input, JSON_OBJECT))
		return err_set(e, E_INVAL,
			       "a tool use needs id, name and input, at most %d times",
			       CALLS_MAX);
	p->calls[p->calls_n] =
		(struct model_call){ .id = id, .name = name, .args = json_of(r->a, input) };
	buf_add(&r->text, p->calls[p->calls_n++].args);
	return OK;
}

/* The text of a tool's result; of other content only that it is there. */
static int add_result(struct reading *r, const struct json *v, struct err *e)
{
	const struct json *content = json_get(v, "content");
	struct buf b = buf_in(r->a, TEXT_MAX);
	str id = json_str(v, "toolUseId");

	if (!id.n || id.n > NAME_MAX_BYTES || !room(r))
		return err_set(e, E_INVAL, "a tool result needs the id of its tool use");
	for (const struct json *c = content ? content->child : NULL; c; c = c->next)
		buf_add(&b, str_is(json_str(c, "type"), "text") ? json_str(c, "text")
								: S("[not text]"));
	buf_add(&r->text, buf_str(&b));
	add_msg(r, "tool", model_tool_wire(r->a, id, buf_str(&b)));
	return OK;
}

static int add_block(struct reading *r, struct parts *p, const struct json *v, bool ours,
		     struct err *e)
{
	str type = json_str(v, "type");

	if (str_is(type, "text"))
		return add_text(r, p, json_str(v, "text"), e);
	if (str_is(type, "image") && !ours)
		return add_image(r, p, v, e);
	if (str_is(type, "tool_use") && ours && r->cfg->tools)
		return add_call(r, p, v, e);
	if (str_is(type, "tool_result") && !ours && r->cfg->tools)
		return add_result(r, v, e);
	return err_set(e, E_INVAL, "content of type \"%.*s\" is not taken from %s",
		       STRF(utf_head(type, 40)), ours ? "the assistant" : "the user");
}

static void end_message(struct reading *r, struct parts *p, bool ours)
{
	str text = buf_str(&p->text);

	if (ours && p->calls_n)
		add_msg(r, "assistant", model_calls_wire(r->a, text, p->calls, p->calls_n));
	else if (ours)
		add_msg(r, "assistant", model_assistant_wire(r->a, text));
	else if (p->urls_n)
		add_msg(r, "user", model_user_images_wire(r->a, text, p->urls, p->urls_n));
	else if (text.n)
		add_msg(r, "user", model_user_wire(r->a, text));
	if (!ours && text.n)
		r->last = text;
}

static int add_message(struct reading *r, const struct json *v, struct err *e)
{
	const struct json *content = json_get(v, "content");
	str role = json_str(v, "role");
	bool ours = str_is(role, "assistant");
	struct parts p = { .text = buf_in(r->a, TEXT_MAX) };
	int rc = OK;

	if (!room(r))
		return err_set(e, E_LIMIT, "more than %d messages", MESSAGES_MAX);
	if ((!ours && !str_is(role, "user")) ||
	    (!json_is(content, JSON_OBJECT) && !json_is(content, JSON_ARRAY)))
		return err_set(e, E_INVAL,
			       "a message needs the role user or assistant, and content");
	if (content->type == JSON_OBJECT)
		rc = add_block(r, &p, content, ours, e);
	else
		for (const struct json *c = content->child; c && rc == OK; c = c->next)
			rc = add_block(r, &p, c, ours, e);
	if (rc == OK && !room(r))
		rc = err_set(e, E_LIMIT, "more than %d messages", MESSAGES_MAX);
	if (rc == OK)
		end_message(r, &p, ours);
	return rc;
}

static int read_tools(struct reading *r, struct model_req *req, const struct json *params,
		      struct err *e)
{
	const struct json *list = json_get(params, "tools");
	str mode = json_str(json_get(params, "toolChoice"), "mode");
	struct model_tool *tools;

	if (!list || json_is(list, JSON_NULL))
		return OK;
	if (!r->cfg->tools)
		return err_set(e, E_INVAL, "tools are not granted to this server");
	if (!json_is(list, JSON_ARRAY) || list->n > TOOLS_MAX)
		return err_set(e, E_INVAL, "\"tools\" is no array of at most %d", TOOLS_MAX);
	tools = NEWN(r->a, struct model_tool, list->n + 1);
	for (const struct json *v = list->child; v; v = v->next) {
		str schema = json_of(r->a, json_get(v, "inputSchema"));

		if (!is_name(json_str(v, "name")) || schema.n > SCHEMA_MAX ||
		    !json_is(json_get(v, "inputSchema"), JSON_OBJECT))
			return err_set(e, E_INVAL,
				       "a tool needs a name and an inputSchema of at "
				       "most 64 KiB");
		tools[req->tools_n++] = (struct model_tool){
			.name = json_str(v, "name"),
			.description = utf_head(json_str(v, "description"), SCHEMA_MAX),
			.schema = schema,
		};
		buf_add(&r->text, schema);
		buf_add(&r->text, tools[req->tools_n - 1].description);
	}
	req->tools = tools;
	if (str_is(mode, "auto") || str_is(mode, "none") || str_is(mode, "required"))
		req->tool_choice = mode;
	return OK;
}

static int read_stop(struct reading *r, struct model_req *req, const struct json *params,
		     struct err *e)
{
	const struct json *list = json_get(params, "stopSequences");
	str *stop = NEWN(r->a, str, STOP_MAX);

	for (const struct json *v = list ? list->child : NULL; v; v = v->next) {
		if (req->stop.n == STOP_MAX || !json_text(v).n || v->s.n > STOP_BYTES)
			return err_set(
				e, E_LIMIT,
				"more than %d stop sequences, or one that is empty or over %d "
				"bytes",
				STOP_MAX, STOP_BYTES);
		stop[req->stop.n++] = v->s;
	}
	req->stop.v = stop;
	return OK;
}

/* Not what a provider would refuse: that would be learnt as a habit of it. */
static void read_temperature(struct reading *r, struct model_req *req,
			     const struct json *params)
{
	const struct json *v = json_get(params, "temperature");
	double *t = NEW(r->a, double);

	if (!json_is(v, JSON_INT) && !json_is(v, JSON_REAL))
		return;
	*t = v->d < 0 ? 0 : v->d > 2 ? 2 : v->d;
	req->temperature = t;
}

int sampling_read(struct sampling_req *out, const struct json *params,
		  const struct mcp_sampling_cfg *cfg, int64_t most, struct arena *a,
		  struct err *e)
{
	const struct json *list = json_get(params, "messages");
	struct reading r = { .a = a, .cfg = cfg, .text = buf_in(a, TEXT_MAX) };
	struct model_req req = { .system = json_str(params, "systemPrompt") };
	int64_t asked = json_i64(params, "maxTokens", 0);
	int rc = OK;

	if (!json_is(list, JSON_ARRAY) || !list->n)
		return err_set(e, E_INVAL, "\"messages\" is no list of messages");
	if (asked < 1)
		return err_set(e, E_INVAL, "\"maxTokens\" is missing");
	r.msgs = NEWN(a, struct model_msg, MESSAGES_MAX + 1);
	buf_add(&r.text, req.system);
	for (const struct json *v = list->child; v && rc == OK; v = v->next)
		rc = add_message(&r, v, e);
	if (rc < 0 || (rc = read_tools(&r, &req, params, e)) < 0 ||
	    (rc = read_stop(&r, &req, params, e)) < 0)
		return rc;
	if (!r.msgs_n)
		return err_set(e, E_INVAL, "the messages are empty");
	if (r.text.full)
		return err_set(e, E_LIMIT, "it is over %zu KiB", TEXT_MAX >> 10);
	read_temperature(&r, &req, params);
	req.max_tokens = asked < cfg->max_tokens ? asked : cfg->max_tokens;
	if (most && most < req.max_tokens)
		req.max_tokens = most;
	req.msgs = r.msgs;
	req.msgs_n = r.msgs_n;
	*out = (struct sampling_req){
		.req = req,
		.text = buf_str(&r.text),
		.last = r.last,
		.images = r.images,
	};
	return OK;
}

static void write_text(struct buf *b, str text)
{
	buf_add(b, S("{\"type\":\"text\""));
	buf_json_member(b, "text", text);
	buf_add(b, S("}"));
}

static void write_calls(struct buf *b, const struct model_reply *reply)
{
	buf_add(b, S("["));
	if (reply->text.n)
		write_text(b, reply->text);
	for (size_t i = 0; i < reply->calls_n; i++) {
		const struct model_call *c = &reply->calls[i];
		SCOPED(arena_free) struct arena tmp = { 0 };
		struct json *v = NULL;

		buf_add(b, i || reply->text.n ? S(",{\"type\":\"tool_use\"")
					      : S("{\"type\":\"tool_use\""));
		buf_json_member(b, "id", c->id);
		buf_json_member(b, "name", c->name);
		buf_json_key(b, "input");
		if (json_read(&v, &tmp, c->args, NULL) == OK && json_is(v, JSON_OBJECT))
			json_write(b, v);
		else
			buf_add(b, S("{}"));
		buf_add(b, S("}"));
	}
	buf_add(b, S("]"));
}

str sampling_result(const struct model_reply *reply, str model, bool tools, struct arena *a)
{
	struct buf b = buf_in(a, RESULT_MAX);
	bool calls = tools && reply->calls_n;

	buf_add(&b, S("{\"role\":\"assistant\",\"content\":"));
	if (calls)
		write_calls(&b, reply);
	else
		write_text(&b, reply->text);
	buf_json_member(&b, "model", model);
	buf_json_member(&b, "stopReason",
			calls                           ? S("toolUse")
			: reply->finish == MODEL_LENGTH ? S("maxTokens")
							: S("endTurn"));
	buf_add(&b, S("}"));
	return buf_str(&b);
}
