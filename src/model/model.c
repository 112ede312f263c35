/*
 * The client: ask, listen, and on a refusal adapt, wait, or give up.
 *
 * Each attempt has its own memory; only the reply is made in the caller's arena.  An answer
 * counts when its end was seen (a finish reason or [DONE]); whatever breaks off before that
 * is a failure, and nothing of it is kept.
 */
#include "model/model.h"

#include "model/body.h"
#include "model/quirks.h"
#include "model/reply.h"
#include "model/request.h"
#include "model/retry.h"
#include "model/stream.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/wait.h"
#include "text/text.h"

#include <stdatomic.h>

#define LESSONS_MAX 6 /* requests changed within one call */
#define RESPONSE_MAX_DEFAULT ((int64_t)16 << 20)

/* Every key that was in use, the present one last: none of them is shown. */
struct keys {
	const str *v;
	size_t n;
};

struct model {
	struct arena arena;
	const struct model_cfg *cfg;
	struct http_pool *pool;
	str url, issuer;
	const struct keys *_Atomic keys; /* in the arena, as its earlier values are */
	bool gemini;
};

/* One attempt. */
struct attempt {
	struct arena arena;
	struct stream stream;
	const struct model_req *req;
	bool *shown; /* pieces went out */
	int64_t first_ms; /* monotonic, 0 none yet */
};

/* ---- opening ------------------------------------------------------------------------ */

/* The base URL may end in a slash, in the whole path, or in a query. */
static str completions_url(struct arena *a, str base)
{
	size_t at = str_find(base, S("?"));
	str path = str_sub(base, 0, at), query = str_sub(base, at, base.n);

	while (str_ends(path, S("/")))
		path.n--;
	if (str_ends(path, S("/chat/completions")))
		return arena_cat(a, path, query);
	return arena_fmt(a, "%.*s/chat/completions%.*s", STRF(path), STRF(query));
}

/* Who issues our messages: the endpoint without a password or a key that stands in it. */
static str issuer_of(struct arena *a, str url, str name)
{
	size_t at = str_find(url, S("://"));
	str scheme = at == SIZE_MAX ? (str){ 0 } : str_sub(url, 0, at + 3);
	str rest = str_sub(url, scheme.n, url.n);
	size_t slash = str_find(rest, S("/")), user = str_find(rest, S("@"));

	if (user != SIZE_MAX && user < slash)
		rest = str_sub(rest, user + 1, rest.n);
	rest = str_sub(rest, 0, str_find(rest, S("?")));
	return arena_fmt(a, "%.*s%.*s|%.*s", STRF(scheme), STRF(rest), STRF(name));
}

int model_open(struct model **out, const struct model_cfg *cfg, struct http_pool *pool,
	       struct err *e)
{
	struct arena own = { 0 }; /* holds the model itself too */
	struct model *m;

	if (!cfg->base_url.n || !cfg->name.n)
		return err_set(e, E_INVAL, "model: no base URL or no model name");
	m = NEW(&own, struct model);
	m->arena = own;
	m->cfg = cfg;
	m->pool = pool;
	m->url = completions_url(&m->arena, cfg->base_url);
	m->issuer = issuer_of(&m->arena, cfg->base_url, cfg->name);
	model_set_key(m, cfg->api_key);
	m->gemini = str_has(cfg->base_url, S("generativelanguage.googleapis.com"));
	*out = m;
	return OK;
}

static str present(const struct keys *k)
{
	return k && k->n ? k->v[k->n - 1] : (str){ 0 };
}

void model_set_key(struct model *m, str key)
{
	const struct keys *old = atomic_load(&m->keys);
	size_t n = old ? old->n : 0;
	struct keys *k;
	str *v;

	if (str_eq(present(old), key))
		return;
	k = NEW(&m->arena, struct keys);
	v = NEWN(&m->arena, str, n + 1);
	for (size_t i = 0; i < n; i++)
		v[i] = old->v[i];
	v[n] = arena_dup(&m->arena, key);
	*k = (struct keys){ v, n + 1 };
	atomic_store(&m->keys, k);
}

