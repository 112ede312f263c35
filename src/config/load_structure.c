/*
 * Options that are more than a value: policy rules, Telegram groups, cron jobs.  Like every
 * other option each may also come from a variable, then written as YAML's flow form.
 */
#include "config/load_internal.h"

#include <string.h>

#include "config/value.h"
#include "text/regex.h"
#include "sched/cron.h"

/* What a member of a map may be called. */
struct members {
	const char *names[10];
};

/* Every element must be a map of these members only. */
static bool check_members(struct loader *l, const struct input *in, const struct yaml *map,
			  const struct members *may)
{
	bool fine = true;

	if (map->kind != YAML_MAP) {
		config_refuse(l, in, map, NULL, "must be a map of names and values");
		return false;
	}
	for (const struct yaml *m = map->child; m; m = m->next) {
		size_t i = 0;

		while (may->names[i] && !str_eq(m->key, str_of(may->names[i])))
			i++;
		if (may->names[i])
			continue;
		config_refuse(l, in, m, arena_cstr(l->a, m->key), "unknown key");
		fine = false;
	}
	return fine;
}

static str member(const struct yaml *map, const char *key)
{
	const struct yaml *m = yaml_get(map, str_of(key));

	return m && m->kind == YAML_SCALAR && !m->null ? str_trim(m->text) : S("");
}

/* How a tree is written on one line. */
static void flow(struct buf *b, const struct yaml *y)
{
	if (y->kind == YAML_SCALAR) {
		buf_add(b, y->null ? S("null") : value_yaml(b->a, y->text));
		return;
	}
	buf_addc(b, y->kind == YAML_MAP ? '{' : '[');
	for (const struct yaml *m = y->child; m; m = m->next) {
		if (m != y->child)
			buf_add(b, S(", "));
		if (y->kind == YAML_MAP)
			buf_fmt(b, "%s: ", value_yaml(b->a, m->key).p);
		flow(b, m);
	}
	buf_addc(b, y->kind == YAML_MAP ? '}' : ']');
}

/* --- policy.rules ------------------------------------------------------------------- */

/* {NAME: PATTERN} */
static void rule_args(struct loader *l, const struct input *in, const struct yaml *map,
		      enum policy_verdict verdict, struct policy_rule *out)
{
	struct policy_arg *v = NEWN(l->keep, struct policy_arg, map->n + 1);
	struct err e;

	if (map->kind != YAML_MAP) {
		config_refuse(l, in, map, "args",
			      "must be a map of argument names and patterns");
		return;
	}
	for (const struct yaml *m = map->child; m; m = m->next) {
		str pattern = m->kind == YAML_SCALAR && !m->null ? m->text : S("");
		if (!pattern.n)
			config_refuse(l, in, m, "args",
				      "must be a map of argument names and patterns");
		else if (regex_check(pattern, verdict != VERDICT_ALLOW, &e) < 0)
			config_refuse(l, in, m, "args",
				      arena_fmt(l->a, "is no regular expression: %s", e.msg).p);
		v[out->args_n].name = arena_dup(l->keep, m->key);
		v[out->args_n++].pattern = arena_dup(l->keep, pattern);
	}
	out->args = v;
}

static void rules(struct loader *l, const struct option *o, const struct input *in,
		  const struct yaml *root)
{
	static const struct members may = { { "tool", "action", "args" } };
	struct policy_rule *out = NEWN(l->keep, struct policy_rule, root->n + 1);
	struct policy_cfg *cfg = (struct policy_cfg *)((char *)l->c + o->at);
	size_t n = 0;

	for (const struct yaml *r = root->child; r; r = r->next) {
		str tool = member(r, "tool"), word;
		const char *why;

		if (!check_members(l, in, r, &may))
			continue;
		if (!tool.n)
			config_refuse(l, in, r, "tool",
				      "must be a tool's name or a pattern with *");
		if ((why = value_word(l->a, member(r, "action"), "allow ask deny", &word))) {
			config_refuse(l, in, r, "action", why);
			continue;
		}
		out[n].tool = arena_dup(l->keep, tool);
		out[n].verdict = str_eq(word, S("allow")) ? VERDICT_ALLOW
				 : str_eq(word, S("ask")) ? VERDICT_ASK
							  : VERDICT_DENY;
		const struct yaml *args = yaml_get(r, S("args"));
		if (args && !args->null)
			rule_args(l, in, args, out[n].verdict, &out[n]);
		n++;
	}
	cfg->rules = out;
	cfg->n = n;
}

/* --- channels.telegram.groups ------------------------------------------------------- */

static void check_ids(struct loader *l, const struct input *in, const struct yaml *list)
{
	int64_t id;

	if (list->null)
		return;
	if (list->kind != YAML_LIST) {
		config_refuse(l, in, list, "allow_from", "must be a list of whole numbers");
		return;
	}
	for (const struct yaml *m = list->child; m; m = m->next)
		if (m->kind != YAML_SCALAR || !str_i64(str_trim(m->text), &id))
			config_refuse(l, in, m, "allow_from",
				      "must be a list of whole numbers");
}

