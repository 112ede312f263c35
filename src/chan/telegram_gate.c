/*
 * The rules for direct messages and groups.  Both modes of configuration end up here: without a
 * file the map of groups is one entry for all that asks for no mention.
 */
#include "chan/telegram_gate.h"

#include "base/utf.h"

/* A mention or command in a text, by the units Telegram counts in. */
static str entity_text(str text, const struct telegram_entity *x)
{
	int64_t at = 0, end;
	size_t from = SIZE_MAX, to = text.n;

	if (x->offset < 0 || x->length <= 0 ||
	    __builtin_add_overflow(x->offset, x->length, &end))
		return (str){ 0 };
	for (size_t i = 0, len; i < text.n; i += len) {
		uint32_t cp = utf_next(str_sub(text, i, text.n), &len);
		if (at >= end) {
			to = i;
			break;
		}
		if (at >= x->offset && from == SIZE_MAX)
			from = i;
		at += cp >= 0x10000 ? 2 : 1;
	}
	return from == SIZE_MAX ? (str){ 0 } : str_sub(text, from, to);
}

static bool is_at_name(str s, str name)
{
	return s.n == name.n + 1 && s.p[0] == '@' && name.n &&
	       str_ieq(str_sub(s, 1, s.n), name);
}

static bool is_word(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '_' && !(s.p[i] >= '0' && s.p[i] <= '9') &&
		    !((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z'))
			return false;
	return s.n > 0;
}

/* "/cmd@name": the name, "" when it is none (as in "/home/me@host"). */
static str command_target(str command)
{
	str rest = str_sub(command, 1, command.n), word = str_cut(&rest, '@');

	return str_starts(command, S("/")) && is_word(word) && is_word(rest) ? rest
									     : (str){ 0 };
}

static bool means_us(const struct telegram_self *self, const struct telegram_event *ev,
		     const struct telegram_entity *x)
{
	str text = entity_text(ev->typed, x);

	switch (x->kind) {
	case ENTITY_MENTION:
		return is_at_name(text, self->name);
	case ENTITY_COMMAND:
		return self->name.n && str_ieq(command_target(text), self->name);
	case ENTITY_PERSON:
		return text.n && x->user == self->id;
	default:
		return false;
	}
}

static bool addressed(const struct telegram_self *self, const struct telegram_event *ev)
{
	if (ev->reply_to && ev->reply_to == self->id)
		return true;
	for (size_t i = 0; i < ev->entities_n; i++)
		if (means_us(self, ev, &ev->entities[i]))
			return true;
	return false;
}

/* The first word, when it is a command that names a bot. */
static bool for_other_bot(const struct telegram_self *self, str text)
{
	str rest = str_trim(text), word;
	size_t n = 0;

	while (n < rest.n && (unsigned char)rest.p[n] > ' ')
		n++;
	word = command_target(str_sub(rest, 0, n));
	return word.n && !str_ieq(word, self->name);
}

static bool pseudo_user(int64_t id)
{
	/* Channel_Bot, GroupAnonymousBot, Telegram: shared by many. */
	return id == 136817688 || id == 1087968824 || id == 777000;
}

static const struct telegram_group_cfg *group_of(const struct telegram_cfg *cfg, int64_t chat)
{
	const struct telegram_group_cfg *any = NULL;

	for (size_t i = 0; i < cfg->groups_n; i++) {
		if (!cfg->groups[i].any && cfg->groups[i].id == chat)
			return &cfg->groups[i];
		if (cfg->groups[i].any)
			any = &cfg->groups[i];
	}
	return any;
}

static bool on_list(const struct i64_list *list, int64_t id)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i] == id)
			return true;
	return false;
}

enum telegram_gate telegram_gate_user(const struct telegram_cfg *cfg,
				      const struct telegram_event *ev)
{
	const struct i64_list *list = &cfg->allow_from;

	if (ev->from <= 0 || pseudo_user(ev->from))
		return GATE_NO_SENDER;
	if (ev->from_bot)
		return GATE_BOT;
	if (ev->chat_type == CHAT_OTHER)
		return GATE_CHAT_TYPE;
	if (ev->chat_type == CHAT_GROUP) {
		const struct telegram_group_cfg *g = group_of(cfg, ev->chat);
		if (!g)
			return GATE_GROUP;
		if (g->allow_from.n)
			list = &g->allow_from;
	}
	return on_list(list, ev->from) ? GATE_PASS : GATE_USER;
}

/* Without the mention of the bot it begins with. */
static str without_mention(const struct telegram_self *self, const struct telegram_event *ev)
{
	for (size_t i = 0; i < ev->entities_n; i++) {
		const struct telegram_entity *x = &ev->entities[i];
		if (x->offset == 0 && x->kind != ENTITY_COMMAND && means_us(self, ev, x))
			return str_sub(ev->typed, entity_text(ev->typed, x).n, ev->typed.n);
	}
	return ev->typed;
}

enum telegram_gate telegram_gate_message(const struct telegram_cfg *cfg,
					 const struct telegram_self *self,
					 const struct telegram_event *ev, str *typed)
{
	enum telegram_gate g = telegram_gate_user(cfg, ev);
	str rest;

	if (g != GATE_PASS)
		return g;
	if (for_other_bot(self, ev->typed))
		return GATE_OTHER_BOT;
	if (ev->chat_type == CHAT_GROUP && group_of(cfg, ev->chat)->require_mention &&
	    !addressed(self, ev))
		return GATE_NOT_MENTIONED;
	rest = str_trim(without_mention(self, ev));
	if (!rest.n && !ev->quoted.n && ev->media == MEDIA_NONE)
		return GATE_EMPTY;
	if (for_other_bot(self, rest))
		return GATE_OTHER_BOT;
	*typed = rest;
	return GATE_PASS;
}

const char *telegram_gate_word(enum telegram_gate g)
{
	static const char *const words[] = {
		[GATE_PASS] = "pass",
		[GATE_NO_SENDER] = "no-sender",
		[GATE_BOT] = "bot",
		[GATE_CHAT_TYPE] = "chat-type",
		[GATE_GROUP] = "group-not-configured",
		[GATE_USER] = "user-not-allowed",
		[GATE_OTHER_BOT] = "for-another-bot",
		[GATE_NOT_MENTIONED] = "not-mentioned",
		[GATE_EMPTY] = "empty",
	};

	return words[g];
}
