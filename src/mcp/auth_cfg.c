/*
 * The table "auth": one table of its keys, by which it is read, copied and compared.
 */
#include "mcp/auth_cfg.h"

#include <string.h>

enum kind { VARIABLE, PATH };

static const struct key {
	const char *name;
	enum kind kind;
	size_t offset;
} keys[] = {
	{ "bearer_env", VARIABLE, offsetof(struct mcp_auth_cfg, bearer_env) },
	{ "bearer_file", PATH, offsetof(struct mcp_auth_cfg, bearer_file) },
};

static bool is_variable(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
		      (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return s.n > 0;
}

static int read_key(struct mcp_auth_cfg *out, struct arena *a, const struct key *k,
		    const struct toml *v, struct err *e)
{
	str *field = (str *)((char *)out + k->offset);

	if (v->type != TOML_STRING)
		return err_set(e, E_INVAL, "\"auth.%s\" should be a string, not %s", k->name,
			       toml_type_text(v->type));
	*field = arena_dup(a, str_trim(v->s));
	if (memchr(v->s.p ? v->s.p : "", 0, v->s.n) || !field->n)
		return err_set(e, E_INVAL, "\"auth.%s\" is empty or has a NUL in it", k->name);
	/* What stands there instead may be the secret itself, so it stays unnamed. */
	if (k->kind == VARIABLE && !is_variable(*field))
		return err_set(e, E_INVAL,
			       "\"auth.%s\" should be the name of an environment variable, not "
			       "a secret",
			       k->name);
	if (k->kind == PATH && field->p[0] != '/')
		return err_set(e, E_INVAL, "\"auth.%s\" should be an absolute path", k->name);
	return OK;
}

int mcp_auth_cfg_read(struct mcp_auth_cfg *out, struct arena *a, const struct toml *v,
		      struct err *e)
{
	struct mcp_auth_cfg cfg = { 0 };
	int rc;

	if (v->type != TOML_TABLE)
		return err_set(e, E_INVAL, "\"auth\" should be a table, not %s",
			       toml_type_text(v->type));
	for (const struct toml *c = v->child; c; c = c->next) {
		size_t i = 0;

		while (i < COUNT(keys) && !str_is(c->key, keys[i].name))
			i++;
		if (i == COUNT(keys))
			return err_set(e, E_INVAL, "\"auth\" has no key \"%.*s\"",
				       STRF(c->key));
		if ((rc = read_key(&cfg, a, &keys[i], c, e)) < 0)
			return rc;
	}
	if (cfg.bearer_env.n && cfg.bearer_file.n)
		return err_set(e, E_INVAL,
			       "\"auth\" has bearer_env and bearer_file; one of them");
	*out = cfg;
	return OK;
}

void mcp_auth_cfg_copy(struct arena *a, struct mcp_auth_cfg *to,
		       const struct mcp_auth_cfg *from)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		*(str *)((char *)to + keys[i].offset) =
			arena_dup(a, *(const str *)((const char *)from + keys[i].offset));
}

bool mcp_auth_cfg_same(const struct mcp_auth_cfg *x, const struct mcp_auth_cfg *y)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		if (!str_eq(*(const str *)((const char *)x + keys[i].offset),
			    *(const str *)((const char *)y + keys[i].offset)))
			return false;
	return true;
}