/* An entry that passed the checks.  Who leaves require_mention out gets it. */
static struct telegram_group_cfg group(struct loader *l, const struct yaml *g)
{
	const struct yaml *list = yaml_get(g, S("allow_from"));
	struct telegram_group_cfg out = { .any = str_eq(g->key, S("*")),
					  .require_mention = true };
	int64_t *v;
	size_t n = 0;

	(void)str_i64(g->key, &out.id);
	(void)value_bool(member(g, "require_mention"), &out.require_mention);
	if (!list || list->kind != YAML_LIST)
		return out;
	v = NEWN(l->keep, int64_t, list->n + 1);
	for (const struct yaml *m = list->child; m; m = m->next)
		if (m->kind == YAML_SCALAR && str_i64(str_trim(m->text), &v[n]))
			n++;
	out.allow_from = (struct i64_list){ v, n };
	return out;
}

static void groups(struct loader *l, const struct input *in, const struct yaml *root)
{
	static const struct members may = { { "require_mention", "allow_from" } };
	struct telegram_group_cfg *out = NEWN(l->keep, struct telegram_group_cfg, root->n + 1);
	struct telegram_cfg *cfg = &l->c->telegram;
	const struct yaml *list;
	int64_t id;
	bool is;

	cfg->groups = out;
	cfg->groups_n = 0;
	for (const struct yaml *g = root->child; g; g = g->next) {
		str mention = member(g, "require_mention");

		if (!str_eq(g->key, S("*")) && !str_i64(g->key, &id))
			config_refuse(l, in, g, arena_cstr(l->a, g->key),
				      "a group is named by its numeric id, or * for all");
		else if (!str_eq(g->key, S("*")) && id > 0)
			config_refuse(l, in, g, arena_cstr(l->a, g->key),
				      "looks like a user's id; ids of groups are negative");
		if (!check_members(l, in, g, &may))
			continue;
		if (mention.n && value_bool(mention, &is))
			config_refuse(l, in, g, "require_mention", "must be true or false");
		if ((list = yaml_get(g, S("allow_from"))))
			check_ids(l, in, list);
		out[cfg->groups_n++] = group(l, g);
	}
}

bool config_groups_allow_someone(struct loader *l)
{
	str text = config_setting(l, "channels.telegram.groups")->text;
	const struct yaml *root = yaml_read(l->a, text, &l->unwanted);

	for (const struct yaml *g = root ? root->child : NULL; g; g = g->next) {
		const struct yaml *list = yaml_get(g, S("allow_from"));

		if (list && list->kind == YAML_LIST && list->n)
			return true;
	}
	return false;
}

/* --- cron.jobs ---------------------------------------------------------------------- */

static const char *check_schedule(struct loader *l, str s)
{
	struct cron c;
	struct err e = { 0 };

	return cron_parse(&c, s, &e) < 0 ? arena_cstr(l->a, str_of(e.msg)) : NULL;
}

static bool flag(const struct yaml *job, const char *key, bool def)
{
	bool is = def;

	return member(job, key).n && value_bool(member(job, key), &is) == NULL ? is : def;
}

static void check_job(struct loader *l, const struct input *in, const struct yaml *job)
{
	const struct yaml *to = yaml_get(job, S("deliver_to"));
	static const struct members to_may = { { "channel", "chat_id", "thread_id" } };
	static const char *const bools[] = { "enabled", "catch_up" };
	const char *why;
	int64_t ms;
	str word;
	bool is;

	if (!member(job, "name").n ||
	    memchr(member(job, "name").p, '\n', member(job, "name").n))
		config_refuse(l, in, job, "name", "must be set, and one line");
	if (str_has(member(job, "name"), S(":run-")))
		config_refuse(l, in, job, "name",
			      "must not hold \":run-\": sessions of single runs are called so");
	if (!member(job, "prompt").n)
		config_refuse(l, in, job, "prompt", "must be set");
	if ((why = check_schedule(l, member(job, "schedule"))))
		config_refuse(l, in, job, "schedule", why);
	if ((why = value_word(l->a, member(job, "session"), "persistent ephemeral", &word)))
		config_refuse(l, in, job, "session", why);
	if ((why = value_ms(l->a, member(job, "timeout"), 1, 24 * 3600 * 1000, &ms)))
		config_refuse(l, in, job, "timeout", why);
	for (size_t i = 0; i < COUNT(bools); i++)
		if (member(job, bools[i]).n && (why = value_bool(member(job, bools[i]), &is)))
			config_refuse(l, in, job, bools[i], why);
	if (to && !to->null)
		(void)check_members(l, in, to, &to_may);
}

