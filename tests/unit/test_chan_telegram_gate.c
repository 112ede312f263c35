/*
 * Who may talk to the bot: the rules for direct messages and groups, in both modes of
 * configuration, on updates as Telegram sends them.
 */
#include "chan/telegram_gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct telegram_self self = { 4242, { "MyBot", 5 } };

/* Lists by name, so that a row says which one it is about. */
static const int64_t ids_111[] = { 111, INT64_C(5000000000), 1 }, ids_222[] = { 222 };

enum mode {
	FILE_MODE, /* groups {"*": require_mention true} */
	ENV_MODE, /* groups {"*": require_mention false} */
	ONE_GROUP, /* groups {-1001: defaults} */
	OWN_LIST, /* groups {-1001: no mention, allow_from 222} */
	NO_GROUPS,
	USER_LIKE, /* groups {1001: no mention} */
	NOBODY, /* no list anywhere */
};

static struct telegram_cfg config(enum mode mode, struct telegram_group_cfg *g)
{
	struct telegram_cfg cfg = { .allow_from = { ids_111, 3 }, .groups = g, .groups_n = 1 };

	*g = (struct telegram_group_cfg){ .require_mention = true };
	switch (mode) {
	case FILE_MODE:
	case ENV_MODE:
		g->any = true;
		g->require_mention = mode == FILE_MODE;
		break;
	case ONE_GROUP:
		g->id = -1001;
		break;
	case OWN_LIST:
		*g = (struct telegram_group_cfg){ .id = -1001, .allow_from = { ids_222, 1 } };
		break;
	case USER_LIKE:
		*g = (struct telegram_group_cfg){ .id = 1001 };
		break;
	case NO_GROUPS:
		cfg.groups_n = 0;
		break;
	case NOBODY:
		g->any = true;
		cfg.allow_from.n = 0;
		break;
	}
	return cfg;
}

#define FROM                                                                                   \
	"\"from\":{\"id\":111,\"is_bot\":false,\"first_name\":\"A\",\"username\":\"alice\"}"
#define OTHER "\"from\":{\"id\":222,\"is_bot\":false,\"first_name\":\"B\"}"
#define BOT "\"from\":{\"id\":1087968824,\"is_bot\":true,\"first_name\":\"Group\"}"
#define DM "\"chat\":{\"id\":111,\"type\":\"private\"}"
#define GROUP "\"chat\":{\"id\":-1001,\"type\":\"supergroup\",\"title\":\"G\"}"
#define OLD "\"chat\":{\"id\":-1001,\"type\":\"group\",\"title\":\"G\"}"
#define WAVE "\xf0\x9f\x91\x8b"
#define FIRST_LONG "\xf0\x90\x80\x80" /* U+10000 */
#define AT(type, offset, length)                                                               \
	"{\"type\":\"" type "\",\"offset\":" #offset ",\"length\":" #length "}"
#define SAYS(text) "\"text\":\"" text "\""
#define MARKED(text, entity) SAYS(text) ",\"entities\":[" entity "]"
#define ONE_PHOTO "\"photo\":[{\"file_id\":\"f\",\"width\":1,\"height\":1}]"

