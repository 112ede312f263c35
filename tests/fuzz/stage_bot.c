/*
 * The Bot API: updates and their confirmation, methods and what they refuse.
 */
#include "stage_bot.h"

#include "base/utf.h"
#include "chan/telegram_update.h"
#include "os/clock.h"
#include "text/json.h"
#include "unit/tg_judge.c"

#include <stdio.h>
#include <string.h>

#define PENDING 64
#define LIVING 128 /* messages that stand */
#define LATE_MS 30000

struct update {
	int64_t id;
	str json;
	int said; /* -1: not counted */
};

struct bot bot;

static struct {
	struct arena a;
	struct update v[PENDING];
	size_t n;
	int64_t next_id, next_message, offset;
	int64_t late[8]; /* requests that are left open */
	int64_t late_ms[8];
	size_t late_n;
	struct {
		int64_t chat, id;
	} stands[LIVING];
	size_t stands_n;
} api;

void bot_begin(void)
{
	bot = (struct bot){ 0 };
	api.n = api.late_n = api.stands_n = 0;
	api.next_id = 100;
	api.next_message = 1000;
	api.offset = 0;
}

void bot_end(void)
{
	arena_free(&api.a);
}

static size_t place(int64_t chat)
{
	return chat == BOT_PERSON ? 0 : chat == BOT_GROUP ? 1 : chat == BOT_GROUP - 1 ? 2 : 3;
}

/* --- what people do --------------------------------------------------------------------- */

static void give(str json, int said)
{
	if (api.n == PENDING)
		return;
	api.v[api.n++] = (struct update){ api.next_id++, json, said };
}

static str chat_of(bool group)
{
	return group ? S("{\"id\":-500,\"type\":\"supergroup\",\"title\":\"g\"}")
		     : S("{\"id\":111,\"type\":\"private\"}");
}

static str message(str from, bool group, str text, str more)
{
	struct buf b = buf_in(&api.a, 65536);

	buf_fmt(&b,
		"{\"message_id\":%lld,\"date\":1,\"from\":{\"id\":%.*s,\"is_bot\":false,"
		"\"first_name\":\"Ann\"},\"chat\":%.*s",
		(long long)api.next_message++, STRF(from), STRF(chat_of(group)));
	if (text.p) {
		buf_add(&b, S(",\"text\":"));
		buf_json(&b, text);
	}
	buf_fmt(&b, "%.*s}", STRF(more));
	return buf_str(&b);
}

static str wrapped(const char *kind, str inner)
{
	return arena_fmt(&api.a, "\"%s\":%.*s", kind, STRF(inner));
}

static void says(bool group)
{
	int n = (int)bot.said_n;
	str text;

	if (bot.said_n == BOT_WORDS)
		return;
	bot.said[bot.said_n++].counts = true;
	text = arena_fmt(&api.a, "m%d; %.*s", n, STRF(stage_text(40)));
	give(wrapped("message", message(S("111"), group, text, S(""))), n);
}

static void presses(void)
{
	size_t i = bot.buttons_n ? stage_below((unsigned)bot.buttons_n) : 0;
	bool known = bot.buttons_n > 0 && stage_below(4) > 0;
	str data = known ? str_of(bot.buttons[i]) : stage_text(64);
	struct buf b = buf_in(&api.a, 65536);

	buf_fmt(&b,
		"{\"id\":\"p%lld\",\"from\":{\"id\":111,\"is_bot\":false,\"first_name\":"
		"\"Ann\"},\"chat_instance\":\"1\",\"message\":{\"message_id\":%lld,\"date\":1,"
		"\"chat\":%.*s},\"data\":",
		(long long)api.next_message++, (long long)(known ? bot.buttons_message[i] : 1),
		STRF(chat_of(known && bot.buttons_chat[i] < 0)));
	buf_json(&b, data);
	buf_addc(&b, '}');
	give(wrapped("callback_query", buf_str(&b)), -1);
}

static void sends_file(void)
{
	static const char *const files[] = {
		",\"photo\":[{\"file_id\":\"f\",\"file_unique_id\":\"u\",\"width\":1,"
		"\"height\":1,\"file_size\":9}]",
		",\"document\":{\"file_id\":\"f\",\"file_unique_id\":\"u\",\"file_name\":"
		"\"x.txt\",\"mime_type\":\"text/plain\",\"file_size\":9}",
		",\"media_group_id\":\"77\",\"photo\":[{\"file_id\":\"f\",\"file_unique_id\":"
		"\"u\",\"width\":1,\"height\":1}],\"caption\":\"c\"",
		",\"voice\":{\"file_id\":\"f\",\"file_unique_id\":\"u\",\"duration\":3}",
	};

	give(wrapped("message", message(S("111"), false, (str){ 0 },
					str_of(files[stage_below(COUNT(files))]))),
	     -1);
}