/* What is wrong with it was said; what is left is never used then. */
static void take_job(struct loader *l, const struct yaml *job, struct cron_job_cfg *out)
{
	const struct yaml *to = yaml_get(job, S("deliver_to"));
	str thread = to ? member(to, "thread_id") : S("");

	*out = (struct cron_job_cfg){
		.name = arena_dup(l->keep, member(job, "name")),
		.schedule = arena_dup(l->keep, member(job, "schedule")),
		.prompt = arena_dup(l->keep, member(job, "prompt")),
		.ephemeral = str_eq(member(job, "session"), S("ephemeral")),
		.enabled = flag(job, "enabled", true),
		.catch_up = flag(job, "catch_up", false),
	};
	(void)value_ms(l->a, member(job, "timeout"), 1, 24 * 3600 * 1000, &out->timeout_ms);
	if (!to || to->null)
		return;
	out->to_channel = arena_dup(l->keep, member(to, "channel"));
	out->to_address = thread.n ? arena_fmt(l->keep, "%.*s:%.*s",
					       STRF(member(to, "chat_id")), STRF(thread))
				   : arena_dup(l->keep, member(to, "chat_id"));
}

static void jobs(struct loader *l, const struct option *o, const struct input *in,
		 const struct yaml *root)
{
	struct cron_job_list *list = (struct cron_job_list *)((char *)l->c + o->at);
	struct cron_job_cfg *out = NEWN(l->keep, struct cron_job_cfg, root->n + 1);
	size_t n = 0;
	static const struct members may = { { "name", "schedule", "prompt", "enabled",
					      "session", "timeout", "deliver_to",
					      "catch_up" } };

	for (const struct yaml *job = root->child; job; job = job->next) {
		if (!check_members(l, in, job, &may))
			continue;
		check_job(l, in, job);
		take_job(l, job, &out[n++]);
		for (const struct yaml *k = root->child; k != job; k = k->next)
			if (member(job, "name").n &&
			    str_eq(member(k, "name"), member(job, "name")))
				config_refuse(l, in, job, "name", "another job has this name");
	}
	*list = (struct cron_job_list){ .v = out, .n = n };
}

/* May the bot write to that chat?  Its user, or its group by id. */
static bool reachable(struct loader *l, str chat)
{
	str text = config_setting(l, "channels.telegram.groups")->text;
	const struct yaml *root = yaml_read(l->a, text, &l->unwanted);
	int64_t id;

	if (!str_i64(chat, &id))
		return false;
	for (size_t i = 0; i < l->c->telegram.allow_from.n; i++)
		if (l->c->telegram.allow_from.v[i] == id)
			return true;
	return yaml_get(root, chat) != NULL;
}

static void check_delivery(struct loader *l, const struct input *in, const struct yaml *job)
{
	const struct yaml *to = yaml_get(job, S("deliver_to"));

	if (!to || to->null || !flag(job, "enabled", true))
		return;
	if (!member(to, "channel").n || !member(to, "chat_id").n)
		config_refuse(l, in, to, "deliver_to", "needs channel and chat_id");
	else if (!str_eq(member(to, "channel"), S("telegram")))
		config_refuse(l, in, to, "deliver_to", "the channel must be telegram");
	else if (!l->c->telegram.enabled)
		config_refuse(l, in, to, "deliver_to", "Telegram is not enabled");
	else if (!reachable(l, member(to, "chat_id")))
		config_refuse(
			l, in, to, "deliver_to",
			"the chat is neither in channels.telegram.allow_from nor a key of "
			"channels.telegram.groups");
}

void config_check_jobs(struct loader *l)
{
	size_t row = option_find(S("cron.jobs"));
	const struct yaml *section = yaml_get(l->file, S("cron"));
	struct input in = { .node = yaml_get(section, S("jobs")), .name = S("cron.jobs") };
	const struct yaml *root = in.node;

	if (!str_eq(config_setting(l, "cron.enabled")->text, S("true")))
		return;
	if (str_starts(l->set[row].from, S("env "))) {
		in = (struct input){ .name = str_sub(l->set[row].from, 4, SIZE_MAX) };
		root = yaml_read(l->a, l->set[row].text, &l->unwanted);
	}
	if (!root || root->kind != YAML_LIST)
		return;
	for (const struct yaml *job = root->child; job; job = job->next)
		if (job->kind == YAML_MAP)
			check_delivery(l, &in, job);
}

/* --- all of them -------------------------------------------------------------------- */

str config_structure(struct loader *l, const struct option *o, const struct input *in)
{
	enum yaml_kind kind = o->type == OPT_GROUPS ? YAML_MAP : YAML_LIST;
	const struct yaml *root = in->node;
	struct buf shown = buf_in(l->keep, 1 << 20);
	struct problems inner;

	if (!root) {
		problems_init(&inner, l->a, S(""));
		root = yaml_read(l->a, in->text, &inner);
		if (inner.n)
			root = NULL;
	}
	if (!root || root->kind != kind) {
		problem_add(l->p, in->node, in->name, "must be a %s",
			    kind == YAML_MAP ? "map" : "list of maps");
		return S("");
	}
	if (o->type == OPT_RULES)
		rules(l, o, in, root);
	else if (o->type == OPT_GROUPS)
		groups(l, in, root);
	else if (o->type == OPT_PRICES)
		config_take_prices(l, o, in, root);
	else
		jobs(l, o, in, root);
	flow(&shown, root);
	return buf_str(&shown);
}
