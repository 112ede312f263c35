/*
 * The rows about the Telegram bot.  Nothing is polled: that would end the poll of a daemon that
 * runs with the same token.
 */
#include "cli/doctor.h"

#include "chan/telegram_api.h"
#include "gateway/health.h"
#include "store/health.h"

#define CALL_MS 15000

static bool off(struct doctor *d)
{
	bool on = d->cfg->telegram.enabled && str_eq(d->cfg->gateway.channel, S("telegram"));

	if (!on)
		doctor_say(d, DOCTOR_SKIP, NULL, "Telegram is not the channel");
	return !on;
}

static struct telegram_reply call(struct doctor *d, const char *method)
{
	const struct telegram_cfg *t = &d->cfg->telegram;
	const struct telegram_api api = {
		d->pool, t->api_base_url.n ? t->api_base_url : S(TELEGRAM_BASE_URL), t->token
	};
	struct telegram_reply r;

	telegram_api_call(&api,
			  &(struct telegram_call){ .method = method, .timeout_ms = CALL_MS },
			  d->a, &r, d->c);
	return r;
}

void doctor_token(struct doctor *d)
{
	if (off(d))
		return;
	if (!d->cfg->telegram.token.n)
		doctor_say(d, DOCTOR_FAIL,
			   "ask @BotFather for one, and put it where the configuration says",
			   "the bot token is not set");
	else
		doctor_say(d, DOCTOR_OK, NULL, "the bot token is set");
}

void doctor_bot(struct doctor *d)
{
	if (off(d))
		return;
	if (!d->cfg->telegram.token.n) {
		doctor_say(d, DOCTOR_SKIP, NULL, "there is no token");
		return;
	}
	struct telegram_reply r = call(d, "getMe");
	if (r.end == TELEGRAM_OK && !telegram_names_bot(r.result)) {
		r.end = TELEGRAM_UNKNOWN;
		r.error = S("the answer of getMe names no bot");
	}
	d->bot = r.end == TELEGRAM_OK;
	if (d->bot)
		doctor_say(
			d, DOCTOR_OK, NULL, "@%.*s answers%s",
			STRF(json_str(r.result, "username")),
			json_bool(r.result, "can_read_all_group_messages", false)
				? ""
				: "; in groups it sees what is addressed to it (privacy mode)");
	else if (r.end == TELEGRAM_TOKEN)
		doctor_say(d, DOCTOR_FAIL, "ask @BotFather for a new token", "%.*s",
			   STRF(r.error));
	else if (!r.canceled)
		doctor_say(d, DOCTOR_FAIL, "check the network, the proxy and api_base_url",
			   "%.*s", STRF(r.error));
}

/* A rival is known by what a daemon of ours was told. */
static str trouble(struct doctor *d)
{
	struct store_health h;

	if (!d->held || !d->store || store_health_get(d->store, d->a, &h, NULL) < 0)
		return S("");
	for (size_t i = 0; i < h.n; i++)
		if (str_eq(h.beats[i].part, S(PART_HEARD)))
			return h.beats[i].trouble;
	return S("");
}

void doctor_webhook(struct doctor *d)
{
	if (off(d))
		return;
	if (!d->bot) {
		doctor_say(d, DOCTOR_SKIP, NULL, "the bot does not answer");
		return;
	}
	struct telegram_reply r = call(d, "getWebhookInfo");
	str url = json_str(r.result, "url"), why = trouble(d);
	if (r.canceled)
		return;
	size_t at = str_find(url, S("://"));
	str host = at == SIZE_MAX ? url : str_sub(url, at + 3, url.n);
	host = str_cut(&host, '/');
	if (r.end != TELEGRAM_OK)
		doctor_say(d, DOCTOR_WARN, NULL, "%.*s", STRF(r.error));
	else if (url.n)
		doctor_say(d, DOCTOR_WARN,
			   "gantry run removes it at its start; whoever set it must not set it "
			   "again",
			   "a webhook is set: messages go to %.*s", STRF(host));
	else if (why.n)
		doctor_say(d, DOCTOR_WARN, NULL, "the daemon's poll: %.*s", STRF(why));
	else
		doctor_say(d, DOCTOR_OK, NULL, "none is set; %lld messages wait",
			   (long long)json_i64(r.result, "pending_update_count", 0));
}

void doctor_allowed(struct doctor *d)
{
	const struct telegram_cfg *t = &d->cfg->telegram;
	size_t odd = 0;

	if (off(d))
		return;
	for (size_t i = 0; i < t->allow_from.n; i++)
		odd += t->allow_from.v[i] <= 0;
	if (!t->allow_from.n && !t->groups_n)
		doctor_say(d, DOCTOR_FAIL, "add your own id; @userinfobot tells it",
			   "the allow-list is empty: nobody is answered");
	else if (odd)
		doctor_say(d, DOCTOR_WARN,
			   "an id of a person is positive; groups belong to "
			   "channels.telegram.groups",
			   "%zu of %zu ids are no person's", odd, t->allow_from.n);
	else
		doctor_say(d, DOCTOR_OK, NULL, "%zu people, %zu groups", t->allow_from.n,
			   t->groups_n);
}