void model_close(struct model *m)
{
	struct arena own;

	if (!m)
		return;
	own = m->arena;
	arena_free(&own);
}

str model_issuer(const struct model *m)
{
	return m->issuer;
}

const char *model_kind_word(enum model_kind kind)
{
	static const char *const words[] = {
		[MODEL_OK] = "ok",
		[MODEL_AUTH] = "auth",
		[MODEL_RATE_LIMIT] = "rate_limit",
		[MODEL_CONTEXT_LENGTH] = "context_length",
		[MODEL_BAD_REQUEST] = "bad_request",
		[MODEL_TRANSIENT] = "transient",
		[MODEL_CANCELED] = "canceled",
	};

	return words[kind];
}

/* ---- listening ---------------------------------------------------------------------- */

static void note_first(struct attempt *t)
{
	if (!t->first_ms)
		t->first_ms = clock_mono_ms();
}

static void on_piece(void *arg, enum model_event ev, str piece)
{
	struct attempt *t = arg;

	note_first(t);
	if (!t->req->on_event)
		return;
	*t->shown = true;
	t->req->on_event(t->req->arg, ev, piece);
}

static int on_body(void *arg, str chunk, struct err *e)
{
	struct attempt *t = arg;
	int rc = stream_feed(&t->stream, chunk, e);

	if (rc > 0)
		note_first(t); /* calls have no pieces */
	return rc;
}

/* ---- asking ------------------------------------------------------------------------- */

static size_t response_max(const struct model_cfg *cfg)
{
	return (size_t)(cfg->response_max > 0 ? cfg->response_max : RESPONSE_MAX_DEFAULT);
}

static int post(const struct model *m, str key, struct attempt *t, const struct request *r,
		struct http_resp *resp, const struct cancel *c, struct err *e)
{
	const struct model_cfg *cfg = m->cfg;
	SCOPED(http_return) struct http *h = http_borrow(m->pool);
	struct http_header headers[3] = {
		{ S("Content-Type"), S("application/json") },
		{ S("Accept"), r->stream ? S("text/event-stream") : S("application/json") },
	};
	size_t n = 2;

	if (key.n && !cfg->no_key)
		headers[n++] =
			(struct http_header){ S("Authorization"),
					      arena_fmt(&t->arena, "Bearer %.*s", STRF(key)) };
	return http_do(h,
		       &(struct http_req){
			       .method = "POST",
			       .url = m->url,
			       .label = "/chat/completions",
			       .headers = headers,
			       .headers_n = n,
			       .body = r->body,
			       .connect_ms = cfg->connect_ms,
			       .first_ms = cfg->first_token_ms,
			       .idle_ms = cfg->idle_ms,
			       .total_ms = cfg->total_ms,
			       .body_max = response_max(cfg),
			       .sink = on_body,
			       .arg = t,
		       },
		       &t->arena, resp, c, e);
}

/* What went wrong when no error body tells. */
static void refusal_of_code(struct refusal *r, struct arena *a, int rc, const struct err *why)
{
	*r = (struct refusal){
		.kind = rc == E_INVAL || rc == E_LIMIT ? MODEL_BAD_REQUEST : MODEL_TRANSIENT,
		.message = arena_dup(a, str_of(why->msg)),
	};
}

/* One request and its answer.  OK, or a code with *r. */
static int ask(const struct model *m, struct attempt *t, const struct request *request,
	       struct refusal *r, struct http_resp *resp, const struct cancel *c)
{
	int64_t began_ms = clock_mono_ms(), total_ms = m->cfg->total_ms;
	const struct keys *keys = atomic_load(&m->keys);
	const str *secrets = keys ? keys->v : NULL;
	size_t secrets_n = keys ? keys->n : 0;
	struct err why = { 0 };
	int rc;

