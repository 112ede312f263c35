/*
 * Words for searching.  The folding here follows SQLite's unicode61 tokenizer closely enough
 * to score what its index found, and never has to match it exactly: the index folds again
 * whatever it is asked.
 *
 * Stems are cut by a list of endings, not by a grammar: they only widen a look-up, and the
 * score of another form is lower than that of the word itself.
 */
#include "text/terms.h"

#include "base/buf.h"
#include "base/utf.h"

#include <stdlib.h>
#include <string.h>

#define WORD_MAX 64 /* bytes of a word that count */
#define PART_MIN 5 /* bytes of a word that others are made with */

/* Words that are in every sentence; sorted. */
static const char *const stop_words[] = {
	"a",       "aber",    "about",   "above",   "ai",     "al",     "alle",   "alles",
	"als",     "also",    "am",      "an",      "and",    "any",    "ao",     "are",
	"as",      "at",      "au",      "auch",    "auf",    "aus",    "aux",    "avec",
	"be",      "been",    "bei",     "beim",    "bin",    "bis",    "bist",   "but",
	"by",      "can",     "che",     "chi",     "ci",     "com",    "come",   "como",
	"con",     "cosa",    "could",   "cual",    "cuando", "d",      "da",     "damit",
	"dann",    "dans",    "das",     "dass",    "de",     "dei",    "dein",   "deine",
	"del",     "della",   "dem",     "den",     "denn",   "der",    "des",    "di",
	"dich",    "did",     "die",     "dir",     "do",     "doch",   "does",   "don",
	"donde",   "du",      "durch",   "e",       "ein",    "eine",   "einem",  "einen",
	"einer",   "el",      "ella",    "elle",    "em",     "en",     "er",     "es",
	"est",     "esta",    "este",    "et",      "etwas",  "eu",     "euch",   "for",
	"from",    "fue",     "fur",     "gern",    "get",    "gibt",   "habe",   "haben",
	"had",     "has",     "hat",     "have",    "he",     "her",    "hers",   "hier",
	"him",     "his",     "how",     "i",       "ich",    "if",     "ihm",    "ihn",
	"ihr",     "ihre",    "il",      "im",      "in",     "is",     "ist",    "it",
	"its",     "ja",      "je",      "kann",    "kein",   "keine",  "know",   "l",
	"la",      "las",     "le",      "les",     "lo",     "los",    "ma",     "man",
	"mas",     "me",      "mein",    "meine",   "meinem", "meinen", "meiner", "mi",
	"mich",    "mir",     "mis",     "mit",     "mon",    "muss",   "my",     "nach",
	"ne",      "nicht",   "no",      "noch",    "non",    "not",    "nous",   "nur",
	"o",       "ob",      "oder",    "of",      "on",     "or",     "os",     "ou",
	"our",     "para",    "pas",     "per",     "please", "por",    "pour",   "que",
	"qui",     "quien",   "s",       "se",      "sehr",   "sein",   "seine",  "she",
	"si",      "sich",    "sie",     "sind",    "so",     "soll",   "some",   "son",
	"sono",    "su",      "sur",     "sus",     "t",      "tell",   "than",   "that",
	"the",     "their",   "them",    "then",    "there",  "these",  "they",   "this",
	"to",      "tu",      "tus",     "um",      "un",     "una",    "und",    "une",
	"uns",     "unser",   "us",      "uso",     "ve",     "vom",    "von",    "vor",
	"vous",    "wann",    "war",     "waren",   "warum",  "was",    "we",     "welche",
	"welchem", "welchen", "welcher", "welches", "wem",    "wen",    "wenn",   "wer",
	"were",    "wessen",  "what",    "when",    "where",  "which",  "who",    "whom",
	"whose",   "why",     "wie",     "will",    "wir",    "wird",   "with",   "wo",
	"woher",   "wohin",   "would",   "y",       "ya",     "yo",     "you",    "your",
	"zu",      "zum",     "zur",
};

