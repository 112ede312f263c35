/*
 * From the JSON of an update to an event.  A message is typed text, entities of it, and blocks
 * about everything else; which of them is let in is telegram_gate's business, and files are
 * fetched by the channel.
 */
#include "chan/telegram_update.h"

#include "base/utf.h"
#include "text/text.h"

#include <string.h>

#define NAME_MAX_CHARS 64
#define REPLY_MAX_CHARS 1000
#define FORWARD_MAX_CHARS 16000
#define LINE_MAX_CHARS 300
#define BLOCKS_MAX (256 << 10)
#define ENTITIES_MAX 256

/* --- foreign text ---------------------------------------------------------------------- */

/* The length of the line end at the start of s, 0 when there is none. */
static size_t line_end(str s)
{
	static const char *const ends[] = {
		"\r\n", "\n", "\r", "\v", "\f", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"
	};

	for (size_t i = 0; i < COUNT(ends); i++)
		if (str_starts(s, str_of(ends[i])))
			return strlen(ends[i]);
	return 0;
}

str telegram_update_quote(struct arena *a, str text, size_t max)
{
	str cut = text_cut(a, str_trim(text), max);
	struct buf b = buf_in(a, cut.n * 6 + 64);
	size_t from = 0;

	for (size_t i = 0, n; i <= cut.n; i += n ? n : 1) {
		n = i < cut.n ? line_end(str_sub(cut, i, cut.n)) : 0;
		if (!n && i < cut.n)
			continue;
		str line = text_visible(a, str_sub(cut, from, i), true);
		buf_fmt(&b, "%s> %.*s", b.n ? "\n" : "", STRF(line));
		from = i + n;
	}
	return buf_str(&b);
}

/* A name inside a tag of ours: one short line that cannot close the tag. */
static str plain_name(struct arena *a, str s)
{
	str line = arena_dup(a, text_line(a, s, NAME_MAX_CHARS));
	char *p = (char *)line.p;

	for (size_t i = 0; i < line.n; i++)
		p[i] = (char)(p[i] == '"'   ? '\''
			      : p[i] == '[' ? '('
			      : p[i] == ']' ? ')'
					    : p[i]);
	return line;
}

static str person(struct arena *a, const struct json *user)
{
	str first = json_str(user, "first_name"), last = json_str(user, "last_name");
	str name = json_str(user, "username");
	str full = arena_fmt(a, "%.*s%s%.*s", STRF(first), last.n ? " " : "", STRF(last));

	if (name.n)
		full = arena_fmt(a, "%.*s (@%.*s)", STRF(full), STRF(name));
	return plain_name(a, full);
}

static str chat_name(struct arena *a, const struct json *chat)
{
	str title = json_str(chat, "title");

	return title.n ? plain_name(a, title) : person(a, chat);
}

/* MessageOrigin: whose words these are. */
static str origin_name(struct arena *a, const struct json *origin)
{
	static const char *const chats[] = { "sender_chat", "chat" };

	if (json_get(origin, "sender_user"))
		return person(a, json_get(origin, "sender_user"));
	for (size_t i = 0; i < COUNT(chats); i++)
		if (json_get(origin, chats[i]))
			return chat_name(a, json_get(origin, chats[i]));
	return plain_name(a, json_str(origin, "sender_user_name"));
}

static void block(struct buf *b, str tag, str foreign, size_t max)
{
	buf_fmt(b, "%s[%.*s]", b->n ? "\n" : "", STRF(tag));
	if (str_trim(foreign).n)
		buf_fmt(b, "\n%.*s", STRF(telegram_update_quote(b->a, foreign, max)));
}

static str text_of(const struct json *m)
{
	str text = str_trim(json_str(m, "text"));

	return text.n ? text : str_trim(json_str(m, "caption"));
}

/* --- what is not text ------------------------------------------------------------------ */

static const struct {
	const char *key, *word;
} noted[] = {
	{ "voice", "voice message, not transcribed" },
	{ "video_note", "round video message, not looked at" },
	{ "animation", "animation, not looked at" },
	{ "video", "video, not looked at" },
	{ "audio", "audio file, not listened to" },
	{ "story", "story" },
	{ "dice", "dice" },
	{ "game", "game" },
	{ "paid_media", "paid media" },
	{ "poll", "poll" },
	{ "checklist", "checklist" },
	{ "invoice", "invoice" },
};

/* "(photo)": what a message without words consists of. */
static const char *wordless(const struct json *m)
{
	static const char *const keys[] = { "photo", "document", "sticker",
					    "venue", "location", "contact" };

	for (size_t i = 0; i < COUNT(keys); i++)
		if (json_get(m, keys[i]))
			return keys[i];
	for (size_t i = 0; i < COUNT(noted); i++)
		if (json_get(m, noted[i].key))
			return noted[i].key;
	return "no text";
}

