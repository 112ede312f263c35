/*
 * The key "sampling": policy = "ask" alone, or with its limits in a table.
 */
#include "mcp/sampling_cfg.h"

#include "config/value.h"

#define WORDS "off ask allow"
#define MINUTE_MS 60000
#define PER_MINUTE 10
#define PER_CALL 10
#define MAX_TOKENS 4096

static const struct key {
	const char *name;
	size_t offset;
	int64_t max;
} keys[] = {
	{ "per_minute", offsetof(struct mcp_sampling_cfg, per_minute), 600 },
	{ "per_call", offsetof(struct mcp_sampling_cfg, per_call), 100 },
	{ "max_tokens", offsetof(struct mcp_sampling_cfg, max_tokens), 1000000 },
};

static int read_policy(struct mcp_sampling_cfg *out, struct arena *a, const struct toml *v,
		       struct err *e)
{
	if (v->type != TOML_STRING || value_word(a, str_trim(v->s), WORDS, &out->policy))
		return err_set(e, E_INVAL, "\"sampling\" should be one of: " WORDS);
	return OK;
}

static int read_number(struct mcp_sampling_cfg *out, const struct toml *v, struct err *e)
{
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (!str_is(v->key, keys[i].name))
			continue;
		if (v->type != TOML_INT || v->i < 1 || v->i > keys[i].max)
			return err_set(e, E_INVAL,
				       "\"sampling.%s\" should be a number from 1 to %lld",
				       keys[i].name, (long long)keys[i].max);
		*(int64_t *)(void *)((char *)out + keys[i].offset) = v->i;
		return OK;
	}
	/* What is not understood could be a limit. */
	return err_set(e, E_INVAL, "\"sampling\" has no key \"%.*s\"", STRF(v->key));
}

int mcp_sampling_cfg_read(struct mcp_sampling_cfg *out, struct arena *a, const struct toml *v,
			  struct err *e)
{
	struct mcp_sampling_cfg cfg = {
		.policy = S("ask"),
		.per_minute = PER_MINUTE,
		.per_call = PER_CALL,
		.max_tokens = MAX_TOKENS,
	};
	int rc = OK;

	if (v->type != TOML_TABLE)
		rc = read_policy(&cfg, a, v, e);
	for (const struct toml *c = v->type == TOML_TABLE ? v->child : NULL; c && rc == OK;
	     c = c->next) {
		if (str_is(c->key, "policy"))
			rc = read_policy(&cfg, a, c, e);
		else if (!str_is(c->key, "tools"))
			rc = read_number(&cfg, c, e);
		else if (c->type != TOML_BOOL)
			rc = err_set(e, E_INVAL, "\"sampling.tools\" should be true or false");
		else
			cfg.tools = c->b;
	}
	if (rc == OK)
		*out = cfg;
	return rc;
}

bool mcp_sampling_cfg_on(const struct mcp_sampling_cfg *c)
{
	return c->policy.n && !str_is(c->policy, "off");
}

bool mcp_sampling_cfg_same(const struct mcp_sampling_cfg *x, const struct mcp_sampling_cfg *y)
{
	return str_eq(x->policy, y->policy) && x->tools == y->tools &&
	       x->per_minute == y->per_minute && x->per_call == y->per_call &&
	       x->max_tokens == y->max_tokens;
}

bool mcp_sampled_add(struct mcp_sampled *s, const struct mcp_sampling_cfg *c, size_t before,
		     int64_t now_ms)
{
	if (before >= (size_t)c->per_call)
		return false;
	if (!s->n || now_ms - s->minute_at_ms >= MINUTE_MS)
		*s = (struct mcp_sampled){ .minute_at_ms = now_ms };
	if (s->n >= c->per_minute)
		return false;
	s->n++;
	return true;
}
