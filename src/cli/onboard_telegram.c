/*
 * Onboarding: Telegram.  The owner proves to be the owner by sending a code that only this
 * terminal shows, so that a stranger who writes to the bot first is not taken for them.
 */
#include "cli/onboard.h"

#include "chan/telegram_api.h"
#include "os/clock.h"
#include "text/text.h"

#define WAIT_MS 180000
#define POLL_S 2
#define CODE_DIGITS 1000000
#define GUESSES_MAX 20 /* messages without the code before we stop listening */
#define SHOWN_MAX 5

/* One wait for the owner. */
struct listening {
	struct onboard *o;
	struct telegram_api api;
	int64_t offset;
	str code;
	int others;
	int64_t id; /* who sent the code; 0 nobody yet */
	str who;
};

static str name_of(struct arena *a, const struct json *from)
{
	str first = json_str(from, "first_name"), last = json_str(from, "last_name");
	str user = json_str(from, "username");
	str name = arena_fmt(a, "%.*s%s%.*s", STRF(first), last.n ? " " : "", STRF(last));

	name = text_line(a, name, 40);
	if (user.n)
		name = arena_fmt(a, "%.*s (@%.*s)", STRF(name), STRF(text_line(a, user, 33)));
	return name;
}

static struct telegram_api api_of(struct onboard *o)
{
	return (struct telegram_api){
		.pool = o->pool,
		.base_url = o->telegram_api.n ? o->telegram_api : S(TELEGRAM_BASE_URL),
		.token = onboard_secret_value(o, &o->token),
	};
}

static struct telegram_reply call(struct onboard *o, const struct telegram_api *api,
				  const char *method, str params)
{
	struct telegram_call c = { .method = method, .params = params, .timeout_ms = 20000 };
	struct telegram_reply r;

	telegram_api_call(api, &c, o->a, &r, o->leave);
	return r;
}

/* --- the token ---------------------------------------------------------------------- */

/* It did not say who it is.  OK: go on, with what was changed: the token, or without Telegram. */
static int mend(struct onboard *o, const struct telegram_reply *r, struct err *e)
{
	bool token = r->end == TELEGRAM_TOKEN;
	str answer;
	int rc;

	if (r->canceled)
		return err_set(e, E_CANCELED, "interrupted");
	if (o->ask.automatic)
		return err_set(e, E_IO, "Telegram: %s%.*s; --no-check leaves this out",
			       token ? "it does not know this token: " : "", STRF(r->error));
	ask_say(&o->ask, "  ! %s%.*s",
		token ? "Telegram does not know this token: " : "Telegram: ",
		STRF(text_line(o->a, r->error, 200)));
	for (;;) {
		rc = ask_line(&o->ask, "again, another token, or none (no Telegram)",
			      token ? S("token") : S("again"), &answer, e);
		if (rc != OK)
			return rc;
		if (str_ieq(answer, S("again")))
			return OK;
		if (str_ieq(answer, S("none"))) {
			o->telegram = false;
			return OK;
		}
		if (str_ieq(answer, S("token")))
			return onboard_secret(o, &o->token, "Bot token", NULL, e);
		if ((rc = ask_again(&o->ask, e, "say again, token or none")) < 0)
			return rc;
	}
}

/* The bot's name; *bot "" when it was not asked for. */
static int meet(struct onboard *o, str *bot, struct err *e)
{
	*bot = S("");
	while (o->telegram && !o->flags.no_check) {
		struct telegram_api api = api_of(o);
		struct telegram_reply r = call(o, &api, "getMe", S(""));
		int rc;
		if (r.end == TELEGRAM_OK && !telegram_names_bot(r.result)) {
			r.end = TELEGRAM_UNKNOWN;
			r.error = S("the answer of getMe names no bot");
		}
		if (r.end == TELEGRAM_OK) {
			*bot = text_line(o->a, json_str(r.result, "username"), 64);
			ask_say(&o->ask, "This is @%.*s.", STRF(*bot));
			return OK;
		}
		if ((rc = mend(o, &r, e)) != OK)
			return rc;
	}
	return OK;
}

