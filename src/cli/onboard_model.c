/*
 * Onboarding: which endpoint, which key, which model.  The endpoint is asked live, and what is
 * wrong with it can be mended on the spot.
 */
#include "cli/onboard.h"

#include "cli/model_list.h"
#include "config/value.h"
#include "os/file.h"
#include "os/url.h"
#include "text/text.h"

#include <string.h>

#define SHOWN_MAX 15
#define WORD_MAX 4096
#define VARIABLE_MAX 128

static bool one_word(str s)
{
	return s.n <= WORD_MAX && value_one_word(s);
}

bool onboard_variable(const struct onboard *o, str name)
{
	return name.n <= VARIABLE_MAX && value_variable(name) &&
	       str_eq(text_redact(o->a, name), name);
}

/* --- the provider ------------------------------------------------------------------- */

static const struct provider *find_provider(str answer)
{
	int64_t number;

	if (str_i64(answer, &number))
		return number >= 1 && number <= (int64_t)providers_n ? &providers[number - 1]
								     : NULL;
	for (size_t i = 0; i < providers_n; i++)
		if (str_ieq(answer, str_of(providers[i].name)) ||
		    str_ieq(answer, str_of(providers[i].title)))
			return &providers[i];
	return NULL;
}

static int ask_url(struct onboard *o, struct err *e)
{
	str answer, def = o->base_url;
	const char *bad;
	struct url u;
	int rc;

	for (;;) {
		if ((rc = ask_line(&o->ask, "Its address, up to /v1", def, &answer, e)) != OK)
			return rc;
		bad = value_url(o->a, answer, &o->base_url);
		if (!bad && url_parse(&u, o->a, S(""), o->base_url, NULL) == OK && u.user)
			bad = "must not hold a name or password";
		if (!bad && str_ends(o->base_url, S("/chat/completions")))
			bad = "must end before /chat/completions";
		if (!bad)
			return OK;
		o->base_url = def;
		if ((rc = ask_again(&o->ask, e,
				    "the address %s, as in http://127.0.0.1:8080/v1", bad)) < 0)
			return rc;
	}
}

static int ask_variable(struct onboard *o, struct err *e)
{
	str answer;
	int rc;

	for (;;) {
		if ((rc = ask_line(&o->ask, "Variable its key is called by", o->key.env,
				   &answer, e)) != OK)
			return rc;
		if (onboard_variable(o, answer)) {
			o->key.env = answer;
			return OK;
		}
		/* It may be the key itself: not repeated. */
		if ((rc = ask_again(
			     &o->ask, e,
			     "a variable has letters, digits and _; the key itself comes "
			     "later")) < 0)
			return rc;
	}
}

static void take_provider(struct onboard *o, const struct provider *p)
{
	const struct onboard_flags *f = &o->flags;

	if (o->provider == p)
		return;
	o->provider = p;
	o->base_url = str_of(f->base_url ? f->base_url : p->base_url);
	o->no_key = p->keyless && !f->key_env && !f->key_file;
	o->key = (struct onboard_secret){ .env = str_of(f->key_env ? f->key_env : p->key_env),
					  .over = S("GANTRY_OPENAI_API_KEY") };
	o->model = str_of(f->model);
}

static int details(struct onboard *o, struct err *e)
{
	bool custom = !o->provider->base_url[0], wants = !o->no_key;
	int rc = OK;

	if (custom || o->provider->keyless || o->flags.base_url)
		rc = ask_url(o, e);
	if (rc != OK || !(custom || o->flags.key_env))
		return rc;
	if (custom && (rc = ask_yes(&o->ask, "Does it want a key?", wants, &wants, e)) != OK)
		return rc;
	o->no_key = !wants;
	return wants ? ask_variable(o, e) : OK;
}