void bot_person(void)
{
	static const char *const words[] = { "/stop", "/new", "/status", "/nonsense", "" };
	str raw;

	switch (stage_below(12)) {
	case 0:
	case 1:
	case 2:
		says(false);
		break;
	case 3:
		says(true);
		break;
	case 4:
		give(wrapped("message",
			     message(S("111"), false, str_of(words[stage_below(COUNT(words))]),
				     S(""))),
		     -1);
		break;
	case 5:
	case 6:
		presses();
		break;
	case 7:
		sends_file();
		break;
	case 8: /* a stranger */
		give(wrapped("message", message(S("666"), false, S("let me in"), S(""))), -1);
		break;
	case 9:
		give(wrapped("edited_message", message(S("111"), false, S("edited"), S(""))),
		     -1);
		break;
	case 10: /* no client makes this */
		raw = stage_text(200);
		if (utf_valid(raw) && raw.n)
			give(wrapped("message", arena_dup(&api.a, raw)), -1);
		break;
	default: /* ids jump when a week went by with nothing */
		if (!api.n && !stage_below(4)) {
			api.next_id -= 50;
			bot.odd = true;
		}
	}
}

/* --- methods ----------------------------------------------------------------------------- */

static str ok(const char *result)
{
	return arena_fmt(&api.a, "{\"ok\":true,\"result\":%s}", result);
}

static str sent(int64_t id, int64_t chat)
{
	return ok(arena_fmt(&api.a,
			    "{\"message_id\":%lld,\"date\":1,\"chat\":{\"id\":%lld,"
			    "\"type\":\"private\"},\"text\":\"x\"}",
			    (long long)id, (long long)chat)
			  .p);
}

static str refused(int code, const char *why)
{
	return arena_fmt(&api.a, "{\"ok\":false,\"error_code\":%d,\"description\":\"%s\"}",
			 code, why);
}

static void confirm(int64_t offset)
{
	size_t n = 0;

	for (size_t i = 0; i < api.n; i++)
		if (api.v[i].id >= offset)
			api.v[n++] = api.v[i];
		else if (api.v[i].said >= 0)
			bot.said[api.v[i].said].confirmed = true;
	api.n = n;
}

static str updates(const struct json *params)
{
	int64_t offset = json_i64(params, "offset", 0);
	struct buf b = buf_in(&api.a, 1 << 20);

	/* The cursor never goes back, while the ids do not. */
	must(bot.odd || offset >= api.offset);
	must(json_i64(params, "limit", 0) == 100 && json_get(params, "allowed_updates"));
	api.offset = offset;
	confirm(offset);
	buf_addc(&b, '[');
	for (size_t i = 0; i < api.n; i++) {
		buf_fmt(&b, "%s{\"update_id\":%lld,%.*s}", i ? "," : "", (long long)api.v[i].id,
			STRF(api.v[i].json));
		if (api.v[i].said >= 0)
			bot.said[api.v[i].said].fetched = true;
	}
	buf_addc(&b, ']');
	return ok(arena_cstr(&api.a, buf_str(&b)));
}

static void note_buttons(const struct json *params, int64_t chat, int64_t id)
{
	const struct json *rows = json_get(json_get(params, "reply_markup"), "inline_keyboard");

	for (const struct json *row = rows ? rows->child : NULL; row; row = row->next)
		for (const struct json *x = row->child; x; x = x->next) {
			str data = json_str(x, "callback_data");
			size_t i = bot.buttons_n % COUNT(bot.buttons);
			must(data.n > 0 && data.n <= 64 && json_str(x, "text").n > 0);
			(void)snprintf(bot.buttons[i], sizeof bot.buttons[i], "%.*s",
				       STRF(data));
			bot.buttons_chat[i] = chat;
			bot.buttons_message[i] = id;
			if (bot.buttons_n < COUNT(bot.buttons))
				bot.buttons_n++;
		}
}

/* Quotes outside of tags are taken as they are, which the judge of our own Markdown is not told. */
static str quotes_named(str html)
{
	struct buf b = buf_in(&api.a, html.n * 6 + 1);
	bool tag = false;

	for (size_t i = 0; i < html.n; i++) {
		tag = html.p[i] == '<' || (tag && html.p[i] != '>');
		if (html.p[i] == '"' && !tag)
			buf_add(&b, S("&quot;"));
		else
			buf_addc(&b, html.p[i]);
	}
	return buf_str(&b);
}