/* --- the owner ---------------------------------------------------------------------- */

static bool has_code(const struct listening *l, const struct json *message)
{
	str text = str_trim(json_str(message, "text"));

	if (str_starts(text, S("/start ")))
		text = str_trim(str_sub(text, 7, text.n));
	return str_eq(text, l->code);
}

static void hear(struct listening *l, const struct json *message)
{
	const struct json *from = json_get(message, "from"), *chat = json_get(message, "chat");
	int64_t id = json_i64(from, "id", 0);

	if (!str_eq(json_str(chat, "type"), S("private")) || json_bool(from, "is_bot", false) ||
	    id <= 0)
		return;
	if (has_code(l, message)) {
		l->id = id;
		l->who = name_of(l->o->a, from);
		return;
	}
	if (l->others++ < SHOWN_MAX)
		ask_say(&l->o->ask, "  (%s, id %lld, wrote without the code: not you)",
			name_of(l->o->a, from).p, (long long)id);
}

/* What waits with Telegram is taken by listening: another program of this bot would miss it. */
static int may_listen(struct listening *l, bool *yes, struct err *e)
{
	struct telegram_reply r = call(l->o, &l->api, "getWebhookInfo", S(""));
	int64_t waiting = json_i64(r.result, "pending_update_count", 0);

	*yes = true;
	if (r.canceled)
		return err_set(e, E_CANCELED, "interrupted");
	if (r.end != TELEGRAM_OK || waiting <= 0)
		return OK;
	ask_say(&l->o->ask,
		"  ! %lld update%s at this bot. Listening for a code takes what waits, and no "
		"program gets it any more.",
		(long long)waiting, waiting == 1 ? " waits" : "s wait");
	return ask_yes(&l->o->ask, "Take it?", false, yes, e);
}

/* One poll; what it brought is confirmed by the next one, but for the code's, by another right
 * after it.  1: it cannot be done. */
static int poll_once(struct listening *l, int seconds, struct err *e)
{
	str params = arena_fmt(l->o->a,
			       "{\"offset\":%lld,\"timeout\":%d,\"limit\":50,"
			       "\"allowed_updates\":[\"message\",\"callback_query\"]}",
			       (long long)l->offset, seconds);
	struct telegram_reply r = call(l->o, &l->api, "getUpdates", params);

	if (r.canceled)
		return err_set(e, E_CANCELED, "interrupted");
	if (r.end == TELEGRAM_RIVAL || r.end == TELEGRAM_WEBHOOK) {
		ask_say(&l->o->ask, "  ! %s",
			r.end == TELEGRAM_RIVAL
				? "another program polls this bot: stop it first"
				: "a webhook takes this bot's messages");
		return 1;
	}
	if (r.end != TELEGRAM_OK) {
		ask_say(&l->o->ask, "  ! Telegram: %.*s",
			STRF(text_line(l->o->a, r.error, 200)));
		return 1;
	}
	for (const struct json *u = r.result ? r.result->child : NULL; u; u = u->next) {
		int64_t id = json_i64(u, "update_id", -1);
		if (id >= 0 && id < INT64_MAX)
			l->offset = id + 1;
		if (!l->id && json_get(u, "message"))
			hear(l, json_get(u, "message"));
	}
	return OK;
}

/* Until the code came; l->id stays 0 when it did not. */
static int listen(struct listening *l, struct err *e)
{
	int64_t until = clock_mono_ms() + WAIT_MS;
	int rc;

	while (!l->id && l->others < GUESSES_MAX && clock_mono_ms() < until) {
		if ((rc = poll_once(l, POLL_S, e)) != OK)
			return rc < 0 ? rc : OK;
		if (!l->id && ask_interrupted(&l->o->ask))
			return OK;
	}
	/* The code is no message for the agent. */
	return l->id && (rc = poll_once(l, 0, e)) < 0 ? rc : OK;
}

