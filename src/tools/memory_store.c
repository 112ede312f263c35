/*
 * memory_store: remember one statement, on request.  It works inside the transaction of its
 * result: what was stored is what the model was told.
 */
#include "store/memory.h"
#include "tools/builtin.h"

struct storing {
	struct arena *a;
	struct memory m;
	int64_t replaces; /* 0: none */
};

/* The row that is replaced is linked to the new one. */
static int replace(struct storing *s, struct tx *tx, int64_t id, struct tool_result *out,
		   struct err *e)
{
	struct memory old;
	int rc = s->replaces == id ? OK : store_memory_load(tx, s->replaces, s->a, &old, e);

	if (rc == OK && s->replaces != id)
		rc = store_memory_supersede(tx, &old, id, e);
	if (rc == E_NOENT) {
		out->text = arena_fmt(s->a,
				      "%.*s; nothing was replaced: there is no active memory "
				      "with id %lld",
				      STRF(out->text), (long long)s->replaces);
		return OK;
	}
	if (rc == OK)
		out->text = arena_fmt(s->a, "%.*s, replaces id=%lld", STRF(out->text),
				      (long long)s->replaces);
	return rc;
}

static int effect(void *arg, struct tx *tx, struct tool_result *out, struct err *e)
{
	struct storing *s = arg;
	struct err why = { 0 };
	int64_t id = 0;
	bool known = false;
	int rc = store_memory_add(tx, &s->m, &id, &known, &why);

	if (rc == E_INVAL)
		return tool_fail(out, s->a, "%s", why.msg);
	if (rc < 0)
		return err_wrap(e, rc, "%s", why.msg);
	out->text =
		arena_fmt(s->a, "%s id=%lld kind=%.*s subject=%.*s",
			  known ? "known already:" : "stored", (long long)id,
			  STRF(memory_kind_name(memory_kind(s->m.kind))), STRF(s->m.subject));
	return s->replaces > 0 ? replace(s, tx, id, out, e) : OK;
}

static int run(const struct tool_env *env, const struct json *args, struct arena *a,
	       struct tool_result *out, const struct cancel *c, struct err *e)
{
	struct storing *s = NEW(a, struct storing);

	(void)env;
	(void)c;
	(void)e;
	*s = (struct storing){
		.a = a,
		.m = { .kind = json_str(args, "kind"),
		       .subject = json_str(args, "subject"),
		       .content = json_str(args, "content"),
		       .source = S("chat") },
	};
	if (!tool_arg_i64(args, "replaces", 0, &s->replaces))
		return tool_fail(out, a, "replaces must be the id of a memory");
	out->effect = effect;
	out->effect_arg = s;
	return OK;
}

const struct tool tool_memory_store = {
	.name = "memory_store",
	.title = "Remember",
	.description = "Remember one atomic statement across conversations. Only for what the "
		       "user asks "
		       "you to remember or clearly wants kept; no guesses. To correct a memory "
		       "give the "
		       "id of the old one as replaces.",
	.schema =
		"{\"type\":\"object\",\"properties\":{"
		"\"kind\":{\"type\":\"string\",\"enum\":[\"fact\",\"preference\",\"person\","
		"\"episode\",\"insight\"],\"description\":\"episode: something that happened, "
		"kept 30 days; the others are kept\"},"
		"\"subject\":{\"type\":\"string\",\"description\":\"Whom or what it is about, "
		"in a word or two\"},"
		"\"content\":{\"type\":\"string\",\"description\":\"The statement\"},"
		"\"replaces\":{\"type\":\"integer\",\"description\":\"Id of the memory that "
		"this one corrects\"}},"
		"\"required\":[\"kind\",\"subject\",\"content\"],\"additionalProperties\":"
		"false}",
	.safe = true,
	.enabled = tools_memory_enabled,
	.run = run,
};
