/*
 * chan/telegram_update: what one update of the Bot API says.
 *
 * Pure.  Nothing in an update is believed to be there or to have the right type; ids are 64-bit
 * and exact.  What the sender did not type (forwards, quotes, names, places, documents) is kept
 * apart from what he did, in blocks of which every foreign line begins with "> ".
 */
#ifndef CHAN_TELEGRAM_UPDATE_H
#define CHAN_TELEGRAM_UPDATE_H

#include "text/json.h"

#define TELEGRAM_CHANNEL "telegram"

/* The kinds of update that are read: the allowed_updates of the poll. */
#define TELEGRAM_UPDATES "[\"message\",\"callback_query\"]"

enum telegram_kind {
	TELEGRAM_IGNORED, /* nothing for us; why says what it was */
	TELEGRAM_MESSAGE,
	TELEGRAM_PRESS, /* of a button */
	TELEGRAM_MOVED, /* a group became a supergroup */
};

enum telegram_chat { CHAT_PRIVATE, CHAT_GROUP, CHAT_OTHER };

/* Part of the typed text; offset and length in UTF-16 units, unchecked. */
struct telegram_entity {
	enum { ENTITY_OTHER, ENTITY_MENTION, ENTITY_COMMAND, ENTITY_PERSON } kind;
	int64_t offset, length;
	int64_t user; /* of PERSON: a mention of someone without a name */
};

enum telegram_media { MEDIA_NONE, MEDIA_IMAGE, MEDIA_TEXT };

struct telegram_event {
	enum telegram_kind kind;
	int64_t update_id; /* < 0: it has none */
	const char *why;

	int64_t chat;
	enum telegram_chat chat_type;
	int64_t thread; /* the forum topic it belongs to; 0 none */
	int64_t message_id;
	int64_t from; /* 0: nobody is named */
	bool from_bot;
	str from_name;

	str typed; /* by the sender himself; "" when forwarded */
	const struct telegram_entity *entities;
	size_t entities_n;
	int64_t reply_to; /* whose message it replies to; 0 none */
	int64_t reply_message; /* and which */
	str album;
	str quoted; /* the blocks; "" none */

	enum telegram_media media; /* a file worth fetching */
	str file_id, file_name, mime;
	int64_t bytes; /* as stated, 0 unknown */

	str press_id, data; /* of PRESS */
	int64_t moved_to; /* of MOVED */
};

/* Never fails: what is no update is IGNORED. bot: our own id. */
void telegram_update_read(const struct json *update, int64_t bot, struct arena *a,
			  struct telegram_event *out);

/* Every line of text behind "> ", control characters visible, at most max characters. */
str telegram_update_quote(struct arena *a, str text, size_t max);

/* "CHAT" or "CHAT:THREAD". */
str telegram_address(struct arena *a, int64_t chat, int64_t thread);
bool telegram_address_read(str address, int64_t *chat, int64_t *thread);

#endif
