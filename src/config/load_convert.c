/*
 * From one input to a field of struct config, by the option's type.  Each converter returns
 * the value as it would be written in a file; a value that is wrong is reported, and its
 * field stays as it is.
 */
#include "config/load_internal.h"

#include <string.h>

#include "config/value.h"
#include "os/path.h"
#include "text/regex.h"

#define ZONES "/usr/share/zoneinfo"

static void *field(struct loader *l, const struct option *o)
{
	return o->at ? (char *)l->c + o->at : NULL;
}

static void refuse(struct loader *l, const struct input *in, const char *why)
{
	problem_add(l->p, in->node, in->name, "%s", why);
}

/* --- paths -------------------------------------------------------------------------- */

static str absolute(struct loader *l, const struct input *in, str path)
{
	str base = in->node ? l->base : l->cwd;

	if (str_starts(path, S("~"))) {
		if (path.n > 1 && path.p[1] != '/') {
			refuse(l, in, "~user is not supported; write the whole path");
			return S("");
		}
		if (!l->home.n) {
			refuse(l, in, "has a ~, but HOME is not set");
			return S("");
		}
		return arena_fmt(l->keep, "%.*s%.*s", STRF(l->home),
				 STRF(str_sub(path, 1, path.n)));
	}
	if (str_starts(path, S("/")))
		return arena_dup(l->keep, path);
	while (str_starts(path, S("./")))
		path = str_sub(path, 2, path.n);
	if (!path.n || str_eq(path, S(".")))
		return arena_dup(l->keep, base);
	return arena_fmt(l->keep, "%.*s%s%.*s", STRF(base), str_ends(base, S("/")) ? "" : "/",
			 STRF(path));
}

/* --- scalars ------------------------------------------------------------------------ */

static const char *check_zone(struct loader *l, str s, str *out)
{
	static const char rule[] = "must be an IANA time zone such as Europe/Berlin, or Local";

	if (str_ieq(s, S("local")) || str_ieq(s, S("utc"))) {
		*out = str_ieq(s, S("utc")) ? S("UTC") : S("Local");
		return NULL;
	}
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && (c == 0 || !strchr("_+-/", c)))
			return rule;
	}
	if (str_starts(s, S("/")) || str_ends(s, S("/")))
		return rule;
	if (path_kind(ZONES, NULL) == PATH_DIR &&
	    path_kind(arena_fmt(l->a, ZONES "/%.*s", STRF(s)).p, NULL) != PATH_FILE)
		return rule;
	*out = arena_dup(l->keep, s);
	return NULL;
}

static const char *check_backend(struct loader *l, str s, str *out)
{
	if (!str_ieq(s, S("builtin")) && !(str_starts(s, S("mcp:")) && str_trim(s).n > 4))
		return "must be builtin, or mcp: and the name of a server";
	*out = arena_dup(l->keep, str_ieq(s, S("builtin")) ? S("builtin") : s);
	return NULL;
}

/* The limits of the mode we are in; a tool that is off is not held to its own. */
static void limits(struct loader *l, const struct option *o, int64_t *min, int64_t *max)
{
	static const struct {
		const char *prefix, *enabled;
	} tools[] = { { "tools.filesystem.", "tools.filesystem.enabled" },
		      { "tools.web_fetch.", "tools.web_fetch.enabled" },
		      { "tools.exec.", "tools.exec.enabled" } };

	*min = l->c->file_mode && o->min_file ? o->min_file : o->min;
	*max = l->c->file_mode && o->max_file ? o->max_file : o->max;
	if (!*max)
		*max = INT64_MAX;
	for (size_t i = 0; i < COUNT(tools); i++) {
		if (!str_starts(str_of(o->key), str_of(tools[i].prefix)))
			continue;
		if (str_eq(config_setting(l, tools[i].enabled)->text, S("false"))) {
			*min = INT64_MIN;
			*max = INT64_MAX;
		}
	}
}

static const char *number(struct loader *l, const struct option *o, str s, str *shown)
{
	void *at = field(l, o);
	int64_t min, max, v = 0;
	const char *why;
	double d = 0;

	limits(l, o, &min, &max);
	if (o->type == OPT_REAL) {
		if ((why = value_real(l->a, s, min, max, &d)))
			return why;
		if (at)
			*(double *)at = d;
		*shown = arena_fmt(l->keep, "%g", d);
		return NULL;
	}
	why = o->type == OPT_MS ? value_ms(l->a, s, min, max, &v)
				: value_int(l->a, s, min, max, &v);
	if (why)
		return why;
	if (at)
		*(int64_t *)at = v;
	*shown = o->type == OPT_MS ? value_ms_text(l->keep, v)
				   : arena_fmt(l->keep, "%lld", (long long)v);
	return NULL;
}

static const char *money(struct loader *l, const struct option *o, str s, str *shown)
{
	int64_t nano;

	if (!price_read(s, &nano))
		return "must be an amount of money, such as 2.50";
	if (field(l, o))
		*(int64_t *)field(l, o) = nano;
	*shown = arena_dup(l->keep, s);
	return NULL;
}

static const char *boolean(struct loader *l, const struct option *o, str s, str *shown)
{
	const char *why;
	bool is;

	if ((why = value_bool(s, &is)))
		return why;
	if (field(l, o))
		*(bool *)field(l, o) = is;
	*shown = is ? S("true") : S("false");
	return NULL;
}

