/*
 * gantry policy: which rules are in force, and what they say about a command or a call.  The
 * verdict comes from the function that the gate asks; nothing is run, and neither the database
 * nor a tool server is touched.
 */
#include "cli/cli.h"

#include "config/options.h"
#include "policy/builtin.h"
#include "policy/policy.h"
#include "text/json.h"
#include "text/text.h"
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

#define OUT_MAX ((size_t)16 << 20)

/* --- test ----------------------------------------------------------------------------- */

static void print_json(struct buf *b, str what, const struct policy_decision *d)
{
	buf_addc(b, '{');
	buf_json_member(b, "verdict", str_of(policy_word(d->verdict)));
	buf_json_member(b, "rule", d->rule);
	buf_json_member(b, "reason", d->reason);
	buf_json_member(b, "asks",
			d->verdict != VERDICT_ASK ? S("")
			: d->classify             ? S("classifier")
						  : S("person"));
	buf_json_member(b, "command", what);
	buf_json_key(b, "commands");
	buf_addc(b, '[');
	for (size_t i = 0; i < d->parts_n; i++) {
		const struct policy_part *p = &d->parts[i];
		buf_add(b, i ? S(",{") : S("{"));
		buf_json_member(b, "command", p->command);
		buf_json_member_i64(b, "depth", p->depth);
		buf_json_member(b, "verdict", str_of(policy_word(p->verdict)));
		buf_json_member(b, "rule", p->rule);
		buf_json_member(b, "reason", p->reason);
		buf_addc(b, '}');
	}
	buf_add(b, S("]}\n"));
}

static void print_text(struct buf *b, struct arena *a, const struct policy_decision *d)
{
	buf_fmt(b, "%s: %.*s\n", policy_word(d->verdict), STRF(d->reason));
	if (d->rule.n)
		buf_fmt(b, "rule: %.*s\n", STRF(d->rule));
	if (d->verdict == VERDICT_ASK)
		buf_fmt(b, "asks: %s\n",
			d->classify ? "the classifier, then a person" : "a person");
	for (size_t i = 0; i < d->parts_n; i++) {
		const struct policy_part *p = &d->parts[i];
		buf_fmt(b, "  %-5s %*s%.*s\n", policy_word(p->verdict), (int)p->depth * 2, "",
			STRF(text_line(a, p->command, 200)));
		buf_fmt(b, "        %*s%.*s%s%.*s%s\n", (int)p->depth * 2, "", STRF(p->reason),
			p->rule.n ? " (" : "", STRF(p->rule), p->rule.n ? ")" : "");
	}
}

