/*
 * What a person typed into a field, as a value of the field's schema, or one line that says why
 * it is none.
 */
#include "text/form.h"

#include "base/date.h"
#include "base/utf.h"
#include "text/regex.h"
#include "text/text.h"

#include <math.h>

/* --- does a value fit? ---------------------------------------------------------------- */

static bool is_email(str s)
{
	str rest = s, local = str_cut(&rest, '@');

	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ')
			return false;
	return local.n && rest.n > 2 && !str_has(rest, S("@")) && str_has(rest, S(".")) &&
	       !str_starts(rest, S(".")) && !str_ends(rest, S(".")) && !str_has(rest, S(".."));
}

static bool is_uri(str s)
{
	str rest = s, scheme = str_cut(&rest, ':');

	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || strchr("<>\"{}|\\^`", s.p[i]))
			return false;
	for (size_t i = 0; i < scheme.n; i++) {
		char c = (char)(scheme.p[i] | 32);
		bool letter = c >= 'a' && c <= 'z';
		if (!letter && (i == 0 || !strchr("0123456789+-.", scheme.p[i])))
			return false;
	}
	return scheme.n && rest.n;
}

static bool is_date(str s)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t at;
	bool zoned;

	return s.n == 10 && date_parse_rfc3339(arena_cat(&a, s, S("T00:00:00Z")), &at, &zoned);
}

static int fits_format(str format, str s, struct err *e)
{
	int64_t at;
	bool zoned = false;

	if (str_eq(format, S("email")) && !is_email(s))
		return err_set(e, E_INVAL, "that is no e-mail address");
	if (str_eq(format, S("uri")) && !is_uri(s))
		return err_set(e, E_INVAL, "that is no URL (like https://example.org/)");
	if (str_eq(format, S("date")) && !is_date(s))
		return err_set(e, E_INVAL, "that is no date (like 2026-01-31)");
	if (str_eq(format, S("date-time")) && (!date_parse_rfc3339(s, &at, &zoned) || !zoned))
		return err_set(e, E_INVAL,
			       "that is no date with time and zone (like "
			       "2026-01-31T12:00:00Z)");
	return OK;
}

/* A pattern that is none, or works too long, is the server's fault: let it judge itself. */
static int fits_pattern(str pattern, str s, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct regex *re = NULL;

	if (!pattern.n || pattern.n > 1000 || regex_open(&re, pattern, false, NULL) < 0)
		return OK;
	struct regex_room *room = regex_room_new();
	enum regex_found found = regex_find(re, room, s);
	regex_room_free(room);
	regex_close(re);
	return found == REGEX_NO ? err_set(e, E_INVAL, "that does not match the pattern %.*s",
					   STRF(text_line(&a, pattern, 100)))
				 : OK;
}

static int fits_text(const struct json *s, str value, struct err *e)
{
	double n = (double)utf_count(value), min, max;
	int rc;

	if (form_bound(s, "minLength", &min) && n < min)
		return err_set(e, E_INVAL, "that is too short: at least %.15g characters", min);
	if (form_bound(s, "maxLength", &max) && n > max)
		return err_set(e, E_INVAL, "that is too long: at most %.15g characters", max);
	rc = fits_format(json_str(s, "format"), value, e);
	return rc < 0 ? rc : fits_pattern(json_str(s, "pattern"), value, e);
}

static int fits_number(const struct form_field *f, const struct json *v, struct err *e)
{
	double min, max;

	if (f->kind == FORM_INTEGER && !json_is(v, JSON_INT))
		return err_set(e, E_INVAL, "that is no whole number");
	if (!json_is(v, JSON_INT) && (!json_is(v, JSON_REAL) || !isfinite(v->d)))
		return err_set(e, E_INVAL, "that is no number (like 3.5)");
	if (form_bound(f->schema, "minimum", &min) && v->d < min)
		return err_set(e, E_INVAL, "that is too small: at least %.15g", min);
	if (form_bound(f->schema, "maximum", &max) && v->d > max)
		return err_set(e, E_INVAL, "that is too large: at most %.15g", max);
	return OK;
}

static bool is_option(const struct form_field *f, str value)
{
	for (size_t i = 0; i < f->options_n; i++)
		if (str_eq(f->options[i].value, value))
			return true;
	return false;
}

static int fits_many(const struct form_field *f, const struct json *v, struct err *e)
{
	double min, max;

	if (!json_is(v, JSON_ARRAY))
		return err_set(e, E_INVAL, "that is no list");
	for (const struct json *x = v->child; x; x = x->next)
		if (!json_is(x, JSON_STRING) || !is_option(f, x->s))
			return err_set(e, E_INVAL, "that is none of the options");
	if (form_bound(f->schema, "minItems", &min) && (double)v->n < min)
		return err_set(e, E_INVAL, "choose at least %.15g", min);
	if (form_bound(f->schema, "maxItems", &max) && (double)v->n > max)
		return err_set(e, E_INVAL, "choose at most %.15g", max);
	return OK;
}

