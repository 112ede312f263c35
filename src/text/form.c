/*
 * Forms: reading one, and showing it.  What a person typed is taken in form_take.c.
 */
#include "text/form.h"

#include "base/utf.h"
#include "text/text.h"

#define MESSAGE_CHARS 1500
#define TITLE_CHARS 100
#define HINT_CHARS 400
#define LABEL_CHARS 60
#define NAME_MAX 128 /* bytes */
#define VALUE_MAX 512 /* bytes of an option */
#define ID_MAX 200
/* Of what is kept: six bytes for one that has to be escaped, and the names of the members. */
#define KEPT_MAX (FORM_SCHEMA + 6 * (4 * MESSAGE_CHARS + LINK_MAX + ID_MAX) + 1024)
#define SHOWN_OPTIONS 40 /* in a text; the rest is counted */

/* --- reading -------------------------------------------------------------------------- */

static bool holds_word(struct arena *a, str s)
{
	static const char *const words[] = {
		"password",   "passwd",      "passphrase",      "passcode",    "secret",
		"api key",    "api_key",     "apikey",          "api-key",     "token",
		"credential", "private key", "private_key",     "credit card", "card number",
		"cvv",        "cvc",         "social security", "ssn",         "one-time",
		"otp",        "2fa",         "pin code",        "iban",
	};
	char *p = arena_alloc(a, 1, s.n + 1);

	for (size_t i = 0; i < s.n; i++)
		p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
	for (size_t i = 0; i < COUNT(words); i++)
		if (str_has((str){ p, s.n }, str_of(words[i])))
			return true;
	return false;
}

/* What is typed only: nobody chooses a secret among options. */
static bool looks_secret(const struct json *s, enum form_kind kind, str name, str message,
			 struct arena *a)
{
	bool typed = kind == FORM_TEXT || kind == FORM_INTEGER || kind == FORM_NUMBER;

	return (typed && holds_word(a, message)) ||
	       str_eq(json_str(s, "format"), S("password")) || holds_word(a, name) ||
	       holds_word(a, utf_head(json_str(s, "title"), 400)) ||
	       holds_word(a, utf_head(json_str(s, "description"), 2000));
}

/* Options of a list of texts, with names beside it, or of consts with titles. */
static int read_options(struct form_field *f, const struct json *list, const struct json *names,
			struct arena *a, struct err *e)
{
	struct form_option *v;
	size_t n = 0;

	if (!json_is(list, JSON_ARRAY) || list->n == 0)
		return err_set(e, E_INVAL, "a field of it has no options");
	if (list->n > FORM_OPTIONS)
		return err_set(e, E_LIMIT, "a field of it has more than %d options",
			       FORM_OPTIONS);
	v = NEWN(a, struct form_option, list->n);
	for (const struct json *x = list->child; x; x = x->next, n++) {
		const struct json *value = json_is(x, JSON_OBJECT) ? json_get(x, "const") : x;
		str label = json_is(x, JSON_OBJECT) ? json_str(x, "title")
						    : json_text(json_at(names, n));
		if (!json_is(value, JSON_STRING) || value->s.n > VALUE_MAX)
			return err_set(e, E_INVAL,
				       "a field of it has an option that is no "
				       "short text");
		v[n].value = value->s;
		v[n].label = text_line(a, str_trim(label).n ? label : value->s, LABEL_CHARS);
		if (!v[n].label.n)
			v[n].label = S("(empty)");
	}
	f->options = v;
	f->options_n = n;
	return OK;
}

static int read_kind(struct form_field *f, const struct json *s, struct arena *a, struct err *e)
{
	static const struct form_option yes_no[] = { { { "true", 4 }, { "Yes", 3 } },
						     { { "false", 5 }, { "No", 2 } } };
	str type = json_str(s, "type");
	const struct json *items = json_get(s, "items"), *one = json_get(s, "oneOf"),
			  *list = json_get(s, "enum");

	if (str_eq(type, S("array"))) {
		const struct json *of = json_get(items, "anyOf");
		f->kind = FORM_MANY;
		of = of ? of : json_get(items, "oneOf");
		return read_options(f, of ? of : json_get(items, "enum"), NULL, a, e);
	}
	if (str_eq(type, S("string")) && (one || list)) {
		f->kind = FORM_ONE;
		return read_options(f, one ? one : list, json_get(s, "enumNames"), a, e);
	}
	if (str_eq(type, S("boolean"))) {
		f->kind = FORM_BOOLEAN;
		f->options = yes_no;
		f->options_n = 2;
		return OK;
	}
	f->kind = str_eq(type, S("integer"))  ? FORM_INTEGER
		  : str_eq(type, S("number")) ? FORM_NUMBER
					      : FORM_TEXT;
	if (f->kind == FORM_TEXT && !str_eq(type, S("string")))
		return err_set(e, E_INVAL,
			       "a field of it is neither a text, a number, a yes or no, nor a "
			       "choice");
	return OK;
}