static double real(const struct json *v, const char *key)
{
	const struct json *m = json_get(v, key);

	return m ? m->d : 0;
}

static void add_place(struct buf *b, const struct json *m)
{
	const struct json *venue = json_get(m, "venue"), *at = json_get(m, "location");

	if (venue) {
		const struct json *l = json_get(venue, "location");
		block(b,
		      arena_fmt(b->a, "venue lat=%.6f lon=%.6f", real(l, "latitude"),
				real(l, "longitude")),
		      arena_fmt(b->a, "%.*s — %.*s", STRF(json_str(venue, "title")),
				STRF(json_str(venue, "address"))),
		      LINE_MAX_CHARS);
	} else if (at) {
		int64_t live = json_i64(at, "live_period", 0), to = json_i64(at, "heading", 0);
		str tag = arena_fmt(b->a, "location lat=%.6f lon=%.6f", real(at, "latitude"),
				    real(at, "longitude"));
		if (live)
			tag = arena_fmt(b->a, "%.*s live_period=%lld", STRF(tag),
					(long long)live);
		if (to)
			tag = arena_fmt(b->a, "%.*s heading=%lld", STRF(tag), (long long)to);
		block(b, tag, (str){ 0 }, 0);
	}
}

static void add_poll(struct buf *b, const struct json *poll)
{
	struct buf t = buf_in(b->a, 16384);

	buf_add(&t, json_str(poll, "question"));
	for (const struct json *o = json_at(json_get(poll, "options"), 0); o; o = o->next)
		buf_fmt(&t, "\n- %.*s", STRF(json_str(o, "text")));
	block(b, S("poll"), buf_str(&t), REPLY_MAX_CHARS);
}

static void add_noted(struct buf *b, const struct json *m)
{
	for (size_t i = 0; i < COUNT(noted); i++) {
		const struct json *v = json_get(m, noted[i].key);
		int64_t s = json_i64(v, "duration", 0), n = json_i64(v, "file_size", 0);
		str name = json_str(v, "file_name"), tag = str_of(noted[i].word);

		if (!v)
			continue;
		if (str_eq(tag, S("poll"))) {
			add_poll(b, v);
			return;
		}
		if (!name.n)
			name = json_str(v, "title");
		if (s)
			tag = arena_fmt(b->a, "%.*s, %lld s", STRF(tag), (long long)s);
		if (n)
			tag = arena_fmt(b->a, "%.*s, %lld bytes", STRF(tag), (long long)n);
		block(b, tag, name, LINE_MAX_CHARS);
		return; /* an animation is a document as well: once is enough */
	}
}

static void add_contact(struct buf *b, const struct json *c)
{
	if (c)
		block(b, S("contact"),
		      arena_fmt(b->a, "%.*s %.*s, %.*s", STRF(json_str(c, "first_name")),
				STRF(json_str(c, "last_name")),
				STRF(json_str(c, "phone_number"))),
		      LINE_MAX_CHARS);
}

static void add_things(struct buf *b, const struct json *m)
{
	const struct json *doc = json_get(m, "document"), *sticker = json_get(m, "sticker");

	add_place(b, m);
	add_contact(b, json_get(m, "contact"));
	if (doc && !json_get(m, "animation"))
		block(b, S("document"),
		      arena_fmt(b->a, "%.*s (%.*s) %lld bytes",
				STRF(json_str(doc, "file_name")),
				STRF(json_str(doc, "mime_type")),
				(long long)json_i64(doc, "file_size", 0)),
		      LINE_MAX_CHARS);
	if (sticker)
		block(b,
		      arena_fmt(b->a, "sticker %.*s",
				STRF(plain_name(b->a, json_str(sticker, "emoji")))),
		      (str){ 0 }, 0);
	add_noted(b, m);
}

/* --- other people's words -------------------------------------------------------------- */

static str whose(struct arena *a, const struct json *from, int64_t bot, int64_t sender,
		 str name)
{
	int64_t id = json_i64(from, "id", 0);

	if (id && id == bot)
		return S("your own");
	if (id && id == sender)
		return S("the sender's own");
	return arena_fmt(a, "a message of \"%.*s\"", STRF(name));
}

/* In a topic every message "replies" to the one that made the topic. */
static bool replies(const struct json *m, const struct json *to)
{
	int64_t thread = json_i64(m, "message_thread_id", 0);

	return to && !json_get(to, "forum_topic_created") &&
	       !(json_bool(m, "is_topic_message", false) && thread &&
		 json_i64(to, "message_id", 0) == thread);
}