int onboard_provider(struct onboard *o, struct err *e)
{
	const char *word = o->flags.provider;
	str def, answer;
	int rc;

	ask_note(&o->ask, "\nWhere does the model live?");
	for (size_t i = 0; i < providers_n; i++)
		ask_note(&o->ask, "  %2zu  %-11s %s", i + 1, providers[i].name,
			 providers[i].title);
	def = o->provider                             ? str_of(o->provider->name)
	      : word                                  ? str_of(word)
	      : o->flags.base_url && o->ask.automatic ? S("custom")
						      : S("openai");
	for (;;) {
		const struct provider *p;
		if ((rc = ask_line(&o->ask, "Provider, by number or name", def, &answer, e)) !=
		    OK)
			return rc;
		p = find_provider(answer);
		if (p) {
			take_provider(o, p);
			return details(o, e);
		}
		if ((rc = ask_again(
			     &o->ask, e,
			     "there is no provider \"%s\"; say a number from 1 to %zu, or "
			     "a name of the list",
			     text_line(o->a, answer, 40).p, providers_n)) < 0)
			return rc;
	}
}

/* --- the key ------------------------------------------------------------------------ */

static str variable(const struct onboard *o, str name)
{
	return str_trim(env_get(&o->cli->env, arena_cstr(o->a, name)));
}

str onboard_secret_value(const struct onboard *o, const struct onboard_secret *s)
{
	struct err e;
	str text;

	if (s->typed.n)
		return s->typed;
	if (s->file.n && file_read(&text, o->a, s->file.p, WORD_MAX, &e) == OK)
		return str_trim(text);
	text = variable(o, s->over);
	return text.n ? text : variable(o, s->env);
}

str onboard_secret_variable(const struct onboard *o, const struct onboard_secret *s)
{
	str there = variable(o, s->env), name = s->env;

	if (!there.n || str_eq(there, onboard_secret_value(o, s)))
		return name;
	do
		name = arena_fmt(o->a, "%.*s_UNUSED", STRF(name));
	while (variable(o, name).n);
	return name;
}

static struct onboard_secret only(const struct onboard_secret *s)
{
	return (struct onboard_secret){ .env = s->env, .over = s->over };
}

/* The environment has another value, under a name that no configuration can take away. */
static bool overruled(const struct onboard *o, const struct onboard_secret *s, str value)
{
	str there = variable(o, s->over);

	return there.n && !str_eq(there, value);
}

static int from_flag(struct onboard *o, struct onboard_secret *s, const char *what,
		     const char *file, struct err *e)
{
	str path = onboard_path(o, str_of(file)), text;
	int rc = file_read(&text, o->a, path.p, WORD_MAX, e);

	if (rc < 0)
		return err_wrap(e, rc, "%s", what);
	text = str_trim(text);
	if (!one_word(text))
		return err_set(e, E_INVAL, "%s: %s holds no single word", what, path.p);
	if (overruled(o, s, text))
		return err_set(e, E_INVAL,
			       "%s: the variable %.*s is set to another one and wins over any "
			       "file: unset it",
			       what, STRF(s->over));
	*s = only(s);
	s->file = path;
	return OK;
}

/* 1: taken, 0: ask again. */
static int take_typed(struct onboard *o, struct onboard_secret *s, str answer, struct err *e)
{
	if (!answer.n && s->typed.n)
		answer = s->typed;
	if (!one_word(answer))
		return ask_again(&o->ask, e, "%s",
				 answer.n ? "that has blanks or odd characters in it"
					  : "nothing came; paste it and press Enter");
	if (overruled(o, s, answer))
		return ask_again(&o->ask, e,
				 "the variable %.*s is set to another one and wins over any "
				 "file: leave, and unset it first",
				 STRF(s->over));
	*s = only(s);
	s->typed = answer;
	return 1;
}