/* Endings, longest first; what is left must keep three characters, or as many as said. */
static const struct {
	const char *text;
	size_t leave;
} endings[] = {
	{ "ungen", 4 }, { "iendo", 3 }, { "ations", 4 }, { "ation", 4 }, { "aciones", 4 },
	{ "acion", 4 }, { "ando", 3 },  { "ings", 3 },   { "isch", 4 },  { "ies", 3 },
	{ "ied", 3 },   { "ing", 3 },   { "ung", 4 },    { "ern", 4 },   { "est", 4 },
	{ "ido", 4 },   { "ado", 4 },   { "ida", 4 },    { "ada", 4 },   { "ers", 4 },
	{ "er", 4 },    { "en", 3 },    { "es", 3 },     { "em", 4 },    { "ed", 3 },
	{ "et", 4 },    { "ly", 4 },    { "ar", 4 },     { "ir", 4 },    { "os", 3 },
	{ "as", 3 },    { "an", 4 },    { "st", 4 },     { "te", 4 },    { "e", 3 },
	{ "s", 3 },     { "n", 4 },     { "t", 4 },      { "y", 3 },     { "o", 4 },
	{ "a", 4 },     { "i", 4 },
};

/* U+00C0 to U+017F without marks, one character each; '.' stands for one that has none. */
static const char latin[] = "aaaaaa.ceeeeiiii.nooooo..uuuuy..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
			    "aaaaaaccccccccdd..eeeeeeeeeegggggggghh..iiiiiiiii...jjkk.llllll."
			    "...nnnnnn...oooooo..rrrrrrsssssssstttt..uuuuuuuuuuuuwwyyyzzzzzz.";

static uint32_t fold(uint32_t cp)
{
	if (cp >= 'A' && cp <= 'Z')
		return cp + 32;
	if (cp >= 0xc0 && cp < 0xc0 + sizeof latin - 1 && latin[cp - 0xc0] != '.')
		return (unsigned char)latin[cp - 0xc0];
	if ((cp >= 0xc0 && cp <= 0xde) || (cp >= 0x391 && cp <= 0x3a9) ||
	    (cp >= 0x410 && cp <= 0x42f))
		return cp + 32;
	if (cp >= 0x400 && cp <= 0x40f)
		return cp + 80;
	if (cp >= 0x30a1 && cp <= 0x30f6) /* katakana as hiragana */
		return cp - 0x60;
	if (cp >= 0xff10 && cp <= 0xff5a) /* full width */
		return fold(cp - 0xfee0);
	return cp;
}

static bool mark(uint32_t cp)
{
	return cp >= 0x300 && cp <= 0x36f;
}

static const struct {
	uint32_t from, to;
} not_letters[] = {
	{ 0x80, 0xa9 },       { 0xab, 0xb4 },        { 0xb6, 0xb9 },     { 0xbb, 0xbf },
	{ 0xd7, 0xd7 },       { 0xf7, 0xf7 },        { 0x2000, 0x206f }, { 0x20a0, 0x20cf },
	{ 0x2190, 0x2bff },   { 0x3000, 0x3004 },    { 0x3008, 0x3020 }, { 0x3030, 0x3030 },
	{ 0x30fb, 0x30fb },   { 0xe000, 0xf8ff },    { 0xfe00, 0xfe6f }, { 0xff01, 0xff0f },
	{ 0xff1a, 0xff20 },   { 0xff3b, 0xff40 },    { 0xff5b, 0xff65 }, { 0xfff0, 0xffff },
	{ 0x1f000, 0x1faff }, { 0xe0000, 0x10ffff },
};

static bool letter(uint32_t cp)
{
	if (cp < 0x80)
		return (cp >= '0' && cp <= '9') || (cp >= 'a' && cp <= 'z') ||
		       (cp >= 'A' && cp <= 'Z');
	for (size_t i = 0; i < COUNT(not_letters); i++)
		if (cp >= not_letters[i].from && cp <= not_letters[i].to)
			return false;
	return true;
}