	stream_init(&t->stream, &t->arena, response_max(m->cfg), on_piece, t);
	rc = post(m, present(keys), t, request, resp, c, &why);
	if (rc == OK && resp->status >= 200 && resp->status < 300)
		rc = stream_end(&t->stream,
				str_starts(http_header(resp, "content-type"), S("text/html")),
				&why);
	else if (rc == OK)
		rc = E_PROTO;
	if (rc == OK)
		return OK;
	if (t->stream.answer.error.n)
		refusal_read(r, &t->arena, 0, t->stream.answer.error, secrets, secrets_n);
	else if (resp->status && (resp->status < 200 || resp->status >= 300))
		refusal_read(r, &t->arena, resp->status, resp->body, secrets, secrets_n);
	else
		refusal_of_code(r, &t->arena, rc, &why);
	/* An answer that needs longer than all the time there is will need it again. */
	if (rc == E_TIMEOUT && total_ms && clock_mono_ms() - began_ms >= total_ms)
		r->permanent = true;
	return rc;
}

/* ---- the loop ----------------------------------------------------------------------- */

struct call {
	const struct model *m;
	const struct model_req *req;
	const struct cancel *c;
	struct model_quirks quirks;
	struct lesson lesson;
	int64_t began_ms;
	int lessons, retries;
	bool shown;
};

static int code_of(enum model_kind kind, int rc)
{
	switch (kind) {
	case MODEL_AUTH:
		return E_DENIED;
	case MODEL_RATE_LIMIT:
		return E_BUSY;
	case MODEL_CONTEXT_LENGTH:
		return E_LIMIT;
	case MODEL_BAD_REQUEST:
		return E_INVAL;
	default:
		return rc == E_IO || rc == E_TIMEOUT ? rc : E_PROTO;
	}
}

static int give_up(const struct refusal *r, int rc, struct model_failure *fail, struct err *e)
{
	fail->kind = r->kind;
	fail->status = r->status;
	fail->retry_after_ms = r->retry_after_ms;
	fail->no_images = r->no_images;
	if (r->status)
		return err_set(e, code_of(r->kind, rc), "%s (%d): %.*s",
			       model_kind_word(r->kind), r->status, STRF(r->message));
	return err_set(e, code_of(r->kind, rc), "%s: %.*s", model_kind_word(r->kind),
		       STRF(r->message));
}

static int canceled(const struct call *k, struct model_failure *fail, struct err *e)
{
	int rc = cancel_check(k->c, e);

	if (rc < 0)
		*fail = (struct model_failure){ .kind = MODEL_CANCELED };
	return rc;
}

/* Adapt to r.  1: ask again, 0: nothing to learn, < 0: what was learnt could not be kept. */
static int learn(struct call *k, struct arena *a, const struct refusal *r, struct err *e)
{
	struct model_quirks q = k->quirks;
	bool again = k->lessons < LESSONS_MAX && quirks_learn(&q, r, &k->lesson);
	int rc = OK;

	if (r->kind == MODEL_CONTEXT_LENGTH && r->context_window > 0)
		q.context_window = r->context_window;
	if (q.flags == k->quirks.flags && q.context_window == k->quirks.context_window)
		return 0;
	log_info("model.adapted", "issuer=%.*s quirks=%.*s context_window=%lld err=%.*s",
		 STRF(log_q(a, k->m->issuer)), STRF(log_q(a, quirks_words(a, q.flags))),
		 (long long)q.context_window, STRF(log_q(a, r->message)));
	k->quirks = q;
	k->lessons++;
	if (k->req->on_learn)
		rc = k->req->on_learn(k->req->arg, &q, e);
	return rc < 0 ? rc : again;
}

static bool may_retry(const struct call *k, const struct refusal *r, int wanted)
{
	if (k->retries >= k->m->cfg->max_retries || wanted == 0 || r->permanent ||
	    r->retry_after_ms > RETRY_WAIT_MAX_MS)
		return false;
	return r->kind == MODEL_TRANSIENT || r->kind == MODEL_RATE_LIMIT ||
	       (wanted == 1 && r->kind == MODEL_BAD_REQUEST && r->status != 400);
}

static int wait_before_retry(struct call *k, struct arena *a, const struct refusal *r,
			     struct err *e)
{
	int64_t ms = r->retry_after_ms ? r->retry_after_ms
				       : retry_backoff(k->retries, random_unit());