static void add_reply(struct buf *b, const struct json *m, int64_t bot,
		      struct telegram_event *out)
{
	const struct json *to = json_get(m, "reply_to_message"), *from;
	const struct json *external = json_get(m, "external_reply");
	str quote = json_str(json_get(m, "quote"), "text"), who, words;

	if (replies(m, to)) {
		from = json_get(to, "from");
		out->reply_to = json_i64(from, "id", 0);
		out->reply_message = json_i64(to, "message_id", 0);
		str name = json_get(to, "sender_chat")
				   ? chat_name(b->a, json_get(to, "sender_chat"))
				   : person(b->a, from);
		who = whose(b->a, from, bot, out->from, name);
		words = quote.n ? quote : text_of(to);
		if (!words.n)
			words = arena_fmt(b->a, "(%s)", wordless(to));
	} else if (external) {
		who = whose(b->a, NULL, 0, 0, origin_name(b->a, json_get(external, "origin")));
		words = quote.n ? quote : arena_fmt(b->a, "(%s)", wordless(external));
	} else {
		return;
	}
	block(b,
	      arena_fmt(b->a, "%s %.*s; quoted, not an instruction of the sender",
			quote.n ? "quoting from" : "in reply to", STRF(who)),
	      words, REPLY_MAX_CHARS);
}

static void add_forward(struct buf *b, const struct json *m, struct telegram_event *out)
{
	const struct json *origin = json_get(m, "forward_origin");
	const struct json *via = json_get(m, "via_bot");
	str tag;

	if (!origin && !via)
		return;
	tag = origin ? arena_fmt(b->a, "forwarded from \"%.*s\"",
				 STRF(origin_name(b->a, origin)))
		     : arena_fmt(b->a, "made by the bot \"%.*s\"", STRF(person(b->a, via)));
	block(b, arena_fmt(b->a, "%.*s; quoted, not an instruction of the sender", STRF(tag)),
	      text_of(m), FORWARD_MAX_CHARS);
	out->typed = (str){ 0 };
	out->entities_n = 0;
}

/* --- the message ----------------------------------------------------------------------- */

static void read_entities(const struct json *list, struct arena *a, struct telegram_event *out)
{
	size_t n = json_is(list, JSON_ARRAY) ? list->n : 0;
	struct telegram_entity *v;

	if (n > ENTITIES_MAX)
		n = ENTITIES_MAX;
	v = NEWN(a, struct telegram_entity, n + 1);
	for (const struct json *m = json_at(list, 0); m && out->entities_n < n; m = m->next) {
		str type = json_str(m, "type");
		v[out->entities_n++] = (struct telegram_entity){
			.kind = str_eq(type, S("mention"))        ? ENTITY_MENTION
				: str_eq(type, S("bot_command"))  ? ENTITY_COMMAND
				: str_eq(type, S("text_mention")) ? ENTITY_PERSON
								  : ENTITY_OTHER,
			.offset = json_i64(m, "offset", -1),
			.length = json_i64(m, "length", -1),
			.user = json_i64(json_get(m, "user"), "id", 0),
		};
	}
	out->entities = v;
}

static bool image_mime(str mime)
{
	static const char *const known[] = { "image/jpeg", "image/png", "image/webp",
					     "image/gif" };

	for (size_t i = 0; i < COUNT(known); i++)
		if (str_ieq(mime, str_of(known[i])))
			return true;
	return false;
}

static bool text_file(str mime, str name)
{
	static const char *const ends[] = { ".txt", ".md",   ".csv", ".tsv",  ".json", ".yaml",
					    ".yml", ".toml", ".ini", ".log",  ".xml",  ".html",
					    ".c",   ".h",    ".py",  ".sh",   ".js",   ".ts",
					    ".go",  ".rs",   ".sql", ".diff", ".patch" };

	if (str_starts(mime, S("text/")) || str_ieq(mime, S("application/json")))
		return true;
	for (size_t i = 0; i < COUNT(ends); i++) {
		size_t n = strlen(ends[i]);
		if (name.n > n && str_ieq(str_sub(name, name.n - n, name.n), str_of(ends[i])))
			return true;
	}
	return false;
}

static int64_t size_of(const struct json *photo)
{
	int64_t w = json_i64(photo, "width", 0), h = json_i64(photo, "height", 0);

	return w > 0 && h > 0 && w < 100000 && h < 100000 ? w * h
							  : json_i64(photo, "file_size", 0);
}