int onboard_secret(struct onboard *o, struct onboard_secret *s, const char *what,
		   const char *file, struct err *e)
{
	str name = variable(o, s->over).n ? s->over : s->env, answer;
	bool use = true;
	int rc = 0;

	if (file)
		return from_flag(o, s, what, file, e);
	if (variable(o, name).n) {
		str q = arena_fmt(o->a, "%s: the variable %.*s is set. Use it?", what,
				  STRF(name));
		if ((rc = ask_yes(&o->ask, q.p, !s->typed.n, &use, e)) != OK)
			return rc;
		if (use) {
			*s = only(s);
			return OK;
		}
	} else if (o->ask.automatic) {
		/* A name that a flag gave is not repeated: it may be the secret itself. */
		bool given = str_eq(s->env, str_of(o->flags.key_env)) ||
			     str_eq(s->env, str_of(o->flags.telegram_env));
		return given ? err_set(e, E_INVAL,
				       "%s: the variable that was named is not set; set it, or "
				       "name a file",
				       what)
			     : err_set(e, E_INVAL, "%s: set the variable %.*s, or name a file",
				       what, STRF(s->env));
	}
	while (rc == 0) {
		if ((rc = ask_secret(&o->ask,
				     s->typed.n ? arena_fmt(o->a, "%s (Enter keeps it)", what).p
						: what,
				     &answer, e)) != OK)
			return rc;
		rc = take_typed(o, s, answer, e);
	}
	return rc < 0 ? rc : OK;
}

int onboard_key(struct onboard *o, struct err *e)
{
	if (o->no_key || o->ask.automatic)
		return o->no_key ? o->back ? ASK_BACK : OK
				 : onboard_secret(o, &o->key, "API key", o->flags.key_file, e);
	if (o->provider->key_page)
		ask_note(&o->ask, "\nKeys are made at %s", o->provider->key_page);
	return onboard_secret(o, &o->key, "API key", o->flags.key_file, e);
}

/* --- the model ---------------------------------------------------------------------- */

static bool listed(const struct model_list *l, str name)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->names[i], name))
			return true;
	return false;
}

/* Those that hold part, at most SHOWN_MAX of them shown; shown gets them, the result is how
 * many there are. */
static size_t show(struct onboard *o, const struct model_list *l, str part, str *shown,
		   size_t *shown_n)
{
	str lower = arena_lower(o->a, part);
	size_t n = 0;

	*shown_n = 0;
	for (size_t i = 0; i < l->n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		if (!str_has(arena_lower(&a, l->names[i]), lower))
			continue;
		if (n++ < SHOWN_MAX)
			shown[(*shown_n)++] = l->names[i];
	}
	for (size_t i = 0; i < *shown_n; i++)
		ask_say(&o->ask, "  %2zu  %.*s", i + 1, STRF(shown[i]));
	if (n > *shown_n)
		ask_say(&o->ask, "      and %zu more: type part of a name to see those",
			n - *shown_n);
	return n;
}

static str first_choice(const struct onboard *o, const struct model_list *l)
{
	if (o->model.n)
		return o->model;
	if (o->provider->model && listed(l, str_of(o->provider->model)))
		return str_of(o->provider->model);
	if (o->ask.automatic && l->n > 1)
		return S("");
	return l->n ? l->names[0] : S("");
}

/* A name that the list does not have: 1 to take it, 0 to ask again. */
static int insist(struct onboard *o, str name, struct err *e)
{
	bool yes = false;
	int rc;

	if (!one_word(name))
		return ask_again(&o->ask, e, "a model's name is one word");
	if (o->ask.automatic)
		return err_set(
			e, E_INVAL,
			"the endpoint has no model %.*s; --no-check takes it all the same",
			STRF(name));
	rc = ask_yes(
		&o->ask,
		arena_fmt(o->a, "%.*s is not in the list. Take it all the same?", STRF(name)).p,
		false, &yes, e);
	return rc < 0 ? rc : rc == OK && yes;
}