/* Of a script that puts no blanks between words. */
static bool unspaced(uint32_t cp)
{
	return (cp >= 0xe00 && cp <= 0xeff) || (cp >= 0x1000 && cp <= 0x109f) ||
	       (cp >= 0x1780 && cp <= 0x17ff) || (cp >= 0x3005 && cp <= 0x30ff) ||
	       (cp >= 0x31f0 && cp <= 0x31ff) || (cp >= 0x3400 && cp <= 0x9fff) ||
	       (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0x20000 && cp <= 0x3ffff);
}

/* Hangul has blanks, but its endings grow onto words: its pairs are grams as well. */
static bool paired(uint32_t cp)
{
	return unspaced(cp) || (cp >= 0xac00 && cp <= 0xd7a3);
}

static bool hiragana(uint32_t cp)
{
	return (cp >= 0x3041 && cp <= 0x309f) || cp == 0x30fc;
}

/* Characters of Chinese that are grammar. */
static bool particle(uint32_t cp)
{
	static const uint32_t v[] = { 0x7684, 0x4e86, 0x6211, 0x662f, 0x5728, 0x5417, 0x4ec0,
				      0x4e48, 0x4f60, 0x6709, 0x548c, 0x5462, 0x54ea, 0x8fd9,
				      0x90a3, 0x4e2a, 0x5f88, 0x4e5f, 0x8c01, 0x4ed6, 0x5979,
				      0x4eec, 0x8bf7, 0x4f1a, 0x4e0d, 0x51e0, 0x591a, 0x5c11 };

	for (size_t i = 0; i < COUNT(v); i++)
		if (v[i] == cp)
			return true;
	return false;
}

struct list {
	struct arena *a;
	struct term *v;
	size_t n, cap;
};

static void push(struct list *l, struct term t)
{
	if (l->n == l->cap) {
		size_t more = l->cap ? 2 * l->cap : 32;
		l->v = arena_grow(l->a, l->v, l->cap * sizeof *l->v, more * sizeof *l->v);
		l->cap = more;
	}
	l->v[l->n++] = t;
}

static size_t stem_of(str word)
{
	size_t chars = utf_count(word);

	if (chars < 4 || (word.p[0] >= '0' && word.p[0] <= '9'))
		return 0;
	for (size_t i = 0; i < COUNT(endings); i++) {
		str end = str_of(endings[i].text);
		if (str_ends(word, end) && chars >= end.n + endings[i].leave)
			return word.n - end.n;
	}
	return word.n;
}

static void push_word(struct list *l, str word)
{
	word = arena_dup(l->a, utf_head(word, WORD_MAX));
	push(l, (struct term){ .text = word, .stem = stem_of(word) });
}

static void push_gram(struct list *l, const uint32_t *cp, size_t n)
{
	char text[8];
	size_t used = 0;
	bool weak = true;

	for (size_t i = 0; i < n; i++) {
		used += utf_put(text + used, cp[i]);
		weak &= hiragana(cp[i]) || particle(cp[i]);
	}
	push(l, (struct term){ .text = arena_dup(l->a, (str){ text, used }),
			       .gram = true,
			       .weak = weak });
}

struct terms terms_all(struct arena *a, str text)
{
	struct list l = { .a = a };
	char word[WORD_MAX + 8];
	size_t used = 0, len;
	uint32_t before = 0; /* the character of a run that waits for its neighbour */

	for (str rest = text;; rest = str_sub(rest, len, rest.n)) {
		uint32_t raw = rest.n ? utf_next(rest, (len = 0, &len)) : 0;
		uint32_t cp = fold(raw);
		bool pair = rest.n && paired(raw) && letter(raw);

		if (rest.n && mark(raw))
			continue;
		if (used && (pair || !rest.n || !letter(raw))) {
			push_word(&l, (str){ word, used });
			used = 0;
		}
		if (before)
			push_gram(&l, (uint32_t[]){ before, cp }, pair ? 2 : 1);
		before = pair ? cp : 0;
		if (!rest.n)
			break;
		if (!pair && letter(raw) && used <= WORD_MAX)
			used += utf_put(word + used, cp);
	}
	return (struct terms){ l.v, l.n };
}