static str new_code(struct arena *a)
{
	uint32_t n;

	random_bytes(&n, sizeof n);
	return arena_fmt(a, "%06u", n % CODE_DIGITS);
}

/* o->owner is set when the person said yes. */
static int capture(struct onboard *o, str bot, struct err *e)
{
	struct listening l = { .o = o, .api = api_of(o) };
	bool yes = false;
	int rc = may_listen(&l, &yes, e);

	if (rc != OK || !yes)
		return rc;
	yes = false;
	l.code = new_code(o->a);
	ask_say(&o->ask,
		"\nThe bot answers nobody but you. Open https://t.me/%.*s?start=%s and press "
		"Start,\nor send it this code: %s   (Enter: type your numeric id instead)",
		STRF(bot), l.code.p, l.code.p);
	if ((rc = listen(&l, e)) < 0 || !l.id)
		return rc;
	ask_say(&o->ask, "The code came from id %lld, who is called: %s", (long long)l.id,
		l.who.p);
	rc = ask_yes(&o->ask, "Is that you?", true, &yes, e);
	if (rc == OK && yes)
		o->owner = l.id;
	return rc;
}

static int owner_by_hand(struct onboard *o, struct err *e)
{
	str answer, def = str_of(o->flags.telegram_id);
	int64_t id;
	int rc;

	if (o->owner)
		def = arena_fmt(o->a, "%lld", (long long)o->owner);
	ask_note(&o->ask, "@userinfobot in Telegram tells your numeric id; \"none\" is "
			  "no Telegram.");
	for (;;) {
		if ((rc = ask_line(&o->ask, "Your numeric Telegram id", def, &answer, e)) != OK)
			return rc;
		if (str_ieq(answer, S("none"))) {
			o->telegram = false;
			return OK;
		}
		if (str_i64(answer, &id) && id > 0) {
			o->owner = id;
			return OK;
		}
		if ((rc = ask_again(&o->ask, e,
				    "--telegram-id: a person's id is a number above zero, such "
				    "as 123456789")) < 0)
			return rc;
	}
}

/* --- the step ----------------------------------------------------------------------- */

static bool wanted(const struct onboard *o)
{
	const struct onboard_flags *f = &o->flags;

	if (o->telegram_known)
		return o->telegram;
	if (o->ask.automatic)
		return f->telegram_id || f->telegram_env || f->telegram_file;
	return true;
}

int onboard_telegram(struct onboard *o, struct err *e)
{
	bool known = o->owner > 0;
	str bot;
	int rc;

	o->token.env =
		str_of(o->flags.telegram_env ? o->flags.telegram_env : "TELEGRAM_BOT_TOKEN");
	o->token.over = S("GANTRY_CHANNELS_TELEGRAM_TOKEN");
	ask_note(&o->ask, "%s", "");
	rc = ask_yes(&o->ask, "Talk to it over Telegram? (The terminal works in any case.)",
		     wanted(o), &o->telegram, e);
	if (rc != OK)
		return rc;
	o->telegram_known = true;
	if (!o->telegram)
		return OK;
	if (!o->token.typed.n)
		ask_note(&o->ask,
			 "A bot is made in Telegram: write /newbot to @BotFather, which "
			 "answers with a token.");
	if (!o->token.typed.n &&
	    (rc = onboard_secret(o, &o->token, "Bot token", o->flags.telegram_file, e)) != OK)
		return rc;
	if ((rc = meet(o, &bot, e)) != OK || !o->telegram)
		return rc;
	if (!known && bot.n && !o->ask.automatic && !o->flags.telegram_id &&
	    (rc = capture(o, bot, e)) != OK)
		return rc;
	return o->owner && !known ? OK : owner_by_hand(o, e);
}
