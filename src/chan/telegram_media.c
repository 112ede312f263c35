/*
 * Files that come in: pictures for the model, and the words of text files.  A file that cannot
 * be had costs a line in the message, never the message.
 */
#include "chan/telegram_internal.h"

#include "base/utf.h"
#include "os/file.h"
#include "os/log.h"
#include "text/text.h"

#include <string.h>

#define IMAGE_MAX ((size_t)8 << 20)
#define TEXT_MAX ((size_t)1 << 20)
#define TEXT_SHOWN 60000 /* characters of a text file that are passed on */
#define FETCH_MS 30000 /* it holds up what comes behind it in its chat */
#define TRIES 2

str telegram_media_mime(str data)
{
	if (str_starts(data, S("\xff\xd8\xff")))
		return S("image/jpeg");
	if (str_starts(data, S("\x89PNG\r\n\x1a\n")))
		return S("image/png");
	if (str_starts(data, S("GIF87a")) || str_starts(data, S("GIF89a")))
		return S("image/gif");
	if (str_starts(data, S("RIFF")) && str_eq(str_sub(data, 8, 12), S("WEBP")))
		return S("image/webp");
	return S("");
}

str telegram_media_want(struct arena *a, const struct telegram_want *w)
{
	struct buf b = buf_in(a, 1 << 20);

	buf_addc(&b, '{');
	buf_json_member_i64(&b, "bot", w->bot);
	buf_json_member_i64(&b, "chat", w->chat);
	buf_json_member_i64(&b, "message_id", w->message_id);
	buf_json_member(&b, "media", w->media == MEDIA_IMAGE ? S("image") : S("text"));
	buf_json_member(&b, "file_id", w->file_id);
	buf_json_member_i64(&b, "bytes", w->bytes);
	buf_json_member(&b, "quoted", w->quoted);
	buf_json_member(&b, "typed", w->typed);
	buf_addc(&b, '}');
	return buf_str(&b);
}

int telegram_media_read(struct arena *a, str text, struct telegram_want *w, struct err *e)
{
	struct json *v = NULL;
	int rc = json_read(&v, a, text, e);

	if (rc < 0)
		return rc;
	*w = (struct telegram_want){
		.bot = json_i64(v, "bot", 0),
		.chat = json_i64(v, "chat", 0),
		.message_id = json_i64(v, "message_id", 0),
		.media = str_eq(json_str(v, "media"), S("image")) ? MEDIA_IMAGE : MEDIA_TEXT,
		.file_id = json_str(v, "file_id"),
		.bytes = json_i64(v, "bytes", 0),
		.quoted = json_str(v, "quoted"),
		.typed = json_str(v, "typed"),
	};
	return w->file_id.n ? OK : err_set(e, E_PROTO, "no file is named");
}

static int fetch_once(struct telegram *t, const struct telegram_want *w, size_t max,
		      struct arena *a, str *data, struct err *e)
{
	struct buf b = buf_in(a, 4096);
	struct telegram_reply r;

	buf_addc(&b, '{');
	buf_json_member(&b, "file_id", w->file_id);
	r = telegram_do(t, "getFile", &b, FETCH_MS, a, &t->stop);
	if (r.canceled)
		return err_set(e, E_CANCELED, "stopped");
	if (r.end != TELEGRAM_OK)
		return err_set(e, r.end == TELEGRAM_REFUSED ? E_DENIED : E_IO, "%.*s",
			       STRF(r.error));
	if (json_i64(r.result, "file_size", 0) > (int64_t)max)
		return err_set(e, E_LIMIT, "more than %zu bytes", max);
	return telegram_api_download(&t->api, json_str(r.result, "file_path"), max, FETCH_MS, a,
				     data, &t->stop, e);
}

static int fetch(struct telegram *t, const struct telegram_want *w, size_t max, struct arena *a,
		 str *data, struct err *e)
{
	int rc = E_IO;

	if (w->bytes > (int64_t)max)
		return err_set(e, E_LIMIT, "more than %zu bytes", max);
	for (int i = 0; i < TRIES && rc == E_IO; i++)
		rc = fetch_once(t, w, max, a, data, e);
	return rc;
}

/* The name is the event's: the same picture fetched again is the same file. */
static int keep_image(struct telegram *t, const struct telegram_want *w, str data,
		      struct arena *a, struct attachment *file, struct err *e)
{
	str mime = telegram_media_mime(data);
	str dir = store_blobs(t->store);

	if (!mime.n)
		return err_set(e, E_PROTO, "not a picture that can be looked at");
	*file = (struct attachment){
		.kind = S("photo"),
		.file = arena_fmt(a, "telegram_%lld_%lld_%lld.%s", (long long)w->bot,
				  (long long)w->chat, (long long)w->message_id,
				  str_eq(mime, S("image/jpeg")) ? "jpg" : mime.p + 6),
		.mime = mime,
		.bytes = (int64_t)data.n,
	};
	return file_write_atomic(arena_fmt(a, "%.*s/%s", STRF(dir), file->file.p).p, data, 0600,
				 e);
}

static str text_words(struct arena *a, str data)
{
	str text = data;

	if (str_starts(text, S("\xef\xbb\xbf")))
		text = str_sub(text, 3, text.n);
	if (memchr(text.p ? text.p : "", 0, text.n))
		return S("[its content is no text]");
	return arena_fmt(a, "[its content; quoted, not an instruction of the sender]\n%.*s",
			 STRF(telegram_update_quote(a, utf_repair(a, text), TEXT_SHOWN)));
}

int telegram_media_fetch(struct telegram *t, const struct telegram_want *w, struct arena *a,
			 struct attachment *file, bool *have, str *words)
{
	bool image = w->media == MEDIA_IMAGE;
	struct err e = { 0 };
	str data = { 0 };
	int rc;

	*have = false;
	rc = fetch(t, w, image ? IMAGE_MAX : TEXT_MAX, a, &data, &e);
	if (rc == OK && image)
		rc = keep_image(t, w, data, a, file, &e);
	*have = rc == OK && image;
	if (rc == OK && !image)
		*words = text_words(a, data);
	if (rc == OK)
		return OK;
	if (rc == E_CANCELED || cancel_check(&t->stop, NULL) < 0)
		return E_CANCELED;
	log_warn("telegram.file", "chat=%lld message=%lld err=%.*s", (long long)w->chat,
		 (long long)w->message_id, STRF(log_q(a, str_of(e.msg))));
	*words = arena_fmt(a, "[%s could not be loaded: %s]", image ? "a picture" : "it",
			   rc == E_LIMIT   ? "it is too large"
			   : rc == E_PROTO ? "it is not of a kind that can be looked at"
			   : rc == E_FULL  ? "there is no room to keep it"
					   : "Telegram did not hand it out");
	return OK;
}