/* A text is not empty, not too long, and HTML that is taken. */
static void check_text(const struct json *params, const char *key, size_t max)
{
	str text = json_str(params, key), shown;

	must(utf_valid(text));
	if (!json_str(params, "parse_mode").n)
		return;
	if (tg_fault(&api.a, quotes_named(text), &shown) || tg_length(text) > max) {
		(void)fprintf(stderr, "no HTML of Telegram: %.*s\n", STRF(text));
		abort();
	}
}

static int word(str text, char first)
{
	int n = 0;

	if (text.n < 3 || text.p[0] != first)
		return -1;
	for (size_t i = 1; i < text.n && text.p[i] != ';'; i++) {
		if (text.p[i] < '0' || text.p[i] > '9' || n > BOT_WORDS)
			return -1;
		n = n * 10 + text.p[i] - '0';
	}
	return n < BOT_WORDS ? n : -1;
}

static bool stands(int64_t chat, int64_t id)
{
	for (size_t i = 0; i < api.stands_n && i < LIVING; i++)
		if (api.stands[i].chat == chat && api.stands[i].id == id)
			return true;
	return false;
}

static str send_message(const struct json *params, int64_t chat)
{
	int64_t id = api.next_message++;
	int n = word(json_str(params, "text"), 'a');

	check_text(params, "text", 4096);
	must(json_str(params, "text").n > 0);
	note_buttons(params, chat, id);
	api.stands[api.stands_n % LIVING].chat = chat;
	api.stands[api.stands_n++ % LIVING].id = id;
	/* What is shown while it grows is said to be so, and becomes the answer by an edit. */
	if (n >= 0 && !json_get(params, "disable_notification")) {
		bot.heard[n].sent++;
		bot.heard[n].chat = chat;
	}
	return sent(id, chat);
}

static str edit(const struct json *params, int64_t chat)
{
	int64_t id = json_i64(params, "message_id", 0);

	check_text(params, "text", 4096);
	note_buttons(params, chat, id);
	if (!stands(chat, id))
		return refused(400, "Bad Request: message to edit not found");
	return sent(id, chat);
}

static str do_method(str method, const struct json *params)
{
	int64_t chat = json_i64(params, "chat_id", 0);
	bool to_chat = json_get(params, "chat_id") != NULL;

	must(!to_chat || chat != 0);
	if (str_eq(method, S("getMe")))
		return ok("{\"id\":4242,\"is_bot\":true,\"first_name\":\"b\",\"username\":"
			  "\"mybot\"}");
	if (str_eq(method, S("getUpdates")))
		return updates(params);
	if (str_eq(method, S("getWebhookInfo")))
		return ok("{\"url\":\"https://h.test/x\",\"pending_update_count\":1}");
	if (str_eq(method, S("deleteWebhook")))
		must(!json_bool(params, "drop_pending_updates", true));
	if (str_eq(method, S("getFile")))
		return ok("{\"file_id\":\"f\",\"file_unique_id\":\"u\",\"file_path\":\"d/f\"}");
	if (str_eq(method, S("answerCallbackQuery")))
		must(json_str(params, "callback_query_id").n > 0 &&
		     tg_length(json_str(params, "text")) <= 200);
	if (str_eq(method, S("sendMessage")))
		return send_message(params, chat);
	if (str_eq(method, S("editMessageText")))
		return edit(params, chat);
	if (str_eq(method, S("sendPhoto")) || str_eq(method, S("sendDocument"))) {
		check_text(params, "caption", 1024);
		return sent(api.next_message++, chat);
	}
	return ok("true");
}

/* --- answers ----------------------------------------------------------------------------- */

static const char *const refusals[] = {
	"Bad Request: message is not modified",
	"Bad Request: can't parse entities: Unsupported start tag",
	"Bad Request: message thread not found",
	"Bad Request: message to be replied not found",
	"Bad Request: message to edit not found",
	"Bad Request: chat not found",
	"Forbidden: bot was blocked by the user",
};

/* 429: the chat is left alone until then. */
static str flooded(int64_t chat, bool held)
{
	static const int waits[] = { 0, 1, 5, 30, 60, 61, 3600 };
	int s = waits[stage_below(COUNT(waits))];

	if (held && s <= 60 && clock_mono_ms() + s * 1000 > bot.held_ms[place(chat)])
		bot.held_ms[place(chat)] = clock_mono_ms() + s * 1000;
	return arena_fmt(
		&api.a,
		"{\"ok\":false,\"error_code\":429,\"description\":\"Too Many Requests: "
		"retry after %d\",\"parameters\":{\"retry_after\":%d}}",
		s, s);
}