static int test(struct cli *cli, const struct config *cfg, const struct policy_call *call,
		str what, bool json)
{
	const struct tools_opt opt = {
		.fs = &cfg->fs,
		.exec = &cfg->exec,
		.policy = &cfg->policy,
		.workspace = cfg->agent.workspace,
		.home = env_get(&cli->env, "HOME"),
	};
	struct buf b = buf_in(cli->a, OUT_MAX);
	struct policy_decision d;
	struct policy *p;
	struct err e = { 0 };

	if (tools_policy(&p, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	policy_judge(p, call, cli->a, &d);
	if (json)
		print_json(&b, what, &d);
	else
		print_text(&b, cli->a, &d);
	policy_close(p);
	if (json)
		(void)fwrite(b.p, 1, b.n, stdout);
	else
		cli_print(cli, buf_str(&b));
	return EXIT_OK;
}

/* The arguments of a call of exec. */
static struct json *command_args(struct arena *a, str command)
{
	struct json *args = NEW(a, struct json), *text = NEW(a, struct json);

	*text = (struct json){ .type = JSON_STRING, .s = command, .key = S("command") };
	*args = (struct json){ .type = JSON_OBJECT, .child = text, .n = 1 };
	return args;
}

static int run_test(struct cli *cli, const struct config *cfg, const char *tool, bool json)
{
	struct policy_call call = { .tool = str_of(tool ? tool : "exec") };
	str text = cli->argc > 1 ? str_of(cli->argv[1]) : S("{}");
	struct json *args;
	struct err e = { 0 };

	call.shell = str_eq(call.tool, S("exec"));
	if (!tool) {
		call.args = command_args(cli->a, text);
		return test(cli, cfg, &call, text, json);
	}
	if (json_read(&args, cli->a, text, &e) < 0 || !json_is(args, JSON_OBJECT))
		return cli_misuse(cli, "the arguments of a tool are one JSON object");
	call.args = args;
	return test(cli, cfg, &call, text, json);
}

/* --- list ----------------------------------------------------------------------------- */

struct lister {
	struct buf b;
	const struct config *cfg;
	bool json, any;
};

/* Where an option was set; "default" nowhere. */
static str from(const struct lister *l, const char *key)
{
	str s = l->cfg->settings[option_find(str_of(key))].from;

	return s.n ? s : S("default");
}

static void add(struct lister *l, const char *verdict, const char *key, str rule, str what)
{
	str source = str_eq(str_of(key), S("builtin")) ? S("") : from(l, key);

	if (!l->json) {
		buf_fmt(&l->b, "%-6s %s%s%.*s%s  %.*s%s%.*s\n", verdict, key,
			source.n ? " (" : "", STRF(source), source.n ? ")" : "", STRF(rule),
			what.n ? "  " : "", STRF(what));
		return;
	}
	buf_add(&l->b, l->any ? S(",\n{") : S("\n{"));
	l->any = true;
	buf_json_member(&l->b, "verdict", str_of(verdict));
	buf_json_member(&l->b, "source", str_of(key));
	buf_json_member(&l->b, "set_by", source);
	buf_json_member(&l->b, "rule", rule);
	buf_json_member(&l->b, "what", what);
	buf_addc(&l->b, '}');
}

static void add_tools(struct lister *l, struct arena *a)
{
	for (size_t i = 0; i < l->cfg->policy.n; i++) {
		const struct policy_rule *r = &l->cfg->policy.rules[i];
		str args = S("");
		for (size_t k = 0; k < r->args_n; k++)
			args = arena_fmt(a, "%.*s%s%.*s: %.*s", STRF(args), k ? ", " : "where ",
					 STRF(r->args[k].name), STRF(r->args[k].pattern));
		add(l, policy_word(r->verdict), "policy.rules", r->tool, args);
	}
	add(l, l->cfg->policy.destructive.p, "policy.destructive", S("*"),
	    S("tools of servers that may destroy, by their own account"));
}

static int list(struct cli *cli, const struct config *cfg, bool json)
{
	struct lister l = { .b = buf_in(cli->a, OUT_MAX), .cfg = cfg, .json = json };
	const struct policy_cfg *p = &cfg->policy;

	buf_add(&l.b, json ? S("[") : S(""));
	for (size_t i = 0; p->deny_builtin && i < builtin_rules_n; i++)
		add(&l, "deny", "builtin", str_of(builtin_rules[i].name),
		    str_of(builtin_rules[i].what));
	for (size_t i = 0; i < p->deny.n; i++)
		add(&l, "deny", "tools.exec.deny", p->deny.v[i], S(""));
	for (size_t i = 0; i < p->allow.n; i++)
		add(&l, "allow", "tools.exec.allow", p->allow.v[i], S(""));
	add(&l, "ask", "tools.exec.mode", p->mode, S("every other command"));
	add_tools(&l, cli->a);
	if (json)
		buf_add(&l.b, S("\n]\n"));
	if (json)
		(void)fwrite(l.b.p, 1, l.b.n, stdout);
	else
		cli_print(cli, buf_str(&l.b));
	if (!p->deny_builtin)
		(void)fprintf(stderr, "gantry policy: the built-in deny rules are off "
				      "(tools.exec.deny_builtin)\n");
	return EXIT_OK;
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json"), bad = false;
	const char *tool = NULL;
	struct config *cfg = NULL;

	(void)cli_value(cli, "--tool", &tool, &bad);
	if (bad)
		return cli_misuse(cli, "--tool wants the name of a tool");
	int code = cli_rest(cli, 1, 2);
	if (code != EXIT_OK)
		return code;
	bool lists = strcmp(cli->argv[0], "list") == 0 && cli->argc == 1 && !tool;
	bool tests = strcmp(cli->argv[0], "test") == 0 && (cli->argc == 2 || tool);
	if (!lists && !tests)
		return cli_misuse(cli, "say list, or test COMMAND, or test --tool NAME [JSON]");
	if ((code = cli_config(cli, CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	code = lists ? list(cli, cfg, json) : run_test(cli, cfg, tool, json);
	config_free(cfg);
	return code;
}

const struct cmd cmd_policy = {
	.name = "policy",
	.summary = "list the rules in force, or try one command against them",
	.usage = "usage: gantry policy list [--json]\n"
		 "       gantry policy test COMMAND [--json]\n"
		 "       gantry policy test --tool NAME [JSON] [--json]\n"
		 "\n"
		 "test prints what would become of a command line (allow, ask or deny), of "
		 "each\n"
		 "command in it, and why.  Nothing is run.\n"
		 "\n"
		 "example:\n"
		 "  gantry policy test 'npm run build; curl -s x | sh'\n",
	.run = run,
};
