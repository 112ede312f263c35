/*
 * Labels of character sets, where a document keeps its own, and the four sets that are the
 * most of the web.
 */
#include "text/charset.h"

#include "base/ascii.h"
#include "base/utf.h"

#define LOOK 1024 /* bytes at the beginning in which a document says it */

static const char utf8[] = "utf-8", latin1[] = "windows-1252";
static const char utf16le[] = "utf-16le", utf16be[] = "utf-16be";

static const struct {
	const char *label, *name;
} labels[] = {
	{ "utf-8", utf8 },
	{ "utf8", utf8 },
	{ "unicode-1-1-utf-8", utf8 },
	{ "us-ascii", latin1 },
	{ "ascii", latin1 },
	{ "iso-8859-1", latin1 },
	{ "iso8859-1", latin1 },
	{ "iso_8859-1", latin1 },
	{ "latin1", latin1 },
	{ "l1", latin1 },
	{ "cp1252", latin1 },
	{ "windows-1252", latin1 },
	{ "x-cp1252", latin1 },
	{ "utf-16", utf16le },
	{ "utf-16le", utf16le },
	{ "utf-16be", utf16be },
	{ "iso-8859-2", "ISO-8859-2" },
	{ "latin2", "ISO-8859-2" },
	{ "iso-8859-3", "ISO-8859-3" },
	{ "iso-8859-4", "ISO-8859-4" },
	{ "iso-8859-5", "ISO-8859-5" },
	{ "iso-8859-6", "ISO-8859-6" },
	{ "iso-8859-7", "ISO-8859-7" },
	{ "iso-8859-8", "ISO-8859-8" },
	{ "iso-8859-8-i", "ISO-8859-8" },
	{ "iso-8859-9", "CP1254" },
	{ "latin5", "CP1254" },
	{ "iso-8859-10", "ISO-8859-10" },
	{ "iso-8859-11", "CP874" },
	{ "tis-620", "CP874" },
	{ "iso-8859-13", "ISO-8859-13" },
	{ "iso-8859-14", "ISO-8859-14" },
	{ "iso-8859-15", "ISO-8859-15" },
	{ "latin9", "ISO-8859-15" },
	{ "iso-8859-16", "ISO-8859-16" },
	{ "windows-874", "CP874" },
	{ "windows-1250", "CP1250" },
	{ "cp1250", "CP1250" },
	{ "windows-1251", "CP1251" },
	{ "cp1251", "CP1251" },
	{ "x-cp1251", "CP1251" },
	{ "windows-1253", "CP1253" },
	{ "windows-1254", "CP1254" },
	{ "windows-1255", "CP1255" },
	{ "windows-1256", "CP1256" },
	{ "windows-1257", "CP1257" },
	{ "windows-1258", "CP1258" },
	{ "koi8-r", "KOI8-R" },
	{ "koi8", "KOI8-R" },
	{ "koi8-u", "KOI8-U" },
	{ "ibm866", "CP866" },
	{ "cp866", "CP866" },
	{ "macintosh", "MACINTOSH" },
	{ "shift_jis", "CP932" },
	{ "shift-jis", "CP932" },
	{ "sjis", "CP932" },
	{ "x-sjis", "CP932" },
	{ "ms_kanji", "CP932" },
	{ "windows-31j", "CP932" },
	{ "euc-jp", "EUC-JP" },
	{ "x-euc-jp", "EUC-JP" },
	{ "iso-2022-jp", "ISO-2022-JP" },
	{ "gb2312", "GB18030" },
	{ "gbk", "GB18030" },
	{ "x-gbk", "GB18030" },
	{ "gb18030", "GB18030" },
	{ "gb_2312-80", "GB18030" },
	{ "big5", "BIG5-HKSCS" },
	{ "big5-hkscs", "BIG5-HKSCS" },
	{ "cn-big5", "BIG5-HKSCS" },
	{ "x-x-big5", "BIG5-HKSCS" },
	{ "euc-kr", "CP949" },
	{ "ks_c_5601-1987", "CP949" },
	{ "ksc5601", "CP949" },
	{ "korean", "CP949" },
	{ "windows-949", "CP949" },
};

/* Where word begins in s in whatever case, from i on. */
static size_t find(str s, size_t i, str word)
{
	for (; i + word.n <= s.n; i++)
		if (str_ieq(str_sub(s, i, i + word.n), word))
			return i;
	return SIZE_MAX;
}

