/*
 * Reading error bodies.  The tables are the knowledge: wordings seen in the wild, in lower
 * case.  Nothing is retried or adapted here.
 */
#include "model/refusal.h"

#include "model/retry.h"
#include "text/json.h"
#include "text/text.h"

#include <string.h>

#define BODY_LOOK (64 << 10) /* as much as os/http keeps */
#define MESSAGE_MAX 160

/* ---- finding the message ------------------------------------------------------------ */

struct found {
	struct arena *a;
	str message, raw;
	struct buf words;
	const struct json *error; /* the object with type, code, param */
};

static void word(struct found *f, str s)
{
	if (s.n)
		buf_fmt(&f->words, " %.*s", STRF(s));
}

/* A validation report: [{"loc": ["body", "stream_options"], "msg": "..."}] */
static void from_report(struct found *f, const struct json *list)
{
	const struct json *first = json_at(list, 0);

	for (const struct json *r = list->child; r; r = r->next) {
		word(f, json_str(r, "msg"));
		word(f, json_str(r, "message"));
		word(f, json_str(r, "type"));
		for (size_t i = 0; i < 8; i++)
			word(f, json_text(json_at(json_get(r, "loc"), i)));
	}
	f->message = json_text(first);
	if (!f->message.n)
		f->message = json_str(first, "msg");
	if (!f->message.n)
		f->message = json_str(first, "message");
}

static void from_object(struct found *f, const struct json *v)
{
	static const char *const names[] = { "message",           "msg",   "detail",
					     "error_description", "error", "reason" };

	f->error = v;
	for (size_t i = 0; i < COUNT(names) && !f->message.n; i++) {
		const struct json *m = json_get(v, names[i]);
		if (json_is(m, JSON_STRING))
			f->message = m->s;
		else if (json_is(m, JSON_ARRAY) && m->n)
			from_report(f, m);
	}
	if (!f->message.n && json_is(json_get(v, "errors"), JSON_ARRAY))
		from_report(f, json_get(v, "errors"));
	/* A router passes on what the real endpoint said. */
	f->raw = json_str(json_get(v, "metadata"), "raw");
}

static void from_json(struct found *f, const struct json *root)
{
	const struct json *error;

	if (json_is(root, JSON_ARRAY))
		root = json_at(root, 0);
	error = json_get(root, "error");
	if (json_is(root, JSON_STRING))
		f->message = root->s;
	else if (json_is(error, JSON_STRING) && error->s.n && !json_get(root, "message"))
		f->message = error->s;
	else if (json_is(error, JSON_OBJECT))
		from_object(f, error);
	else if (json_is(root, JSON_OBJECT))
		from_object(f, root);
}

/* Text that is not JSON: what is left of it without markup. */
static str without_tags(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n);
	bool inside = false;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '<')
			inside = true;
		if (!inside)
			buf_addc(&b, s.p[i]);
		if (s.p[i] == '>' && inside) {
			inside = false;
			buf_addc(&b, ' ');
		}
	}
	return buf_str(&b);
}

/* ---- wordings ----------------------------------------------------------------------- */

bool refusal_says(const struct refusal *r, const char *const *any, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_has(r->words, str_of(any[i])))
			return true;
	return false;
}

static bool says_too_long(const struct refusal *r)
{
	return SAYS(r, "context_length", "context length", "context size", "context window",
		    "context_window", "context limit", "maximum context", "max context",
		    "exceed_context", "exceeds the context", "context overflow",
		    "prompt is too long", "prompt too long", "prompt_too_long",
		    "input is too long", "input too long", "input token count",
		    "input length and `max_tokens`", "too many input tokens", "too many tokens",
		    "model token limit", "maximum number of tokens allowed",
		    "maximum number of input tokens", "max_prompt_tokens",
		    "exceeds the model's max", "longer than the model's",
		    "reduce the length of the messages", "reduce the length of your prompt",
		    "reduce your prompt", "maximum prompt length", "maximum input length",
		    "request_too_large", "payload too large", "entity too large");
}

static bool says_no_images(const struct refusal *r)
{
	return SAYS(r, "image_url", "image input", "images are not supported", "support image",
		    "image content", "support vision", "vision is not", "not a vision",
		    "multimodal", "multi-modal", "image part", "input_image",
		    "does not support images", "mmproj");
}

/* A number after (or, with a leading '<', before) the words, as "8192" or "1,048,576". */
static int64_t number_at(str s, bool backwards)
{
	int64_t n = 0, unit = 1;
	size_t digits = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[backwards ? s.n - 1 - i : i];
		if (c >= '0' && c <= '9') {
			if (++digits > 10)
				return 0;
			n = backwards ? n + unit * (c - '0') : n * 10 + (c - '0');
			unit *= 10;
		} else if (digits && c != ',') {
			break;
		} else if (!digits && i > 24) {
			return 0;
		}
	}
	return n >= 256 ? n : 0;
}

