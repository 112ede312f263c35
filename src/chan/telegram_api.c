/*
 * The Bot API over HTTP.  Telegram says most things in the description of a 400, so that is
 * where a refusal is told from another; the tables hold the wordings.  Nothing is repeated
 * here: whether a call may be made again is the caller's business.
 */
#include "chan/telegram_api.h"

#include "os/clock.h"
#include "text/text.h"

#include <string.h>

#define CONNECT_MS 10000
#define DESCRIPTION_MAX 200
#define FLOOD_DEFAULT_MS 1000

/* --- what an answer means ------------------------------------------------------------- */

static bool mentions(str text, const char *words)
{
	size_t n = strlen(words);

	for (size_t i = 0; i + n <= text.n; i++)
		if (str_ieq(str_sub(text, i, i + n), (str){ words, n }))
			return true;
	return false;
}

static const struct {
	const char *words;
	enum telegram_end end;
} wordings[] = {
	{ "message is not modified", TELEGRAM_SAME },
	{ "can't parse entities", TELEGRAM_MARKUP },
	{ "can't parse caption entities", TELEGRAM_MARKUP },
	{ "unsupported start tag", TELEGRAM_MARKUP },
	{ "can't find end of", TELEGRAM_MARKUP },
	{ "can't find end tag", TELEGRAM_MARKUP },
	{ "unmatched end tag", TELEGRAM_MARKUP },
	{ "message thread not found", TELEGRAM_NO_THREAD },
	{ "topic_id_invalid", TELEGRAM_NO_THREAD },
	{ "message to be replied not found", TELEGRAM_NO_REPLY },
	{ "message to reply not found", TELEGRAM_NO_REPLY },
	{ "replied message not found", TELEGRAM_NO_REPLY },
};

static enum telegram_end meaning(int status, str description)
{
	if (status == 429)
		return TELEGRAM_FLOOD;
	if (status >= 500)
		return TELEGRAM_SERVER;
	if (status == 401 || status == 404)
		return TELEGRAM_TOKEN;
	if (status == 409)
		return mentions(description, "webhook") ? TELEGRAM_WEBHOOK : TELEGRAM_RIVAL;
	for (size_t i = 0; status == 400 && i < COUNT(wordings); i++)
		if (mentions(description, wordings[i].words))
			return wordings[i].end;
	return TELEGRAM_REFUSED;
}

static int64_t wait_of(const struct json *parameters, str header)
{
	int64_t s = json_i64(parameters, "retry_after", -1);

	if (s < 0 && !str_i64(str_trim(header), &s))
		return FLOOD_DEFAULT_MS;
	if (s < 0)
		return FLOOD_DEFAULT_MS;
	return s > INT32_MAX ? (int64_t)INT32_MAX * 1000 : s * 1000;
}

/* Who reads it is a person or a log: one line, without the token. */
static str say(struct arena *a, str token, int status, str text)
{
	str line = text_line(a, text_redact_values(a, text, &token, 1), DESCRIPTION_MAX);

	return line.n ? arena_fmt(a, "%d: %.*s", status, STRF(line))
		      : arena_fmt(a, "%d without a word", status);
}

void telegram_api_read(struct arena *a, str token, int status, str body, str retry_after,
		       struct telegram_reply *out)
{
	struct json *v = NULL;
	bool whole = json_read(&v, a, body, NULL) == OK && json_is(v, JSON_OBJECT);
	str description = whole ? json_str(v, "description") : (str){ 0 };
	int64_t code = whole ? json_i64(v, "error_code", status) : status;
	const struct json *parameters = json_get(v, "parameters");

	*out = (struct telegram_reply){ .status = status };
	if (status / 100 == 2 && whole && json_bool(v, "ok", false)) {
		out->result = json_get(v, "result");
		return;
	}
	if (status / 100 == 2 && (!whole || code / 100 == 2)) {
		out->end = TELEGRAM_UNKNOWN;
		out->error =
			arena_fmt(a, "%d, and what came is no answer of the Bot API", status);
		return;
	}
	if (code < 100 || code > 999)
		code = status;
	out->end = meaning((int)code, description);
	if (out->end == TELEGRAM_FLOOD)
		out->retry_after_ms = wait_of(parameters, retry_after);
	out->moved_to = json_i64(parameters, "migrate_to_chat_id", 0);
	if (out->moved_to && out->end == TELEGRAM_REFUSED)
		out->end = TELEGRAM_MIGRATED;
	out->error = say(a, token, (int)code, whole ? description : body);
}

/* --- multipart ------------------------------------------------------------------------ */

/* A quoted string of a header: no quote, no control character. */
static str quoted(struct arena *a, str s)
{
	str out = arena_dup(a, s);
	char *p = (char *)out.p;

	for (size_t i = 0; i < out.n; i++)
		if (p[i] == '"' || p[i] == '\\' || (unsigned char)p[i] < 0x20 || p[i] == 0x7f)
			p[i] = '_';
	return out;
}