static void leave_open(struct stage_request *r)
{
	if (api.late_n == COUNT(api.late)) {
		stage_fail(r, E_IO, true);
		return;
	}
	api.late[api.late_n] = r->n;
	api.late_ms[api.late_n++] = clock_mono_ms();
}

static void go_wrong(struct stage_request *r, str method, const struct json *params)
{
	int64_t chat = json_i64(params, "chat_id", 0);
	bool polls = str_eq(method, S("getUpdates"));
	str body = stage_text(200);

	switch (stage_below(12)) {
	case 0: /* done, and nobody hears of it */
		if (!polls)
			(void)do_method(method, params);
		stage_fail(r, stage_below(2) ? E_TIMEOUT : E_IO, true);
		break;
	case 1:
		stage_fail(r, E_IO, false);
		break;
	case 2:
		stage_answer(r, 429,
			     flooded(chat, str_starts(method, S("send")) &&
						   !str_eq(method, S("sendChatAction"))));
		break;
	case 3:
		stage_answer(r, 400, refused(400, refusals[stage_below(COUNT(refusals))]));
		break;
	case 4:
		stage_answer(r, 502, refused(502, "Bad Gateway"));
		break;
	case 5:
		stage_answer(r, 409,
			     refused(409, stage_below(2)
						  ? "Conflict: can't use getUpdates method "
						    "while webhook is active"
						  : "Conflict: terminated by other "
						    "getUpdates request"));
		break;
	case 6: /* not before it was known once: then there is nothing to talk to */
		stage_answer(r, str_eq(method, S("getMe")) ? 500 : 401,
			     refused(401, "Unauthorized"));
		break;
	case 7:
		stage_answer(r, 400,
			     arena_fmt(&api.a,
				       "{\"ok\":false,\"error_code\":400,"
				       "\"description\":\"group chat was upgraded\","
				       "\"parameters\":{\"migrate_to_chat_id\":%lld}}",
				       (long long)BOT_GROUP - 1));
		break;
	case 8: /* whatever: what it did is not known */
		bot.odd = true;
		stage_answer(r, 200, body);
		break;
	case 9:
		bot.odd = true;
		stage_answer(r, 200, ok(utf_valid(body) ? arena_cstr(&api.a, body) : "[{}]"));
		break;
	case 10:
		stage_answer(r, (int)(300 + stage_below(250)), body);
		break;
	default: /* later, or never */
		leave_open(r);
	}
}

static str method_of(const struct stage_request *r)
{
	str url = r->req->url, base = S(BOT_URL "/bot" BOT_TOKEN "/");

	must(str_starts(url, base));
	return str_sub(url, base.n, url.n);
}

static void answer(struct stage_request *r)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str method = method_of(r);
	struct json *params = NULL;

	if (r->req->body.n && r->req->body.p[0] == '{')
		must(json_read(&params, &a, r->req->body, NULL) == OK);
	int64_t chat = json_i64(params, "chat_id", 0);
	/* Who was told to wait does. */
	must(!str_eq(method, S("sendMessage")) || bot.odd ||
	     clock_mono_ms() >= bot.held_ms[place(chat)]);
	if (bot.mean && stage_below(3) == 0)
		go_wrong(r, method, params);
	else if (str_eq(method, S("getUpdates")) &&
		 json_i64(params, "offset", 0) >= api.next_id && json_i64(params, "timeout", 0))
		leave_open(r);
	else
		stage_answer(r, 200, do_method(method, params));
}

static void on_request(void *arg, struct stage_request *r)
{
	(void)arg;
	if (bot.dead)
		stage_fail(r, E_IO, false);
	else if (str_starts(r->req->url, S(BOT_URL "/file/bot" BOT_TOKEN "/")))
		stage_answer(r, stage_below(4) ? 200 : 404, S("\x89PNG\r\n\x1a\n...."));
	else
		answer(r);
}

void bot_serve(void)
{
	stage_on_request(on_request, NULL);
	for (size_t i = 0; i < api.late_n; i++) {
		struct stage_request *r = stage_requests();
		while (r && r->n != api.late[i])
			r = r->next;
		bool polls = r && str_eq(method_of(r), S("getUpdates"));
		if (r && !r->ended && !(polls && api.n) &&
		    clock_mono_ms() < api.late_ms[i] + LATE_MS)
			continue;
		if (r && !r->ended) {
			SCOPED(arena_free) struct arena a = { 0 };
			struct json *params = NULL;
			(void)!json_read(&params, &a, r->req->body, NULL);
			stage_answer(r, 200,
				     bot.dead ? S("") : do_method(method_of(r), params));
		}
		api.late[i] = api.late[--api.late_n];
		api.late_ms[i] = api.late_ms[api.late_n];
		i--;
	}
}