static const char *text(struct loader *l, const struct option *o, const struct input *in, str s,
			str *shown)
{
	const char *why = NULL;
	str v = arena_dup(l->keep, s);

	if (o->type == OPT_WORD)
		why = value_word(l->keep, s, o->words, &v);
	else if (o->type == OPT_URL)
		why = value_url(l->keep, s, &v);
	else if (o->type == OPT_ZONE)
		why = check_zone(l, s, &v);
	else if (o->type == OPT_BACKEND)
		why = check_backend(l, s, &v);
	else if (o->type == OPT_PATH)
		v = absolute(l, in, s);
	if (why)
		return why;
	if (field(l, o))
		*(str *)field(l, o) = v;
	*shown = v;
	return NULL;
}

static str scalar(struct loader *l, const struct option *o, const struct input *in)
{
	str s = str_trim(in->node ? in->node->text : in->text), shown = { 0 };
	const char *why;

	if (in->node && in->node->kind != YAML_SCALAR) {
		refuse(l, in, "must be a single value");
		return shown;
	}
	if (!s.n)
		return shown;
	switch (o->type) {
	case OPT_BOOL:
		why = boolean(l, o, s, &shown);
		break;
	case OPT_MONEY:
		why = money(l, o, s, &shown);
		break;
	case OPT_INT:
	case OPT_MS:
	case OPT_REAL:
		why = number(l, o, s, &shown);
		break;
	default:
		why = text(l, o, in, s, &shown);
	}
	if (why)
		refuse(l, in, why);
	return shown;
}

/* --- lists -------------------------------------------------------------------------- */

/* The elements as nodes, whatever they came from; NULL when it is no list. */
static const struct yaml *elements(struct loader *l, const struct input *in)
{
	struct yaml *list = NEW(l->a, struct yaml), **tail = &list->child;
	str rest = in->text;

	if (in->node)
		return in->node->kind == YAML_LIST ? in->node : NULL;
	if (str_starts(str_trim(rest), S("["))) {
		struct yaml *read = yaml_read(l->a, rest, &l->unwanted);

		return read && read->kind == YAML_LIST ? read : NULL;
	}
	while (rest.n) {
		struct yaml *item = NEW(l->a, struct yaml);

		item->text = arena_dup(l->a, str_trim(str_cut(&rest, ',')));
		*tail = item;
		tail = &item->next;
		list->n++;
	}
	return list;
}

static const char *check_regex(struct loader *l, str s, bool deny, size_t i)
{
	struct err e;

	if (regex_check(s, deny, &e) == OK)
		return NULL;
	return arena_fmt(l->a, "number %zu is not a regular expression: %s", i + 1, e.msg).p;
}

/* One element, understood; the first problem is returned. */
static const char *element(struct loader *l, const struct option *o, const struct input *in,
			   str s, size_t i, str *v, int64_t *id)
{
	*v = arena_dup(l->keep, s);
	switch (o->type) {
	case OPT_WORDS:
		return value_word(l->keep, s, o->words, v);
	case OPT_PATHS:
		*v = absolute(l, in, s);
		return NULL;
	case OPT_IDS:
		return str_i64(s, id) ? NULL : "must be a list of whole numbers";
	case OPT_REGEXES:
		return check_regex(l, s, str_ends(str_of(o->key), S("deny")), i);
	default:
		return NULL;
	}
}

static void keep_list(struct loader *l, const struct option *o, const str *v,
		      const int64_t *ids, size_t n)
{
	if (!field(l, o))
		return;
	if (o->type == OPT_IDS)
		*(struct i64_list *)field(l, o) = (struct i64_list){ ids, n };
	else
		*(struct str_list *)field(l, o) = (struct str_list){ v, n };
}

static str list(struct loader *l, const struct option *o, const struct input *in)
{
	const struct yaml *items = elements(l, in);
	size_t n = 0, max = items ? items->n : 0;
	str *v = NEWN(l->keep, str, max + 1);
	int64_t *ids = NEWN(l->keep, int64_t, max + 1);
	struct buf shown = buf_in(l->keep, 1 << 20);
	const struct yaml *at = in->node; /* of what is wrong */
	const char *why = items ? NULL : "must be a list, as in [one, two]";

	buf_addc(&shown, '[');
	for (const struct yaml *item = items ? items->child : NULL; item && !why;
	     item = item->next) {
		str s = str_trim(item->text);

		if (item->kind != YAML_SCALAR)
			why = "must be a list of single values";
		if (why || !s.n)
			continue;
		why = element(l, o, in, s, n, &v[n], &ids[n]);
		at = in->node ? item : NULL;
		s = o->type == OPT_IDS ? s : value_yaml(l->a, v[n]);
		buf_fmt(&shown, "%s%.*s", n++ ? ", " : "", STRF(s));
	}
	buf_addc(&shown, ']');
	if (why)
		problem_add(l->p, at, in->name, "%s", why);
	else
		keep_list(l, o, v, ids, n);
	return buf_str(&shown);
}

str config_convert(struct loader *l, const struct option *o, const struct input *in)
{
	if (o->type >= OPT_RULES)
		return config_structure(l, o, in);
	if (o->type >= OPT_STRS)
		return list(l, o, in);
	return scalar(l, o, in);
}