static void read_default(struct form_field *f, struct arena *a)
{
	const struct json *def = json_get(f->schema, "default");
	struct buf b = buf_in(a, FORM_TYPED);

	if (!def || form_fits(f, def, a, NULL) < 0)
		return;
	json_write(&b, def);
	if (!b.full)
		f->def = buf_str(&b);
}

static bool required(const struct json *list, str name)
{
	for (const struct json *x = json_is(list, JSON_ARRAY) ? list->child : NULL; x;
	     x = x->next)
		if (str_eq(json_text(x), name))
			return true;
	return false;
}

static int read_field(struct form_field *f, const struct json *s, const struct json *must,
		      str message, struct arena *a, struct err *e)
{
	str title = json_str(s, "title");
	int rc;

	if (s->key.n == 0 || s->key.n > NAME_MAX || !json_is(s, JSON_OBJECT))
		return err_set(e, E_INVAL, "a field of it has no name that can be shown");
	*f = (struct form_field){ .name = s->key, .schema = s };
	if ((rc = read_kind(f, s, a, e)) < 0)
		return rc;
	f->title = text_line(a, str_trim(title).n ? title : s->key, TITLE_CHARS);
	f->hint = text_line(a, json_str(s, "description"), HINT_CHARS);
	f->required = required(must, s->key);
	f->secret = looks_secret(s, f->kind, s->key, message, a);
	read_default(f, a);
	return OK;
}

static int read_fields(struct form *out, const struct json *schema, struct arena *a,
		       struct err *e)
{
	const struct json *all = json_get(schema, "properties");
	struct form_field *v;
	size_t n = 0;
	int rc = OK;

	if (!json_is(schema, JSON_OBJECT) || !json_is(all, JSON_OBJECT))
		return err_set(e, E_INVAL, "it says of no fields what it asks for");
	if (all->n > FORM_FIELDS)
		return err_set(e, E_LIMIT, "it asks for %zu things at once, more than %d",
			       all->n, FORM_FIELDS);
	struct buf b = buf_in(a, FORM_SCHEMA);
	json_write(&b, schema);
	if (b.full)
		return err_set(e, E_LIMIT, "its form has more than %d bytes", FORM_SCHEMA);
	v = NEWN(a, struct form_field, all->n + 1);
	for (const struct json *s = all->child; s && rc == OK; s = s->next)
		rc = read_field(&v[n++], s, json_get(schema, "required"), out->message, a, e);
	out->fields = v;
	out->n = n;
	return rc;
}

/* Lines stay lines; what is too much is cut. */
static str read_message(const struct json *params, struct arena *a)
{
	str s = str_trim(json_str(params, "message")), head = utf_head(s, 8 * MESSAGE_CHARS);
	str cut = text_cut(a, text_visible(a, head, false), MESSAGE_CHARS);

	return head.n < s.n ? arena_cat(a, cut, S("…")) : cut;
}

int form_read(struct form *out, const struct json *params, struct arena *a, struct err *e)
{
	str mode = json_str(params, "mode");
	struct form f = { .link = str_eq(mode, S("url")), .id = S("") };
	int rc;

	if (!json_is(params, JSON_OBJECT))
		return err_set(e, E_INVAL, "it has no parameters");
	if (mode.n && !f.link && !str_eq(mode, S("form")))
		return err_set(e, E_INVAL, "its mode is neither form nor url");
	f.message = read_message(params, a);
	if (f.link) {
		f.id = json_str(params, "elicitationId");
		if (f.id.n > ID_MAX)
			return err_set(e, E_LIMIT, "its id has more than %d bytes", ID_MAX);
		rc = link_read(&f.seen, json_str(params, "url"), a, e);
	} else {
		rc = read_fields(&f, json_get(params, "requestedSchema"), a, e);
	}
	if (rc == OK)
		*out = f;
	return rc;
}

int form_keep(const struct json *params, struct arena *a, str *out, struct err *e)
{
	static const char *const texts[] = { "mode", "url", "elicitationId" };
	bool link = str_eq(json_str(params, "mode"), S("url"));
	struct buf b = buf_in(a, KEPT_MAX);

	buf_addc(&b, '{');
	buf_json_member(&b, "message",
			utf_head(json_str(params, "message"), 4 * MESSAGE_CHARS));
	for (size_t i = 0; i < COUNT(texts); i++)
		if (json_str(params, texts[i]).n)
			buf_json_member(&b, texts[i], json_str(params, texts[i]));
	if (!link && json_get(params, "requestedSchema")) {
		buf_json_key(&b, "requestedSchema");
		json_write(&b, json_get(params, "requestedSchema"));
	}
	buf_addc(&b, '}');
	if (b.full)
		return err_set(e, E_LIMIT, "it has more than %d bytes", KEPT_MAX);
	*out = buf_str(&b);
	return OK;
}

