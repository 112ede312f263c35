/*
 * Entities: numbers, and the names that models do write.
 */
#include "text/entity.h"

#include "base/utf.h"

static const struct {
	str name, text;
} names[] = {
	{ S("amp"), S("&") },
	{ S("lt"), S("<") },
	{ S("gt"), S(">") },
	{ S("quot"), S("\"") },
	{ S("apos"), S("'") },
	{ S("nbsp"), S("\xc2\xa0") },
	{ S("copy"), S("\xc2\xa9") },
	{ S("reg"), S("\xc2\xae") },
	{ S("deg"), S("\xc2\xb0") },
	{ S("plusmn"), S("\xc2\xb1") },
	{ S("middot"), S("\xc2\xb7") },
	{ S("times"), S("\xc3\x97") },
	{ S("ndash"), S("\xe2\x80\x93") },
	{ S("mdash"), S("\xe2\x80\x94") },
	{ S("lsquo"), S("\xe2\x80\x98") },
	{ S("rsquo"), S("\xe2\x80\x99") },
	{ S("ldquo"), S("\xe2\x80\x9c") },
	{ S("rdquo"), S("\xe2\x80\x9d") },
	{ S("bull"), S("\xe2\x80\xa2") },
	{ S("hellip"), S("\xe2\x80\xa6") },
	{ S("euro"), S("\xe2\x82\xac") },
	{ S("larr"), S("\xe2\x86\x90") },
	{ S("rarr"), S("\xe2\x86\x92") },
};

/* "38" or "x26"; 0 when it is no character. */
static uint32_t number(str s)
{
	bool hex = s.n && (s.p[0] == 'x' || s.p[0] == 'X');
	uint32_t base = hex ? 16 : 10, v = 0;

	s = str_sub(s, hex, s.n);
	for (size_t i = 0; i < s.n; i++) {
		int d = str_hex(s.p[i]);
		if (d < 0 || d >= (int)base || v > 0x10ffff)
			return 0;
		v = v * base + (uint32_t)d;
	}
	return v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : v;
}

str text_entity(struct arena *a, str entity)
{
	str name = entity.n > 2 ? str_sub(entity, 1, entity.n - 1) : S("");
	char p[4];

	if (name.n && name.p[0] == '#') {
		uint32_t cp = number(str_sub(name, 1, name.n));
		return cp ? arena_dup(a, (str){ p, utf_put(p, cp) }) : entity;
	}
	for (size_t i = 0; i < COUNT(names); i++)
		if (str_eq(names[i].name, name))
			return names[i].text;
	return entity;
}

void text_escape(struct buf *out, str s)
{
	for (size_t i = 0; i < s.n; i++) {
		switch (s.p[i]) {
		case '<':
			buf_add(out, S("&lt;"));
			break;
		case '>':
			buf_add(out, S("&gt;"));
			break;
		case '&':
			buf_add(out, S("&amp;"));
			break;
		case '"':
			buf_add(out, S("&quot;"));
			break;
		default:
			buf_addc(out, s.p[i]);
		}
	}
}