static const struct {
	enum mode mode;
	const char *message; /* members of it */
	enum telegram_gate want;
	const char *typed; /* of one that passes; NULL: not looked at */
} cases[] = {
	{ FILE_MODE, FROM "," DM "," SAYS("hi"), GATE_PASS, "hi" },
	{ ENV_MODE, FROM "," DM "," SAYS("hi"), GATE_PASS, "hi" },
	{ FILE_MODE, OTHER "," DM "," SAYS("hi"), GATE_USER, NULL },
	{ ENV_MODE, OTHER "," DM "," SAYS("hi"), GATE_USER, NULL },
	{ NOBODY, FROM "," DM "," SAYS("hi"), GATE_USER, NULL },
	/* A name is no id: only the number counts. */
	{ FILE_MODE,
	  "\"from\":{\"id\":333,\"is_bot\":false,\"first_name\":\"111\",\"username\":\"111\"}"
	  "," DM "," SAYS("hi"),
	  GATE_USER, NULL },
	{ FILE_MODE,
	  "\"from\":{\"id\":111,\"is_bot\":false,\"first_name\":\"A\"}," DM "," SAYS("hi"),
	  GATE_PASS, "hi" },
	{ FILE_MODE,
	  "\"from\":{\"id\":5000000000,\"is_bot\":false,\"first_name\":\"A\"}," DM
	  "," SAYS("hi"),
	  GATE_PASS, "hi" },
	{ FILE_MODE,
	  "\"from\":{\"id\":5000000001,\"is_bot\":false,\"first_name\":\"A\"}," DM
	  "," SAYS("hi"),
	  GATE_USER, NULL },
	{ FILE_MODE,
	  "\"from\":{\"id\":111,\"is_bot\":true,\"first_name\":\"A\"}," DM "," SAYS("hi"),
	  GATE_BOT, NULL },
	/* Nobody to be held responsible. */
	{ FILE_MODE, DM "," SAYS("hi"), GATE_NO_SENDER, NULL },
	{ ENV_MODE, BOT "," GROUP "," SAYS("hi"), GATE_NO_SENDER, NULL },
	{ ENV_MODE, "\"from\":{\"id\":777000,\"is_bot\":false}," GROUP "," SAYS("hi"),
	  GATE_NO_SENDER, NULL },
	{ ENV_MODE, "\"from\":{\"id\":136817688,\"is_bot\":true}," GROUP "," SAYS("hi"),
	  GATE_NO_SENDER, NULL },
	{ ENV_MODE, FROM ",\"chat\":{\"id\":-1001,\"type\":\"channel\"}," SAYS("hi"),
	  GATE_CHAT_TYPE, NULL },
	{ ENV_MODE, FROM ",\"chat\":{\"id\":-1001}," SAYS("hi"), GATE_CHAT_TYPE, NULL },

	/* Which groups, and who in them. */
	{ NO_GROUPS, FROM "," GROUP "," SAYS("hi"), GATE_GROUP, NULL },
	{ ONE_GROUP, FROM ",\"chat\":{\"id\":-1002,\"type\":\"group\"}," SAYS("hi"), GATE_GROUP,
	  NULL },
	{ USER_LIKE, FROM "," GROUP "," SAYS("hi"), GATE_GROUP, NULL },
	{ OWN_LIST, OTHER "," GROUP "," SAYS("hi"), GATE_PASS, "hi" },
	{ OWN_LIST, FROM "," GROUP "," SAYS("hi"), GATE_USER, NULL },
	{ OWN_LIST, OTHER "," DM "," SAYS("hi"), GATE_USER, NULL },
	{ ENV_MODE, FROM "," GROUP "," SAYS("hi"), GATE_PASS, "hi" },
	{ ENV_MODE, OTHER "," GROUP "," SAYS("hi"), GATE_USER, NULL },
	{ NOBODY, FROM "," GROUP "," SAYS("hi"), GATE_USER, NULL },

	/* When a group means the bot. */
	{ FILE_MODE, FROM "," GROUP "," SAYS("hi"), GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," OLD "," SAYS("hi"), GATE_NOT_MENTIONED, NULL },
	{ ONE_GROUP, FROM "," GROUP "," SAYS("hi"), GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," GROUP "," MARKED("@mybot hi", AT("mention", 0, 6)), GATE_PASS,
	  "hi" },
	{ ENV_MODE, FROM "," GROUP "," MARKED("@mybot hi", AT("mention", 0, 6)), GATE_PASS,
	  "hi" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("hi @MYBOT you", AT("mention", 3, 6)), GATE_PASS,
	  "hi @MYBOT you" },
	/* An emoji is two units, an accent one. */
	{ FILE_MODE, FROM "," GROUP "," MARKED(WAVE " @mybot", AT("mention", 3, 6)), GATE_PASS,
	  WAVE " @mybot" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("\xc3\xa9 @mybot", AT("mention", 2, 6)),
	  GATE_PASS, "\xc3\xa9 @mybot" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("\xc3\xa9 @mybot", AT("mention", 3, 6)),
	  GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," GROUP "," MARKED(FIRST_LONG " @mybot", AT("mention", 3, 6)),
	  GATE_PASS, FIRST_LONG " @mybot" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("hi", AT("mention", 0, 100)), GATE_NOT_MENTIONED,
	  NULL },
	{ FILE_MODE, FROM "," GROUP "," MARKED("hi @mybot", AT("mention", 3, 100)), GATE_PASS,
	  "hi @mybot" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("hi", AT("mention", -5, 3)), GATE_NOT_MENTIONED,
	  NULL },
	{ FILE_MODE,
	  FROM "," GROUP
	       "," MARKED("hi", AT("mention", 9223372036854775807, 9223372036854775807)),
	  GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," GROUP "," MARKED("@mybot hi", AT("code", 0, 6)),
	  GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," GROUP "," MARKED("@mybot_helper hi", AT("mention", 0, 13)),
	  GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE,
	  FROM "," GROUP "," ONE_PHOTO ",\"caption\":\"what is this @MyBot\","
	       "\"caption_entities\":[" AT("mention", 13, 6) "]",
	  GATE_PASS, "what is this @MyBot" },
	{ FILE_MODE,
	  FROM "," GROUP
	       "," SAYS("you") ",\"entities\":[{\"type\":\"text_mention\",\"offset\":0,"
			       "\"length\":3,\"user\":{\"id\":4242}}]",
	  GATE_EMPTY, NULL },
	{ FILE_MODE,
	  FROM "," GROUP
	       "," SAYS("y hi") ",\"entities\":[{\"type\":\"text_mention\",\"offset\":0,"
				"\"length\":1,\"user\":{\"id\":4242}}]",
	  GATE_PASS, "hi" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("@mybot hi", AT("mention", -2, 8)),
	  GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," GROUP "," MARKED("@mybot", AT("mention", 0, 6)), GATE_EMPTY,
	  NULL },
	{ FILE_MODE,
	  FROM "," GROUP "," SAYS("yes") ",\"reply_to_message\":{\"message_id\":1,\"from\":"
					 "{\"id\":4242,\"is_bot\":true,\"first_name\":"
					 "\"MyBot\"},\"text\":\"really?\"}",
	  GATE_PASS, "yes" },
	{ FILE_MODE,
	  FROM "," GROUP "," SAYS("yes") ",\"reply_to_message\":{\"message_id\":1," OTHER
					 ",\"text\":\"really?\"}",
	  GATE_NOT_MENTIONED, NULL },
	/* A mention that somebody else wrote. */
	{ FILE_MODE,
	  FROM "," GROUP "," MARKED(
		  "@mybot hi", AT("mention", 0, 6)) ",\"forward_origin\":{\"type\":\"hidden_"
						    "user\",\"sender_user_name\":\"X\"}",
	  GATE_NOT_MENTIONED, NULL },

	/* Commands. */
	{ FILE_MODE, FROM "," GROUP "," MARKED("/status@mybot", AT("bot_command", 0, 13)),
	  GATE_PASS, "/status@mybot" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("/status", AT("bot_command", 0, 7)),
	  GATE_NOT_MENTIONED, NULL },
	{ ENV_MODE, FROM "," GROUP "," MARKED("/status", AT("bot_command", 0, 7)), GATE_PASS,
	  "/status" },
	{ ENV_MODE, FROM "," GROUP "," MARKED("/new@other_bot", AT("bot_command", 0, 14)),
	  GATE_OTHER_BOT, NULL },
	{ ENV_MODE, FROM "," GROUP "," SAYS("/new@other_bot please"), GATE_OTHER_BOT, NULL },
	{ FILE_MODE, FROM "," DM "," SAYS("/new@other_bot"), GATE_OTHER_BOT, NULL },
	{ FILE_MODE, FROM "," DM "," SAYS("/new@AZ_az09_bot"), GATE_OTHER_BOT, NULL },
	{ FILE_MODE,
	  "\"from\":{\"id\":1,\"is_bot\":false,\"first_name\":\"A\"}," DM "," SAYS("hi"),
	  GATE_PASS, "hi" },
	{ FILE_MODE, FROM "," DM "," SAYS("/new@a@b"), GATE_PASS, "/new@a@b" },
	{ FILE_MODE, FROM "," DM "," SAYS("/new@a`b"), GATE_PASS, "/new@a`b" },
	{ FILE_MODE, FROM "," DM "," SAYS("/-new@other"), GATE_PASS, "/-new@other" },
	{ FILE_MODE, FROM "," DM "," SAYS("/@other"), GATE_PASS, "/@other" },
	{ FILE_MODE, FROM "," DM "," SAYS("/n@other"), GATE_OTHER_BOT, NULL },
	/* Another one's name of the same length. */
	{ FILE_MODE, FROM "," GROUP "," MARKED("@MyBox hi", AT("mention", 0, 6)),
	  GATE_NOT_MENTIONED, NULL },
	{ FILE_MODE, FROM "," DM "," SAYS("/home/me@host is full"), GATE_PASS,
	  "/home/me@host is full" },
	{ FILE_MODE, FROM "," DM "," SAYS("/NEW@MYBOT"), GATE_PASS, "/NEW@MYBOT" },
	{ FILE_MODE, FROM "," GROUP "," MARKED("@mybot /stop", AT("mention", 0, 6)), GATE_PASS,
	  "/stop" },

	/* Nothing typed, but something to look at. */
	{ FILE_MODE, FROM "," DM "," ONE_PHOTO, GATE_PASS, "" },
	{ ENV_MODE, FROM "," GROUP ",\"location\":{\"latitude\":1,\"longitude\":2}", GATE_PASS,
	  "" },
};

static enum telegram_gate judge(size_t i, struct arena *a, str *typed)
{
	struct telegram_group_cfg group;
	struct telegram_cfg cfg = config(cases[i].mode, &group);
	struct telegram_event ev;
	struct json *v;
	str text =
		arena_fmt(a, "{\"update_id\":1,\"message\":{\"message_id\":5,\"date\":1,%s}}",
			  cases[i].message);

	if (json_read(&v, a, text, NULL) < 0)
		fail_msg("case %zu is not JSON: %s", i, text.p);
	telegram_update_read(v, self.id, a, &ev);
	assert_int_equal(ev.kind, TELEGRAM_MESSAGE);
	return telegram_gate_message(&cfg, &self, &ev, typed);
}

static void each_message_is_let_in_or_refused_for_its_reason(void **state)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str typed = S("(unset)");
		enum telegram_gate got = judge(i, &a, &typed);

		if (got != cases[i].want)
			fail_msg("case %zu %s: %s, not %s", i, cases[i].message,
				 telegram_gate_word(got), telegram_gate_word(cases[i].want));
		if (cases[i].typed && !str_eq(typed, str_of(cases[i].typed)))
			fail_msg("case %zu: typed is \"%.*s\"", i, STRF(typed));
	}
}

static void a_press_is_judged_by_the_same_lists(void **state)
{
	static const struct {
		enum mode mode;
		int64_t from, chat;
		enum telegram_chat type;
		enum telegram_gate want;
	} rows[] = {
		{ FILE_MODE, 111, 111, CHAT_PRIVATE, GATE_PASS },
		{ FILE_MODE, 999, 111, CHAT_PRIVATE, GATE_USER },
		{ FILE_MODE, 111, -1001, CHAT_GROUP, GATE_PASS },
		{ OWN_LIST, 111, -1001, CHAT_GROUP, GATE_USER },
		{ OWN_LIST, 222, -1001, CHAT_GROUP, GATE_PASS },
		{ FILE_MODE, 0, 111, CHAT_PRIVATE, GATE_NO_SENDER },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct telegram_group_cfg group;
		struct telegram_cfg cfg = config(rows[i].mode, &group);
		struct telegram_event ev = { .from = rows[i].from,
					     .chat = rows[i].chat,
					     .chat_type = rows[i].type };
		assert_int_equal(telegram_gate_user(&cfg, &ev), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_is_let_in_or_refused_for_its_reason),
		cmocka_unit_test(a_press_is_judged_by_the_same_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