static int by_text(const void *key, const void *row)
{
	return str_cmp(*(const str *)key, str_of(*(const char *const *)row));
}

static bool stop_word(str word)
{
	return bsearch(&word, stop_words, COUNT(stop_words), sizeof *stop_words, by_text);
}

static bool has(const struct list *l, const struct term *t)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].gram == t->gram && str_eq(l->v[i].text, t->text))
			return true;
	return false;
}

/* The last character of a run begins a gram of its own; in a question it is looked for only
 * when it is the whole run. */
static bool tail_of_run(const struct terms *all, size_t i)
{
	const struct term *t = &all->v[i];

	return t->gram && utf_count(t->text) == 1 && i && all->v[i - 1].gram &&
	       str_ends(all->v[i - 1].text, t->text);
}

static bool han(uint32_t cp)
{
	return (cp >= 0x3400 && cp <= 0x9fff) || (cp >= 0xf900 && cp <= 0xfaff) ||
	       (cp >= 0x20000 && cp <= 0x3ffff);
}

/* One character of Han is a word of its own often enough: of each gram the first, of the last
 * gram of a run the second too (it is the tail). */
static void push_characters(struct list *l, const struct terms *all, size_t max)
{
	for (size_t i = 0; i < all->n && l->n < max; i++) {
		struct term t = all->v[i];
		size_t len = 0;
		if (!t.gram || !t.text.n)
			continue;
		uint32_t cp = utf_next(t.text, &len);
		t.text = str_sub(t.text, 0, len);
		t.weak = true;
		if (han(cp) && !particle(cp) && !has(l, &t))
			push(l, t);
	}
}

struct terms terms_wanted(struct arena *a, str query, size_t max)
{
	struct terms all = terms_all(a, query);

	for (int stops = 0; stops < 2; stops++) {
		struct list l = { .a = a };
		for (size_t i = 0; i < all.n && l.n < max; i++) {
			const struct term *t = &all.v[i];
			bool skip =
				t->gram ? tail_of_run(&all, i) : !stops && stop_word(t->text);
			if (!skip && !has(&l, t))
				push(&l, *t);
		}
		push_characters(&l, &all, max);
		if (l.n)
			return (struct terms){ l.v, l.n };
	}
	return (struct terms){ 0 };
}

double term_fits(const struct term *wanted, const struct term *found)
{
	if (wanted->gram != found->gram)
		return 0;
	if (str_eq(wanted->text, found->text))
		return 1;
	if (wanted->gram)
		return utf_count(wanted->text) == 1 && str_starts(found->text, wanted->text);
	if (wanted->stem && str_starts(found->text, str_sub(wanted->text, 0, wanted->stem)))
		/* A plural is nearer than a compound. */
		return found->text.n <= wanted->stem + 4 ? 0.85 : 0.5;
	bool part = found->text.n >= PART_MIN && (str_starts(wanted->text, found->text) ||
						  str_ends(wanted->text, found->text));
	return part ? 0.5 : 0;
}

str terms_key(const struct term *t)
{
	return t->stem ? str_sub(t->text, 0, t->stem) : t->text;
}

str terms_index(struct arena *a, str text)
{
	struct terms all = terms_all(a, text);
	struct buf b = buf_in(a, 4 * text.n + 64);

	for (size_t i = 0; i < all.n; i++) {
		buf_add(&b, i ? S(" ") : S(""));
		buf_add(&b, terms_key(&all.v[i]));
	}
	return buf_str(&b);
}

bool terms_same(struct arena *a, str x, str y)
{
	struct terms s = terms_all(a, x), t = terms_all(a, y);
	bool same = s.n == t.n;

	for (size_t i = 0; same && i < s.n; i++)
		same = s.v[i].gram == t.v[i].gram && str_eq(s.v[i].text, t.v[i].text);
	/* What is signs alone has no words to compare. */
	return same && (s.n || str_eq(str_trim(x), str_trim(y)));
}