/* --- showing -------------------------------------------------------------------------- */

bool form_bound(const struct json *schema, const char *key, double *out)
{
	const struct json *v = json_get(schema, key);
	bool counts = !str_ends(str_of(key), S("imum"));

	if ((!json_is(v, JSON_INT) && !json_is(v, JSON_REAL)) || (counts && v->d < 0))
		return false;
	*out = v->d;
	return true;
}

static void add_bounds(struct buf *b, const struct json *s, const char *low, const char *high,
		       const char *unit)
{
	double lo = 0, hi = 0;
	bool min = form_bound(s, low, &lo), max = form_bound(s, high, &hi);

	if (min && max)
		buf_fmt(b, ", %.15g to %.15g%s", lo, hi, unit);
	else if (min)
		buf_fmt(b, ", at least %.15g%s", lo, unit);
	else if (max)
		buf_fmt(b, ", at most %.15g%s", hi, unit);
}

static void add_options(struct buf *b, const struct form_field *f, bool listed)
{
	if (!listed)
		return;
	buf_addc(b, ':');
	for (size_t i = 0; i < f->options_n && i < SHOWN_OPTIONS; i++)
		buf_fmt(b, "\n%zu. %.*s", i + 1, STRF(f->options[i].label));
	if (f->options_n > SHOWN_OPTIONS)
		buf_fmt(b, "\n… and %zu more", f->options_n - SHOWN_OPTIONS);
}

static void add_expected(struct buf *b, const struct form_field *f, bool listed)
{
	static const char *const formats[][2] = {
		{ "email", "an e-mail address" },
		{ "uri", "a URL" },
		{ "date", "a date (2026-01-31)" },
		{ "date-time", "a date with time (2026-01-31T12:00:00Z)" },
	};
	const struct json *s = f->schema;
	str format = json_str(s, "format");
	const char *text = "a text";

	for (size_t i = 0; i < COUNT(formats); i++)
		if (str_is(format, formats[i][0]))
			text = formats[i][1];
	switch (f->kind) {
	case FORM_TEXT:
		buf_fmt(b, "\nExpected: %s", text);
		add_bounds(b, s, "minLength", "maxLength", " characters");
		break;
	case FORM_INTEGER:
	case FORM_NUMBER:
		buf_add(b, f->kind == FORM_INTEGER ? S("\nExpected: a whole number")
						   : S("\nExpected: a number"));
		add_bounds(b, s, "minimum", "maximum", "");
		break;
	case FORM_BOOLEAN:
		buf_add(b, S("\nExpected: yes or no"));
		break;
	case FORM_ONE:
		buf_add(b, S("\nOne of these"));
		add_options(b, f, listed);
		break;
	case FORM_MANY:
		buf_add(b, S("\nAny of these"));
		add_bounds(b, s, "minItems", "maxItems", " of them");
		add_options(b, f, listed);
		break;
	}
}

str form_block(const struct form *f, size_t i, bool listed, struct arena *a)
{
	struct buf b = buf_in(a, 32768);

	if (i >= f->n)
		return S("");
	const struct form_field *x = &f->fields[i];
	buf_add(&b, x->title);
	if (f->n > 1)
		buf_fmt(&b, " (%zu of %zu%s)", i + 1, f->n, x->required ? "" : ", optional");
	else if (!x->required)
		buf_add(&b, S(" (optional)"));
	if (x->hint.n)
		buf_fmt(&b, "\n%.*s", STRF(x->hint));
	add_expected(&b, x, listed);
	if (x->def.n)
		buf_fmt(&b, "\nDefault: %.*s", STRF(text_line(a, x->def, 200)));
	if (x->secret)
		buf_add(&b, S("\n⚠ This looks like a question for a secret. A tool server must "
			      "not ask for passwords here, and your answer is kept and shown: "
			      "decline unless you are sure."));
	return buf_str(&b);
}

str form_link(const struct form *f, struct arena *a)
{
	struct buf b = buf_in(a, 32768);

	buf_fmt(&b, "Link: %.*s\nHost: %.*s", STRF(f->seen.url), STRF(f->seen.host));
	if (f->seen.named)
		buf_add(&b, S("\n⚠ The name of this host has unusual letters; it may look like "
			      "another one."));
	if (f->seen.login)
		buf_add(&b, S("\n⚠ What stands before the @ is not the host."));
	if (f->seen.plain)
		buf_add(&b, S("\n⚠ The link is not encrypted."));
	return buf_str(&b);
}