	k->retries++;
	/* Not the end of anything, so nobody above would tell. */
	log_warn("model.retry", "kind=%s status=%d n=%d wait_ms=%lld err=%.*s",
		 model_kind_word(r->kind), r->status, k->retries, (long long)ms,
		 STRF(log_q(a, r->message)));
	return wait_ms(ms, k->c, e);
}

static void attempt_free(struct attempt *t)
{
	arena_free(&t->arena);
}

static void succeed(const struct call *k, const struct attempt *t, struct arena *a,
		    struct model_reply *out, struct model_failure *fail)
{
	int64_t now = clock_mono_ms();

	*out = (struct model_reply){ 0 };
	reply_make(&t->stream.answer, a, out);
	out->quirks = k->quirks;
	out->first_token_ms = (t->first_ms ? t->first_ms : now) - k->began_ms;
	out->total_ms = now - k->began_ms;
	out->retries = k->retries;
	*fail = (struct model_failure){ .kind = MODEL_OK };
}

static void note_sent(const struct call *k, const struct request *request)
{
	const struct model_cfg *cfg = k->m->cfg;

	*k->req->sent = (struct model_sent){
		.digest = str_digest(request->body),
		.bytes = request->body.n,
		.quirks = k->quirks.flags,
		.gemini = k->m->gemini,
		.has_temperature = cfg->has_temperature,
		.max_tokens = cfg->max_tokens,
		.temperature = cfg->temperature,
		.effort = cfg->reasoning_effort,
	};
}

/* One attempt.  0: it is over, with *result; 1: ask once more. */
static int attempt(struct call *k, struct arena *a, struct model_reply *out,
		   struct model_failure *fail, int *result, struct err *e)
{
	SCOPED(attempt_free)
	struct attempt t = { .req = k->req, .shown = &k->shown };
	struct request request;
	struct http_resp resp = { 0 };
	struct refusal r = { 0 };
	int rc, again;

	rc = request_write(&request, &t.arena, k->m->cfg, k->m->issuer, k->m->gemini, k->req,
			   &k->quirks, e);
	if (rc < 0) {
		*fail = (struct model_failure){ .kind = rc == E_LIMIT ? MODEL_CONTEXT_LENGTH
								      : MODEL_BAD_REQUEST };
		return *result = rc, 0;
	}
	k->lesson.sent = request.sent;
	if (k->req->sent)
		note_sent(k, &request);
	rc = ask(k->m, &t, &request, &r, &resp, k->c);
	if (rc == OK) {
		succeed(k, &t, a, out, fail);
		return *result = OK, 0;
	}
	if ((*result = canceled(k, fail, e)) < 0)
		return 0;
	if (!r.retry_after_ms)
		r.retry_after_ms = retry_in_headers(&resp, clock_now_ms());
	again = learn(k, &t.arena, &r, e);
	if (again == 0 && may_retry(k, &r, retry_wanted(&resp))) {
		if (wait_before_retry(k, &t.arena, &r, e) < 0 &&
		    (*result = canceled(k, fail, e)) < 0)
			return 0;
		again = 1;
	}
	if (again == 1 && r.status == 0 && k->req->on_again &&
	    (*result = k->req->on_again(k->req->arg, e)) < 0)
		return 0;
	if (again == 1)
		return 1;
	*result = give_up(&r, rc, fail, again < 0 ? NULL : e);
	if (again < 0)
		*result = again;
	return 0;
}

int model_complete(struct model *m, const struct model_req *req, struct arena *a,
		   struct model_reply *out, struct model_failure *fail, const struct cancel *c,
		   struct err *e)
{
	struct call k = {
		.m = m,
		.req = req,
		.c = c,
		.quirks = req->quirks,
		.began_ms = clock_mono_ms(),
	};
	int rc = OK;

	*fail = (struct model_failure){ 0 };
	while (attempt(&k, a, out, fail, &rc, e)) {
		if (k.shown && req->on_event)
			req->on_event(req->arg, MODEL_RESTART, (str){ 0 });
		k.shown = false;
	}
	return rc;
}