int telegram_api_form(struct arena *a, str boundary, str params,
		      const struct telegram_file *file, str *out, struct err *e)
{
	struct buf b = buf_in(a, (params.n + file->data.n) * 2 + 65536);
	struct json *v = NULL;
	int rc = json_read(&v, a, params.n ? params : S("{}"), e);

	if (rc < 0)
		return rc;
	for (const struct json *m = v->child; m; m = m->next) {
		buf_fmt(&b, "--%.*s\r\nContent-Disposition: form-data; name=\"%.*s\"\r\n\r\n",
			STRF(boundary), STRF(quoted(a, m->key)));
		if (m->type == JSON_STRING)
			buf_add(&b, m->s);
		else
			json_write(&b, m);
		buf_add(&b, S("\r\n"));
	}
	buf_fmt(&b,
		"--%.*s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%.*s\"\r\n"
		"Content-Type: %.*s\r\n\r\n",
		STRF(boundary), file->field, STRF(quoted(a, file->name)),
		STRF(quoted(a, file->mime)));
	buf_add(&b, file->data);
	buf_fmt(&b, "\r\n--%.*s--\r\n", STRF(boundary));
	if (b.full)
		return err_set(e, E_LIMIT, "the form is too large");
	*out = buf_str(&b);
	return OK;
}

/* --- calls ---------------------------------------------------------------------------- */

static void failed(struct telegram_reply *out, struct arena *a, str token, int rc,
		   bool maybe_sent, const struct cancel *c, str why)
{
	*out = (struct telegram_reply){
		.end = maybe_sent      ? TELEGRAM_UNKNOWN
		       : rc == E_INVAL ? TELEGRAM_REFUSED
				       : TELEGRAM_UNSENT,
		.canceled = cancel_reason(c) != CANCEL_NONE,
		.error = text_redact_values(a, why, &token, 1),
	};
}

static int body_of(const struct telegram_call *call, struct arena *a, str *body, str *type,
		   struct err *e)
{
	char boundary[ID_LONG_LEN + 1];

	*body = call->params.n ? call->params : S("{}");
	*type = S("application/json");
	if (!call->file)
		return OK;
	id_long(boundary);
	*type = arena_fmt(a, "multipart/form-data; boundary=%s", boundary);
	return telegram_api_form(a, str_of(boundary), call->params, call->file, body, e);
}

void telegram_api_call(const struct telegram_api *api, const struct telegram_call *call,
		       struct arena *a, struct telegram_reply *out, const struct cancel *c)
{
	SCOPED(http_return) struct http *h = http_borrow(api->pool);
	struct http_header type = { .name = S("Content-Type") };
	struct http_resp resp = { 0 };
	struct err e = { 0 };
	struct http_req req = {
		.method = "POST",
		.url = arena_fmt(a, "%.*s/bot%.*s/%s", STRF(api->base_url), STRF(api->token),
				 call->method),
		.label = arena_fmt(a, "/bot***/%s", call->method).p,
		.headers = &type,
		.headers_n = 1,
		.connect_ms = CONNECT_MS,
		.total_ms = call->timeout_ms ? call->timeout_ms : TELEGRAM_CALL_MS,
	};
	int rc = body_of(call, a, &req.body, &type.value, &e);

	if (rc < 0) {
		failed(out, a, api->token, E_INVAL, false, c, arena_fmt(a, "%s", e.msg));
		return;
	}
	if ((rc = http_do(h, &req, a, &resp, c, &e)) < 0) {
		failed(out, a, api->token, rc, resp.maybe_sent, c, arena_fmt(a, "%s", e.msg));
		return;
	}
	telegram_api_read(a, api->token, resp.status, resp.body,
			  http_header(&resp, "retry-after"), out);
	if (out->error.n)
		out->error = arena_fmt(a, "/bot***/%s: %.*s", call->method, STRF(out->error));
}

/* A path from the server becomes part of a URL: only what belongs into one. */
static bool path_is_plain(str path)
{
	for (size_t i = 0; i < path.n; i++)
		if (!memchr("-._~/%", path.p[i], 6) &&
		    !((path.p[i] | 32) >= 'a' && (path.p[i] | 32) <= 'z') &&
		    !(path.p[i] >= '0' && path.p[i] <= '9'))
			return false;
	return path.n > 0 && path.p[0] != '/' && !str_has(path, S(".."));
}

int telegram_api_download(const struct telegram_api *api, str file_path, size_t max,
			  int64_t timeout_ms, struct arena *a, str *out, const struct cancel *c,
			  struct err *e)
{
	SCOPED(http_return) struct http *h = http_borrow(api->pool);
	struct http_resp resp = { 0 };
	struct err why = { 0 };
	struct http_req req = {
		.url = arena_fmt(a, "%.*s/file/bot%.*s/%.*s", STRF(api->base_url),
				 STRF(api->token), STRF(file_path)),
		.label = "/file/bot***",
		.connect_ms = CONNECT_MS,
		.total_ms = timeout_ms,
		.body_max = max,
	};

	if (!path_is_plain(file_path))
		return err_set(e, E_PROTO, "the file has a path that cannot be asked for");
	int rc = http_do(h, &req, a, &resp, c, &why);
	if (rc < 0)
		return err_set(e, rc, "%s",
			       text_redact_values(a, str_of(why.msg), &api->token, 1).p);
	if (resp.status != 200)
		return err_set(e, E_IO, "/file/bot***: HTTP %d", resp.status);
	*out = resp.body;
	return OK;
}

bool telegram_names_bot(const struct json *me)
{
	return json_i64(me, "id", 0) > 0 && json_str(me, "username").n > 0;
}