static int choose(struct onboard *o, const struct model_list *l, struct err *e)
{
	str shown[SHOWN_MAX], answer, def = first_choice(o, l);
	size_t shown_n = 0, found;
	int64_t number;
	int rc;

	ask_note(&o->ask, "It has %zu model%s%s.", l->n, l->n == 1 ? "" : "s",
		 l->odd ? arena_fmt(o->a, " (%zu with odd names left out)", l->odd).p : "");
	if (!o->ask.automatic)
		(void)show(o, l, S(""), shown, &shown_n);
	for (;;) {
		if ((rc = ask_line(&o->ask, "Model, by number or name", def, &answer, e)) != OK)
			return rc;
		if (str_i64(answer, &number) && number >= 1 && number <= (int64_t)shown_n)
			answer = shown[number - 1];
		if (!answer.n)
			return err_set(e, E_INVAL,
				       "--model: say which one; the endpoint has %zu, such as "
				       "%.*s",
				       l->n, STRF(l->names[0]));
		if (listed(l, answer))
			break;
		found = o->ask.automatic ? 0 : show(o, l, answer, shown, &shown_n);
		if (found == 1)
			def = shown[0];
		rc = found ? OK : insist(o, answer, e);
		if (rc < 0)
			return rc;
		if (rc == 1)
			break;
	}
	o->model = answer;
	return OK;
}

static int by_hand(struct onboard *o, struct err *e)
{
	str answer, def = o->model.n ? o->model : str_of(o->provider->model);
	int rc;

	for (;;) {
		if ((rc = ask_line(&o->ask, "Model, as the endpoint calls it", def, &answer,
				   e)) != OK)
			return rc;
		if (one_word(answer)) {
			o->model = answer;
			return OK;
		}
		if ((rc = ask_again(&o->ask, e, "--model: a model's name is one word")) < 0)
			return rc;
	}
}

/* The endpoint did not say what it has.  OK: ask it again; 2: go on without. */
static int mend(struct onboard *o, const struct model_list *l, struct err *e)
{
	const char *hint = l->end == MODEL_LIST_KEY ? NULL : o->provider->hint;
	str answer;
	int rc;

	if (o->ask.automatic)
		return err_set(e, E_IO, "%.*s: %.*s%s%s; --no-check leaves this out",
			       STRF(o->base_url), STRF(l->why), hint ? "; " : "",
			       hint ? hint : "");
	ask_say(&o->ask, "  ! %.*s: %.*s", STRF(o->base_url), STRF(l->why));
	if (hint)
		ask_say(&o->ask, "    %s", hint);
	for (;;) {
		rc = ask_line(&o->ask, "again, another key, another address, or skip the check",
			      l->end == MODEL_LIST_KEY ? S("key") : S("again"), &answer, e);
		if (rc != OK)
			return rc;
		if (str_ieq(answer, S("again")))
			return OK;
		if (str_ieq(answer, S("skip")))
			return 2;
		if (str_ieq(answer, S("address")))
			return ask_url(o, e);
		if (str_ieq(answer, S("key"))) {
			o->no_key = false;
			return onboard_secret(o, &o->key, "API key", NULL, e);
		}
		if ((rc = ask_again(&o->ask, e, "say again, key, address or skip")) < 0)
			return rc;
	}
}

int onboard_model(struct onboard *o, struct err *e)
{
	int rc = OK;

	if (o->flags.no_check)
		return by_hand(o, e);
	while (rc == OK) {
		struct model_list l;
		ask_note(&o->ask, "\nAsking %.*s which models it has ...", STRF(o->base_url));
		model_list_get(&l, o->pool, o->base_url,
			       o->no_key ? S("") : onboard_secret_value(o, &o->key), o->a,
			       o->leave);
		if (l.end == MODEL_LIST_CANCELED)
			return err_set(e, E_CANCELED, "interrupted");
		if (l.end == MODEL_LIST_OK)
			return choose(o, &l, e);
		rc = mend(o, &l, e);
	}
	return rc == 2 ? by_hand(o, e) : rc;
}
