/*
 * chan/telegram_api: one call of the Telegram Bot API, and what its answer means.
 *
 * The bot's token stands in every URL and nowhere else: what a server or libcurl says about a
 * call passes a redactor before it leaves here, and names the call as "/bot***" + method.
 *
 * Threads  any, many at once; each call borrows a connection of the pool.
 * Blocks   until the answer, the hard deadline of the call (whole round trip, on the monotonic
 *          clock) or a cancel.
 * Limits   16 MiB an answer.
 */
#ifndef CHAN_TELEGRAM_API_H
#define CHAN_TELEGRAM_API_H

#include "os/http.h"
#include "text/json.h"

#define TELEGRAM_BASE_URL "https://api.telegram.org"
#define TELEGRAM_CALL_MS 60000

struct telegram_api {
	struct http_pool *pool;
	str base_url, token; /* borrowed */
};

/* What came of a call: what the caller does next is decided by this alone. */
enum telegram_end {
	TELEGRAM_OK,
	TELEGRAM_SAME, /* an edit that changes nothing: as good as done */
	TELEGRAM_UNSENT, /* it never reached the server: do it again later */
	TELEGRAM_FLOOD, /* 429: not before retry_after_ms from now */
	TELEGRAM_UNKNOWN, /* it may have been done: no whole answer came */
	TELEGRAM_SERVER, /* 5xx */
	TELEGRAM_MARKUP, /* the entities of the text cannot be parsed */
	TELEGRAM_NO_THREAD, /* the topic does not exist, or this chat has none */
	TELEGRAM_NO_REPLY, /* the message to reply to is gone */
	TELEGRAM_MIGRATED, /* the group lives on as moved_to */
	TELEGRAM_TOKEN, /* 401, 404: no such bot (or no such server path) */
	TELEGRAM_RIVAL, /* 409: another getUpdates with this token */
	TELEGRAM_WEBHOOK, /* 409: a webhook is set */
	TELEGRAM_REFUSED, /* any other 4xx: for good */
};

struct telegram_file {
	const char *field; /* the parameter it is: "document" */
	str name, mime, data;
};

struct telegram_call {
	const char *method; /* "sendMessage" */
	str params; /* a JSON object, "" none */
	const struct telegram_file *file; /* NULL: none, the call goes as JSON */
	int64_t timeout_ms; /* 0: TELEGRAM_CALL_MS */
};

struct telegram_reply {
	enum telegram_end end;
	int status; /* HTTP's, 0 when there was no answer */
	const struct json *result; /* of OK */
	int64_t retry_after_ms; /* of FLOOD */
	int64_t moved_to; /* of MIGRATED */
	bool canceled; /* of UNSENT and UNKNOWN: the token ended it */
	str error; /* a sentence, "" for OK; holds no token */
};

void telegram_api_call(const struct telegram_api *api, const struct telegram_call *call,
		       struct arena *a, struct telegram_reply *out, const struct cancel *c);

/* The bytes behind a getFile's file_path.  E_LIMIT over max; errors name no token. */
int telegram_api_download(const struct telegram_api *api, str file_path, size_t max,
			  int64_t timeout_ms, struct arena *a, str *out, const struct cancel *c,
			  struct err *e) MUSTUSE;

/* The meaning of an answer (pure). token: hidden in what the answer says. */
void telegram_api_read(struct arena *a, str token, int status, str body, str retry_after,
		       struct telegram_reply *out);

/* A body of multipart/form-data (pure): the members of params as fields, and the file. */
int telegram_api_form(struct arena *a, str boundary, str params,
		      const struct telegram_file *file, str *out, struct err *e) MUSTUSE;

/* Does this result of getMe say who the bot is? */
bool telegram_names_bot(const struct json *me);

#endif
