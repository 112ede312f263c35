/*
 * model/model: one OpenAI-compatible chat completions endpoint.
 *
 * Messages travel as their exact wire JSON, so that what was sent once is sent again byte
 * for byte.  What an endpoint refuses (max_tokens, temperature, stream_options, schema
 * keywords, null content, ...) is learnt as quirks; they belong to (base URL, model) and the
 * caller keeps them in rows.  Retries of transient failures happen in here.
 *
 * Threads  model_complete() from any thread, many at once (each borrows an http handle).
 * Blocks   until the answer is complete; every wait is cancellable.
 * Limits   cfg->response_max bytes an answer, 128 tool calls, nesting as text/json.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "config/config.h"
#include "os/cancel.h"
#include "os/http.h"

struct model_tool {
	str name, description;
	str schema; /* JSON Schema object as text */
};

/* One message of the history, in order. */
struct model_msg {
	str role; /* user, assistant, tool */
	str wire; /* the JSON object */
	str issuer; /* who made an assistant message; "" for others.  Opaque fields (thought
	             * signatures, reasoning) are left out when it is not us now */
};

struct model_quirks {
	uint32_t flags; /* private to model/ */
	int64_t context_window; /* learnt, 0 unknown */
};

enum model_event {
	MODEL_TEXT, /* a further piece of the answer */
	MODEL_REASONING, /* a further piece of the reasoning */
	MODEL_RESTART, /* a retry: forget the pieces so far */
};

struct model_sent; /* model/body.h: the body that was sent last */

struct model_req {
	str system; /* "": none */
	const struct model_msg *msgs;
	size_t msgs_n;
	const struct model_tool *tools;
	size_t tools_n;
	str tool_choice; /* "auto", "none", "required"; "": not sent */
	int64_t max_tokens; /* 0: the configuration's */
	const double *temperature; /* NULL: the configuration's */
	struct str_list stop;
	bool stream;
	struct model_quirks quirks; /* what is known so far */
	/* Called in the calling thread; may be NULL. */
	void (*on_event)(void *arg, enum model_event ev, str piece);
	/* A quirk was learnt: called before the retried request, which is only sent if this
	 * returns OK (it stores the row). */
	int (*on_learn)(void *arg, const struct model_quirks *q, struct err *e);
	/* What was sent may have been paid for, and is to be sent once more: not unless this
	 * returns OK. */
	int (*on_again)(void *arg, struct err *e);
	void *arg;
	struct model_sent *sent; /* filled in also when the call fails; may be NULL */
};

struct model_call {
	str id; /* the provider's, or ours when it gave none of use; unique in the reply */
	str name;
	str args; /* JSON text as given; "{}" for none.  May be invalid JSON */
};

#define MODEL_TOKENS_MAX (INT64_C(1) << 30) /* more than a request can have: not believed */

struct model_usage {
	int64_t prompt, completion, cached, written; /* tokens as reported; -1 unknown */
};

enum model_finish { MODEL_STOP, MODEL_LENGTH, MODEL_FILTER, MODEL_TOOLS };

struct model_reply {
	str text; /* the answer, think blocks removed, trimmed; a refusal's text */
	str reasoning; /* for the nudge and /perf only; never shown as the answer */
	const struct model_call *calls;
	size_t calls_n;
	str wire; /* the assistant message as it is to be stored and sent back; never
	                * empty of both content and calls unless text and calls are empty */
	enum model_finish finish;
	bool refused;
	struct model_usage usage;
	struct model_quirks quirks; /* after this call */
	int64_t first_token_ms, total_ms; /* from the call on, retries included */
	int retries;
};

enum model_kind {
	MODEL_OK,
	MODEL_AUTH,
	MODEL_RATE_LIMIT,
	MODEL_CONTEXT_LENGTH,
	MODEL_BAD_REQUEST,
	MODEL_TRANSIENT,
	MODEL_CANCELED,
};

/* Why a call failed, beside the err. */
struct model_failure {
	enum model_kind kind;
	int status; /* HTTP, 0 none */
	int64_t retry_after_ms; /* as asked by the server, 0 none */
	bool no_images; /* it refused image parts */
};

struct model;

/* cfg and pool are borrowed and outlive the model. */
int model_open(struct model **out, const struct model_cfg *cfg, struct http_pool *pool,
	       struct err *e) MUSTUSE;
void model_close(struct model *m);

/* Requests from now on carry this key.  From one thread at a time. */
void model_set_key(struct model *m, str key);

/* "base URL|model": the issuer of its messages and the key of its quirks. */
str model_issuer(const struct model *m);

/* One completion.  OK with *out in a; else *fail says which kind (never NULL).
 * E_DENIED auth, E_LIMIT context length, E_BUSY rate limit, E_INVAL bad request, E_IO and
 * E_PROTO and E_TIMEOUT transient.  A cancel is E_CANCELED, or E_TIMEOUT for a deadline of
 * the token, and always MODEL_CANCELED.  What on_learn() and on_again() fail
 * with is returned as it is. */
int model_complete(struct model *m, const struct model_req *req, struct arena *a,
		   struct model_reply *out, struct model_failure *fail, const struct cancel *c,
		   struct err *e) MUSTUSE;

const char *model_kind_word(enum model_kind kind); /* "auth", "rate_limit", ... */

str model_user_wire(struct arena *a, str text); /* wire messages of our own making */
/* The same with pictures: data: or http(s) URLs. */
str model_user_images_wire(struct arena *a, str text, const str *urls, size_t n);
str model_assistant_wire(struct arena *a, str text);
str model_tool_wire(struct arena *a, str call_id, str content);

/* An assistant message with calls that we made out of its text (see agent/salvage). */
str model_calls_wire(struct arena *a, str text, const struct model_call *calls, size_t n);

#endif
