/*
 * GET /models, and the ways in which that goes wrong, told apart for a person who has to mend
 * one of them.
 */
#include "cli/model_list.h"

#include "text/json.h"
#include "text/text.h"

#include <stdlib.h>

#define CONNECT_MS 10000
#define TOTAL_MS 15000
#define BODY_MAX ((size_t)8 << 20)
#define NAMES_MAX 20000
#define NAME_MAX_BYTES 200
#define SAID_MAX 160

/* One printable word: it will stand in a file, in requests and on terminals. */
static bool plain_name(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f)
			return false;
	return s.n > 0 && s.n <= NAME_MAX_BYTES;
}

static str name_of(const struct json *v)
{
	str name = json_is(v, JSON_STRING) ? json_text(v) : json_str(v, "id");

	if (!name.n)
		name = json_str(v, "name");
	/* Gemini names its models as resources and takes both. */
	return str_starts(name, S("models/")) ? str_sub(name, 7, name.n) : name;
}

static void take_names(struct model_list *out, const struct json *list, struct arena *a)
{
	size_t max = list->n < NAMES_MAX ? list->n : NAMES_MAX, kept = 0;

	out->names = NEWN(a, str, max + 1);
	for (const struct json *v = list->child; v && out->n < max; v = v->next) {
		str name = name_of(v);
		if (plain_name(name))
			out->names[out->n++] = name;
		else
			out->odd++;
	}
	if (out->n)
		qsort(out->names, out->n, sizeof *out->names, str_by_bytes);
	for (size_t i = 0; i < out->n; i++)
		if (!kept || !str_eq(out->names[kept - 1], out->names[i]))
			out->names[kept++] = out->names[i];
	out->n = kept;
}

/* What the server says about it, as far as it can be shown. */
static str said(const struct http_resp *r, str key, struct arena *a)
{
	struct json *root = NULL;
	str text = { 0 };

	if (json_read(&root, a, r->body, NULL) == OK) {
		const struct json *why = json_get(root, "error");
		text = json_is(why, JSON_STRING) ? json_text(why) : json_str(why, "message");
		if (!text.n)
			text = json_str(root, "message");
	}
	if (!text.n)
		return S("");
	text = text_redact(a, text_redact_values(a, text, &key, key.n ? 1 : 0));
	return arena_fmt(a, " (it says: %s)", text_line(a, text, SAID_MAX).p);
}

static void ended(struct model_list *out, enum model_list_end end, str why)
{
	out->end = end;
	out->why = why;
}

static void judge_body(struct model_list *out, const struct http_resp *r, struct arena *a)
{
	struct json *root = NULL;
	const struct json *list;

	if (json_read(&root, a, r->body, NULL) < 0) {
		ended(out, MODEL_LIST_NO_LIST,
		      str_starts(str_trim(r->body), S("<"))
			      ? S("it answers with a web page, not with a list of models: is "
				  "the "
				  "address right? Most end in /v1")
			      : S("it answers with something that is no list of models: is the "
				  "address right? Most end in /v1"));
		return;
	}
	list = json_is(root, JSON_ARRAY)                     ? root
	       : json_is(json_get(root, "data"), JSON_ARRAY) ? json_get(root, "data")
							     : json_get(root, "models");
	if (!json_is(list, JSON_ARRAY)) {
		bool none = json_is(root, JSON_OBJECT) && json_get(root, "data") &&
			    json_is(json_get(root, "data"), JSON_NULL);
		ended(out, none ? MODEL_LIST_NONE : MODEL_LIST_NO_LIST,
		      none ? S("it answers, and has no model")
			   : S("its answer holds no list of models"));
		return;
	}
	take_names(out, list, a);
	if (out->n)
		ended(out, MODEL_LIST_OK, S(""));
	else
		ended(out, MODEL_LIST_NONE,
		      out->odd ? S("none of the names in its list is usable")
			       : S("it answers, and has no model"));
}

static void judge_status(struct model_list *out, const struct http_resp *r, str key,
			 struct arena *a)
{
	str more = said(r, key, a);

	if (r->status >= 200 && r->status < 300)
		judge_body(out, r, a);
	else if (r->status == 401 || r->status == 403 || r->status == 407)
		ended(out, MODEL_LIST_KEY,
		      arena_fmt(a, "%s, HTTP %d%.*s",
				r->status == 407 ? "the proxy wants a password"
				: key.n          ? "the key was refused"
						 : "it wants a key",
				r->status, STRF(more)));
	else if (r->status == 400 && key.n && str_has(more, S("key")))
		/* Gemini. */
		ended(out, MODEL_LIST_KEY,
		      arena_fmt(a, "the key was refused, HTTP 400%.*s", STRF(more)));
	else if (r->status == 429 || r->status >= 500)
		ended(out, MODEL_LIST_SERVER,
		      arena_fmt(a, "it %s, HTTP %d%.*s",
				r->status == 429 ? "takes no more requests now"
						 : "has trouble of its own",
				r->status, STRF(more)));
	else if (r->status >= 300 && r->status < 400)
		ended(out, MODEL_LIST_NO_LIST,
		      arena_fmt(a, "it sends us elsewhere, HTTP %d to %s: use that address",
				r->status,
				text_line(a, http_header(r, "location"), SAID_MAX).p));
	else
		ended(out, MODEL_LIST_NO_LIST,
		      arena_fmt(a,
				"there is no list of models at this address, HTTP %d%.*s: most "
				"end in /v1",
				r->status, STRF(more)));
}

static void judge_failure(struct model_list *out, int rc, const struct err *e, struct arena *a)
{
	str why = arena_dup(a, str_of(e->msg));

	switch (rc) {
	case E_CANCELED:
		ended(out, MODEL_LIST_CANCELED, why);
		return;
	case E_PROTO:
		if (str_has(why, S("certificate")))
			why = arena_cat(a, why,
					S(" (one of your own: name it in SSL_CERT_FILE)"));
		ended(out, MODEL_LIST_TLS, why);
		return;
	case E_INVAL:
	case E_LIMIT:
		ended(out, MODEL_LIST_NO_LIST, why);
		return;
	default:
		ended(out, MODEL_LIST_UNREACHABLE, why);
	}
}

static str models_url(str base_url, struct arena *a)
{
	str query = base_url, path = str_cut(&query, '?'), tail = S("/chat/completions");

	while (str_ends(path, S("/")))
		path.n--;
	if (str_ends(path, tail))
		path.n -= tail.n;
	return arena_fmt(a, "%.*s/models%s%.*s", STRF(path), query.n ? "?" : "", STRF(query));
}

void model_list_get(struct model_list *out, struct http_pool *pool, str base_url, str key,
		    struct arena *a, const struct cancel *c)
{
	SCOPED(http_return) struct http *h = http_borrow(pool);
	struct http_header headers[] = {
		{ S("Accept"), S("application/json") },
		{ S("Authorization"), arena_fmt(a, "Bearer %.*s", STRF(key)) },
	};
	struct http_req req = {
		.url = models_url(base_url, a),
		.label = "/models",
		.headers = headers,
		.headers_n = key.n ? 2 : 1,
		.connect_ms = CONNECT_MS,
		.total_ms = TOTAL_MS,
		.body_max = BODY_MAX,
	};
	struct http_resp r;
	struct err e = { 0 };
	int rc = http_do(h, &req, a, &r, c, &e);

	*out = (struct model_list){ .rc = rc };
	if (rc < 0) {
		judge_failure(out, rc, &e, a);
		return;
	}
	out->status = r.status;
	out->date = http_header(&r, "date");
	judge_status(out, &r, key, a);
}