static int64_t window_in(str words)
{
	static const char *const after[] = {
		"maximum context length is", "maximum context length of", "context length is",
		"context length of",         "context window of",         "context window is",
		"context_length is",         "context size of",           "context size (",
		"maximum context size",      "context limit of",          "context limit is",
		"model token limit:",        "model token limit",         "tokens allowed (",
		"maximum prompt length is",  "maximum input length of",   "context window (",
	};
	static const char *const before[] = { " maximum" };

	for (size_t i = 0; i < COUNT(after); i++) {
		size_t at = str_find(words, str_of(after[i]));
		int64_t n = at == SIZE_MAX
				    ? 0
				    : number_at(str_sub(words, at + strlen(after[i]), words.n),
						false);
		if (n)
			return n;
	}
	for (size_t i = 0; i < COUNT(before); i++) {
		size_t at = str_find(words, str_of(before[i]));
		if (at != SIZE_MAX && at > 0 && words.p[at - 1] >= '0' &&
		    words.p[at - 1] <= '9')
			return number_at(str_sub(words, 0, at), true);
	}
	return 0;
}

/* ---- kinds -------------------------------------------------------------------------- */

static enum model_kind kind_of_status(int status)
{
	if (status == 401 || status == 403)
		return MODEL_AUTH;
	if (status == 429)
		return MODEL_RATE_LIMIT;
	if (status == 413)
		return MODEL_CONTEXT_LENGTH;
	if (status == 408 || status == 409 || status == 425 || status >= 500)
		return MODEL_TRANSIENT;
	return MODEL_BAD_REQUEST;
}

/* An error inside an answer often has words instead of a status. */
static enum model_kind kind_of_words(const struct refusal *r)
{
	if (SAYS(r, "invalid_api_key", "authentication", "unauthorized", "permission_denied",
		 "unauthenticated"))
		return MODEL_AUTH;
	if (SAYS(r, "rate_limit", "rate limit", "quota", "too many requests",
		 "resource_exhausted"))
		return MODEL_RATE_LIMIT;
	if (SAYS(r, "invalid_request", "invalid_argument", "not_found_error",
		 "model not found"))
		return MODEL_BAD_REQUEST;
	return MODEL_TRANSIENT;
}

static enum model_kind kind_of(const struct refusal *r)
{
	enum model_kind kind = r->status ? kind_of_status(r->status) : kind_of_words(r);

	if (kind != MODEL_AUTH && kind != MODEL_RATE_LIMIT && says_too_long(r))
		return MODEL_CONTEXT_LENGTH;
	return kind;
}

static int status_in(const struct json *error)
{
	int64_t code = json_i64(error, "code", json_i64(error, "status", 0));

	if (!code && !str_i64(json_str(error, "code"), &code))
		return 0;
	return code >= 400 && code < 600 ? (int)code : 0;
}

void refusal_read(struct refusal *out, struct arena *a, int status, str body,
		  const str *secrets, size_t secrets_n)
{
	struct found f = { .a = a, .words = buf_in(a, BODY_LOOK) };
	struct json *root = NULL;
	str line;

	body = str_sub(body, 0, BODY_LOOK);
	*out = (struct refusal){ .status = status };
	if (json_read(&root, a, body, NULL) == OK) {
		from_json(&f, root);
		out->retry_after_ms = retry_in_body(root);
	} else {
		f.message = without_tags(a, body);
	}
	if (!status && f.error)
		out->status = status_in(f.error);
	word(&f, f.message);
	word(&f, f.raw);
	word(&f, json_str(f.error, "type"));
	word(&f, json_str(f.error, "code"));
	word(&f, json_str(f.error, "status"));
	word(&f, json_str(f.error, "param"));
	out->words = arena_lower(a, buf_str(&f.words));
	out->param = arena_dup(a, json_str(f.error, "param"));
	line = f.raw.n ? arena_fmt(a, "%.*s: %.*s", STRF(f.message), STRF(f.raw)) : f.message;
	line = text_redact(a, text_redact_values(a, line, secrets, secrets_n));
	out->message = text_line(a, line, MESSAGE_MAX);
	if (status / 100 == 3)
		out->message = S("the endpoint redirects elsewhere: is the base URL right?");
	if (!out->message.n)
		out->message = status ? arena_fmt(a, "HTTP status %d without a reason", status)
				      : S("the endpoint reported an error without a reason");
	out->kind = kind_of(out);
	out->context_window = json_i64(f.error, "n_ctx", 0);
	if (out->kind == MODEL_CONTEXT_LENGTH && out->context_window <= 0)
		out->context_window = window_in(out->words);
	out->no_images = out->kind == MODEL_BAD_REQUEST && says_no_images(out);
	out->permanent = SAYS(out, "insufficient_quota") && !out->retry_after_ms;
}
