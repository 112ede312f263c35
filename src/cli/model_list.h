/*
 * cli/model_list: which models an endpoint has, asked live, and what is wrong when it does not
 * say.
 *
 * Blocks   at most 15 s, or the end of the token.
 * Limits   8 MiB, 20000 names; names that are not one printable word are left out.
 */
#ifndef CLI_MODEL_LIST_H
#define CLI_MODEL_LIST_H

#include "os/http.h"

enum model_list_end {
	MODEL_LIST_OK, /* names has at least one */
	MODEL_LIST_KEY, /* the key was refused, or there is none */
	MODEL_LIST_UNREACHABLE, /* no connection, or no answer in time */
	MODEL_LIST_TLS, /* the other side could not prove who it is, or speaks no HTTP */
	MODEL_LIST_NONE, /* it is there and has no model */
	MODEL_LIST_NO_LIST, /* it answers, with something else */
	MODEL_LIST_SERVER, /* it has trouble of its own, or is busy */
	MODEL_LIST_CANCELED,
};

struct model_list {
	enum model_list_end end;
	str why; /* one line, no secret in it; "" for OK */
	str *names; /* sorted */
	size_t n, odd; /* odd: names left out */
	int rc; /* OK: it answered, with this status; else why it did not */
	int status;
	str date; /* the answer's Date; "" none */
};

/* base_url may be that of the chat itself, and may have a query; key "" sends none. */
void model_list_get(struct model_list *out, struct http_pool *pool, str base_url, str key,
		    struct arena *a, const struct cancel *c);

#endif
