/*
 * Patterns, which are written as ECMAScript has them: what that spells otherwise than our own
 * regular expressions is put into words of those.  Flags, look-behind and the rest are the same
 * in both; a script is a property by its own name in both too.
 */
#include "text/schema_parts.h"

#define PATTERN_MAX 2000 /* bytes of one */
/* What white space is there. */
#define BLANKS                                                                                 \
	"\\t\\n\\x{b}\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}"    \
	"\\x{205f}\\x{3000}\\x{feff}"

/* The long names of general categories. */
static const struct {
	const char *name, *known;
} categories[] = {
	{ "Letter", "L" },
	{ "Uppercase_Letter", "Lu" },
	{ "Lowercase_Letter", "Ll" },
	{ "Titlecase_Letter", "Lt" },
	{ "Cased_Letter", "L&" },
	{ "Modifier_Letter", "Lm" },
	{ "Other_Letter", "Lo" },
	{ "Mark", "M" },
	{ "Combining_Mark", "M" },
	{ "Number", "N" },
	{ "Decimal_Number", "Nd" },
	{ "digit", "Nd" },
	{ "Letter_Number", "Nl" },
	{ "Other_Number", "No" },
	{ "Punctuation", "P" },
	{ "punct", "P" },
	{ "Symbol", "S" },
	{ "Math_Symbol", "Sm" },
	{ "Currency_Symbol", "Sc" },
	{ "Separator", "Z" },
	{ "Space_Separator", "Zs" },
	{ "Control", "Cc" },
	{ "Other", "C" },
};

/* \p{Letter}, \p{gc=L} and \p{Script=Greek}: how much of s it is, 0 when it is none of these. */
static size_t translate_property(struct buf *b, str s)
{
	static const char *const prefixes[] = { "General_Category=", "gc=", "Script=", "sc=" };
	size_t end = str_find(s, S("}"));
	str name;

	if (s.n < 4 || (s.p[1] != 'p' && s.p[1] != 'P') || s.p[2] != '{' || end == SIZE_MAX)
		return 0;
	name = str_sub(s, 3, end);
	for (size_t i = 0; i < COUNT(prefixes); i++)
		if (str_starts(name, str_of(prefixes[i])))
			name = str_sub(name, str_of(prefixes[i]).n, name.n);
	for (size_t i = 0; i < COUNT(categories); i++)
		if (str_is(name, categories[i].name))
			name = str_of(categories[i].known);
	buf_fmt(b, "\\%c{%.*s}", s.p[1], STRF(name));
	return end + 1;
}

/* The escape at the front of s, and how much of s that is. */
static size_t translate_escape(struct buf *b, str s, bool in_class)
{
	size_t n = translate_property(b, s);

	if (n)
		return n;
	if (s.n > 5 && s.p[1] == 'u' && str_hex(s.p[2]) >= 0 && str_hex(s.p[3]) >= 0 &&
	    str_hex(s.p[4]) >= 0 && str_hex(s.p[5]) >= 0) {
		buf_fmt(b, "\\x{%.4s}", s.p + 2);
		return 6;
	}
	if (s.n > 1 && s.p[1] == 's')
		buf_add(b, in_class ? S(BLANKS) : S("[" BLANKS "]"));
	else if (s.n > 1 && s.p[1] == 'S' && !in_class)
		buf_add(b, S("[^" BLANKS "]"));
	else
		buf_add(b, str_sub(s, 0, s.n > 1 ? 2 : 1));
	return s.n > 1 ? 2 : 1;
}

static str translate(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n * sizeof BLANKS + 16);
	bool in_class = false;

	if (!memchr(s.p, '\\', s.n) && !str_has(s, S("[^]")))
		return s;
	for (size_t i = 0; i < s.n;) {
		if (s.p[i] == '\\') {
			i += translate_escape(&b, str_sub(s, i, s.n), in_class);
			continue;
		}
		if (!in_class && str_starts(str_sub(s, i, s.n), S("[^]"))) {
			buf_add(&b, S("[\\s\\S]"));
			i += 3;
			continue;
		}
		if (s.p[i] == '[' || s.p[i] == ']')
			in_class = s.p[i] == '[';
		buf_addc(&b, s.p[i++]);
	}
	return buf_str(&b);
}

static const struct schema_pattern *pattern_of(struct schema_run *k, str source)
{
	size_t passed = 0;

	for (const struct schema_pattern *p = k->patterns; p; p = p->next, passed++)
		if (p->source.p == source.p && p->source.n == source.n)
			return schema_spend(k, passed / 16) ? p : NULL;
	if (!schema_spend(k, passed / 16))
		return NULL;
	struct schema_pattern *p = NEW(k->a, struct schema_pattern);
	p->source = source;
	if (source.n > PATTERN_MAX || !schema_spend(k, 50 + source.n) ||
	    regex_open(&p->re, translate(k->a, source), false, NULL) < 0)
		p->re = NULL;
	else
		(void)schema_spend(k, regex_size(p->re) / 16);
	p->next = k->patterns;
	k->patterns = p;
	return p;
}

bool schema_matches(struct schema_run *k, str pattern, str text)
{
	/* The library looks at every byte before it begins. */
	size_t cost = 4 + text.n / 128;
	const struct schema_pattern *p = schema_spend(k, cost) ? pattern_of(k, pattern) : NULL;

	if (!p || !p->re || k->spent)
		return true;
	k->regex_left -= cost < k->regex_left ? cost : k->regex_left;
	if (!k->room)
		k->room = regex_room_new();
	enum regex_found f = regex_find_within(p->re, k->room, text, &k->regex_left);
	if (f == REGEX_GIVEN_UP)
		k->spent = true;
	return f != REGEX_NO;
}