int form_fits(const struct form_field *f, const struct json *value, struct arena *a,
	      struct err *e)
{
	(void)a;
	switch (f->kind) {
	case FORM_TEXT:
		return json_is(value, JSON_STRING) ? fits_text(f->schema, value->s, e)
						   : err_set(e, E_INVAL, "that is no text");
	case FORM_INTEGER:
	case FORM_NUMBER:
		return fits_number(f, value, e);
	case FORM_BOOLEAN:
		return json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE)
			       ? OK
			       : err_set(e, E_INVAL, "answer yes or no");
	case FORM_ONE:
		return json_is(value, JSON_STRING) && is_option(f, value->s)
			       ? OK
			       : err_set(e, E_INVAL, "that is none of the options");
	case FORM_MANY:
		return fits_many(f, value, e);
	}
	return OK;
}

/* --- taking --------------------------------------------------------------------------- */

/* By value, by label, by number; SIZE_MAX none. */
static size_t option_of(const struct form_field *f, str typed, struct arena *a)
{
	str line = text_line(a, typed, FORM_TYPED);
	int64_t n;

	for (size_t i = 0; i < f->options_n; i++)
		if (str_eq(f->options[i].value, typed))
			return i;
	for (size_t i = 0; i < f->options_n; i++)
		if (str_ieq(f->options[i].label, line) || str_ieq(f->options[i].value, typed))
			return i;
	if (str_i64(typed, &n) && n >= 1 && n <= (int64_t)f->options_n)
		return (size_t)n - 1;
	return SIZE_MAX;
}

static str json_of(str s, struct arena *a)
{
	struct buf b = buf_in(a, 6 * s.n + 16);

	buf_json(&b, s);
	return buf_str(&b);
}

static int take_boolean(str typed, str *value, struct err *e)
{
	static const char *const yes[] = { "yes", "y", "true", "1", "on", "ok" };
	static const char *const no[] = { "no", "n", "false", "0", "2", "off" };

	for (size_t i = 0; i < COUNT(yes); i++) {
		if (str_ieq(typed, str_of(yes[i])))
			return *value = S("true"), OK;
		if (str_ieq(typed, str_of(no[i])))
			return *value = S("false"), OK;
	}
	return err_set(e, E_INVAL, "answer yes or no");
}

/* One after the other, with commas between them. */
static int take_many(const struct form_field *f, str typed, struct arena *a, str *value,
		     struct err *e)
{
	char *picks = arena_alloc(a, 1, f->options_n + 1);
	size_t whole = option_of(f, typed, a);

	memset(picks, '0', f->options_n);
	if (whole != SIZE_MAX) {
		picks[whole] = '1';
		typed = S("");
	}
	while (typed.n) {
		str word = str_trim(str_cut(&typed, ','));
		size_t i = option_of(f, word, a);
		if (i == SIZE_MAX)
			return err_set(e, E_INVAL, "\"%.*s\" is none of the options",
				       STRF(text_line(a, word, 60)));
		picks[i] = '1';
	}
	return form_picked(f, (str){ picks, f->options_n }, a, value, e);
}

int form_picked(const struct form_field *f, str picks, struct arena *a, str *value,
		struct err *e)
{
	struct buf b = buf_in(a, FORM_SCHEMA);
	struct json *v;
	int rc;

	buf_addc(&b, '[');
	for (size_t i = 0; i < f->options_n && i < picks.n; i++) {
		if (picks.p[i] != '1')
			continue;
		if (b.n > 1)
			buf_addc(&b, ',');
		buf_json(&b, f->options[i].value);
	}
	buf_addc(&b, ']');
	if ((rc = json_read(&v, a, buf_str(&b), e)) < 0 || (rc = form_fits(f, v, a, e)) < 0)
		return rc;
	*value = buf_str(&b);
	return OK;
}

/* What looks like a number is passed on as it was typed. */
static int take_number(const struct form_field *f, str typed, struct arena *a, str *value,
		       struct err *e)
{
	struct json *v = NULL;
	str bare = str_starts(typed, S("+")) ? str_sub(typed, 1, typed.n) : typed;
	int rc;

	if (bare.n > 100 || json_read(&v, a, bare, NULL) < 0)
		v = NULL;
	if ((rc = fits_number(f, v, e)) < 0)
		return rc;
	*value = arena_dup(a, bare);
	return OK;
}

int form_take(const struct form_field *f, str typed, struct arena *a, str *value, struct err *e)
{
	size_t i;
	int rc;

	typed = str_trim(typed);
	if (typed.n > FORM_TYPED)
		return err_set(e, E_INVAL, "that is too long: at most %d bytes", FORM_TYPED);
	if (!utf_valid(typed))
		return err_set(e, E_INVAL, "that is no text");
	switch (f->kind) {
	case FORM_TEXT:
		if ((rc = fits_text(f->schema, typed, e)) < 0)
			return rc;
		*value = json_of(typed, a);
		return OK;
	case FORM_INTEGER:
	case FORM_NUMBER:
		return take_number(f, typed, a, value, e);
	case FORM_BOOLEAN:
		return take_boolean(typed, value, e);
	case FORM_ONE:
		if ((i = option_of(f, typed, a)) == SIZE_MAX)
			return err_set(e, E_INVAL, "that is none of the options");
		*value = json_of(f->options[i].value, a);
		return OK;
	case FORM_MANY:
		return take_many(f, typed, a, value, e);
	}
	return OK;
}