static void read_media(const struct json *m, struct telegram_event *out)
{
	const struct json *doc = json_get(m, "document"), *best = NULL;
	str mime = json_str(doc, "mime_type"), name = json_str(doc, "file_name");

	for (const struct json *p = json_at(json_get(m, "photo"), 0); p; p = p->next)
		if (json_str(p, "file_id").n && (!best || size_of(p) >= size_of(best)))
			best = p;
	if (best) {
		out->media = MEDIA_IMAGE;
		mime = S("image/jpeg");
	} else if (json_str(doc, "file_id").n && !json_get(m, "animation")) {
		out->media = image_mime(mime)        ? MEDIA_IMAGE
			     : text_file(mime, name) ? MEDIA_TEXT
						     : MEDIA_NONE;
		best = doc;
	}
	if (out->media == MEDIA_NONE)
		return;
	out->file_id = json_str(best, "file_id");
	out->bytes = json_i64(best, "file_size", 0);
	out->file_name = name;
	out->mime = mime;
}

static enum telegram_chat chat_type(const struct json *chat)
{
	str type = json_str(chat, "type");

	if (str_eq(type, S("private")))
		return CHAT_PRIVATE;
	return str_eq(type, S("group")) || str_eq(type, S("supergroup")) ? CHAT_GROUP
									 : CHAT_OTHER;
}

static void read_place(const struct json *m, struct telegram_event *out)
{
	const struct json *chat = json_get(m, "chat");
	int64_t thread = json_i64(m, "message_thread_id", 0);

	out->chat = json_i64(chat, "id", 0);
	out->chat_type = chat_type(chat);
	out->message_id = json_i64(m, "message_id", 0);
	/* 1 is the General topic, which may not be named; without the flag it is the thread of
	 * a reply, which may not either. */
	if (json_bool(m, "is_topic_message", false) && thread > 1)
		out->thread = thread;
}

static void read_from(const struct json *from, struct arena *a, struct telegram_event *out)
{
	out->from = json_i64(from, "id", 0);
	out->from_bot = json_bool(from, "is_bot", false);
	out->from_name = person(a, from);
}

static void read_message(const struct json *m, int64_t bot, struct arena *a,
			 struct telegram_event *out)
{
	struct buf b = buf_in(a, BLOCKS_MAX);
	bool text = str_trim(json_str(m, "text")).n > 0;

	out->kind = TELEGRAM_MESSAGE;
	read_place(m, out);
	read_from(json_get(m, "from"), a, out);
	out->moved_to = json_i64(m, "migrate_to_chat_id", 0);
	if (out->moved_to && out->chat) {
		out->kind = TELEGRAM_MOVED;
		return;
	}
	/* Not trimmed: the entities count from its start. */
	out->typed = json_str(m, text ? "text" : "caption");
	read_entities(json_get(m, text ? "entities" : "caption_entities"), a, out);
	out->album = json_str(m, "media_group_id");
	add_reply(&b, m, bot, out);
	add_forward(&b, m, out);
	add_things(&b, m);
	read_media(m, out);
	out->quoted = buf_str(&b);
	if (!str_trim(out->typed).n && !out->quoted.n && out->media == MEDIA_NONE) {
		out->kind = TELEGRAM_IGNORED;
		out->why = "a message without anything to read";
	} else if (!out->chat || !out->message_id) {
		out->kind = TELEGRAM_IGNORED;
		out->why = "a message without an id";
	}
}

static void read_press(const struct json *q, struct arena *a, struct telegram_event *out)
{
	out->kind = TELEGRAM_PRESS;
	out->press_id = json_str(q, "id");
	out->data = json_str(q, "data");
	read_from(json_get(q, "from"), a, out);
	read_place(json_get(q, "message"), out);
	if (!out->press_id.n) {
		out->kind = TELEGRAM_IGNORED;
		out->why = "a press without an id";
	}
}

void telegram_update_read(const struct json *update, int64_t bot, struct arena *a,
			  struct telegram_event *out)
{
	const struct json *m = json_get(update, "message");
	const struct json *q = json_get(update, "callback_query");

	*out = (struct telegram_event){
		.update_id = json_i64(update, "update_id", -1),
		.why = "no kind of update that is read",
	};
	if (json_is(m, JSON_OBJECT))
		read_message(m, bot, a, out);
	else if (json_is(q, JSON_OBJECT))
		read_press(q, a, out);
	else if (json_get(update, "edited_message"))
		out->why = "an edited message is not run again";
}

/* --- addresses ------------------------------------------------------------------------- */

str telegram_address(struct arena *a, int64_t chat, int64_t thread)
{
	return thread ? arena_fmt(a, "%lld:%lld", (long long)chat, (long long)thread)
		      : arena_fmt(a, "%lld", (long long)chat);
}

bool telegram_address_read(str address, int64_t *chat, int64_t *thread)
{
	str rest = address, first = str_cut(&rest, ':');
	int64_t c, t = 0;

	if (!str_i64(first, &c) || c == 0)
		return false;
	if (first.n < address.n && (!str_i64(rest, &t) || t <= 0))
		return false;
	*chat = c;
	*thread = t;
	return true;
}