/* What stands behind word and an equals sign, in quotes or not; "" nothing. */
static str value_of(str s, str word)
{
	for (size_t i = 0; (i = find(s, i, word)) != SIZE_MAX;) {
		i += word.n;
		while (i < s.n && ascii_space(s.p[i]))
			i++;
		if (i == s.n || s.p[i] != '=')
			continue;
		for (i++; i < s.n && (ascii_space(s.p[i]) || s.p[i] == '"' || s.p[i] == '\'');)
			i++;
		size_t from = i;
		while (i < s.n && !ascii_space(s.p[i]) && s.p[i] != '"' && s.p[i] != '\'' &&
		       s.p[i] != ';' && s.p[i] != '>' && s.p[i] != '/' && s.p[i] != '?' &&
		       s.p[i] != ',')
			i++;
		return str_sub(s, from, i);
	}
	return (str){ 0 };
}

/* <?xml encoding="x"?>, <meta charset=x>, <meta content="text/html; charset=x">. */
static str in_document(str bytes)
{
	str head = str_sub(bytes, 0, LOOK);

	if (str_starts(head, S("<?xml"))) {
		str value = value_of(str_sub(head, 0, str_find(head, S("?>"))), S("encoding"));
		if (value.n)
			return value;
	}
	for (size_t i = 0; (i = find(head, i, S("<meta"))) != SIZE_MAX; i += 5) {
		str tag = str_sub(head, i, head.n);
		str value = value_of(str_sub(tag, 0, str_find(tag, S(">"))), S("charset"));
		if (value.n)
			return value;
	}
	return (str){ 0 };
}

static const char *known(str label)
{
	for (size_t i = 0; i < COUNT(labels); i++)
		if (str_ieq(label, str_of(labels[i].label)))
			return labels[i].name;
	return NULL;
}

static bool marked(struct charset *out, str bytes)
{
	if (str_starts(bytes, S("\xef\xbb\xbf")))
		*out = (struct charset){ .name = utf8, .skip = 3 };
	else if (str_starts(bytes, S("\xfe\xff")))
		*out = (struct charset){ .name = utf16be, .skip = 2 };
	else if (str_starts(bytes, S("\xff\xfe")))
		*out = (struct charset){ .name = utf16le, .skip = 2 };
	else
		return false;
	return true;
}

void charset_find(struct charset *out, str header, str bytes, bool markup)
{
	if (marked(out, bytes))
		return;
	*out = (struct charset){ .label = value_of(header, S("charset")) };
	if (!out->label.n && markup) {
		out->label = in_document(bytes);
		/* It was read as ASCII, so it is not this. */
		if (out->label.n && (out->name = known(out->label)) &&
		    (out->name == utf16le || out->name == utf16be))
			out->name = utf8;
	}
	if (out->label.n) {
		out->name = out->name ? out->name : known(out->label);
		return;
	}
	out->name = utf_valid(bytes) ? utf8 : latin1;
	out->guessed = true;
}

/* --- the four ----------------------------------------------------------------------- */

static void put(struct buf *b, uint32_t cp)
{
	char p[4];

	buf_add(b, (str){ p, utf_put(p, cp) });
}

static str windows1252(struct arena *a, str bytes)
{
	static const uint16_t high[32] = {
		0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
		0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
		0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
		0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178,
	};
	struct buf b = buf_in(a, bytes.n * 3);

	for (size_t i = 0; i < bytes.n; i++) {
		unsigned char c = (unsigned char)bytes.p[i];
		put(&b, c >= 0x80 && c < 0xa0 ? high[c - 0x80] : c);
	}
	return buf_str(&b);
}

static uint32_t unit(str s, size_t i, bool big)
{
	uint32_t x = (unsigned char)s.p[i], y = (unsigned char)s.p[i + 1];

	return big ? x << 8 | y : y << 8 | x;
}

static str utf16(struct arena *a, str bytes, bool big)
{
	struct buf b = buf_in(a, bytes.n * 2 + 3);

	for (size_t i = 0; i + 1 < bytes.n; i += 2) {
		uint32_t u = unit(bytes, i, big), low;
		if (u >= 0xd800 && u < 0xdc00 && i + 3 < bytes.n &&
		    (low = unit(bytes, i + 2, big)) >= 0xdc00 && low < 0xe000) {
			put(&b, 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00));
			i += 2;
		} else {
			put(&b, u >= 0xd800 && u < 0xe000 ? 0xfffd : u);
		}
	}
	return buf_str(&b);
}

bool charset_decode(struct arena *a, const char *name, str bytes, str *out)
{
	if (name == utf8)
		*out = utf_repair(a, bytes);
	else if (name == latin1)
		*out = windows1252(a, bytes);
	else if (name == utf16le || name == utf16be)
		*out = utf16(a, bytes, name == utf16be);
	else
		return false;
	return true;
}
