/*
 * Where to cut.  A walk over the characters as people see them, up to the limit, remembers
 * the last place of each kind; the best kind that does not waste most of the message wins.
 * Also where in the source a place of the text is.
 */
#include "text/tghtml_doc.h"

#include "base/utf.h"

#include <string.h>

#define ZWJ 0x200Du
/* Telegram drops what is formatted beyond a hundred places, and refuses a message when all
 * links together are longer than some 9500 bytes. */
#define ENTITIES_MAX 100
#define LINKS_MAX 8192
#define CLUSTER_MAX TG_LIMIT_MIN /* units; longer ones are cut */

/* What Telegram takes for nothing. */
static bool unseen(uint32_t cp)
{
	static const struct utf_range none[] = {
		{ 0x00, 0x20 },       { 0x7F, 0xA0 },     { 0xAD, 0xAD },
		{ 0x34F, 0x34F },     { 0x61C, 0x61C },   { 0x115F, 0x1160 },
		{ 0x1680, 0x1680 },   { 0x17B4, 0x17B5 }, { 0x180B, 0x180F },
		{ 0x2000, 0x200F },   { 0x2028, 0x202F }, { 0x205F, 0x206F },
		{ 0x2800, 0x2800 },   { 0x3000, 0x3000 }, { 0x3164, 0x3164 },
		{ 0xFE00, 0xFE0F },   { 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 },
		{ 0xE0000, 0xE0FFF },
	};

	return utf_within(none, COUNT(none), cp);
}

bool tg_visible(str text)
{
	for (size_t i = 0, len; i < text.n; i += len)
		if (!unseen(utf_next(str_sub(text, i, text.n), &len)))
			return true;
	return false;
}

static size_t units_of(uint32_t cp)
{
	return cp >= 0x10000 ? 2 : 1;
}

size_t tg_units(str text)
{
	size_t n = 0, len;

	for (size_t i = 0; i < text.n; i += len)
		n += units_of(utf_next(str_sub(text, i, text.n), &len));
	return n;
}

static bool blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t';
}

static bool flag_half(uint32_t cp)
{
	return cp >= 0x1F1E6 && cp <= 0x1F1FF;
}

/* Does it belong to the character before? */
static bool extends(uint32_t cp)
{
	return (cp >= 0x300 && utf_width(cp) == 0) || (cp >= 0x1F3FB && cp <= 0x1F3FF) ||
	       (cp >= 0xE0020 && cp <= 0xE007F);
}

/* The bytes of the first character as people see it, and its units. */
static size_t cluster(str s, size_t *units)
{
	size_t n, len;
	uint32_t last = utf_next(s, &n), cp;

	*units = units_of(last);
	if (blank(s.p[0]))
		return n;
	if (flag_half(last) && n < s.n && flag_half(utf_next(str_sub(s, n, s.n), &len))) {
		n += len;
		*units += 2;
	}
	while (n < s.n && (unsigned char)s.p[n] >= 0x80) {
		cp = utf_next(str_sub(s, n, s.n), &len);
		if ((!extends(cp) && last != ZWJ) || *units + units_of(cp) > CLUSTER_MAX)
			break;
		n += len;
		*units += units_of(cp);
		last = cp;
	}
	return n;
}

size_t tg_run_at(const struct tg_doc *d, size_t at)
{
	size_t lo = 0, hi = d->runs_n;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (d->runs[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void tg_trim(const struct tg_doc *d, size_t *from, size_t *to)
{
	const char *p = d->text.p;

	while (*to > *from && blank(p[*to - 1]))
		--*to;
	/* The indentation of code is seen. */
	while (*from < *to && blank(p[*from]) &&
	       (p[*from] == '\n' || !d->runs[tg_run_at(d, *from)].style.pre))
		++*from;
}

/* --- levels -------------------------------------------------------------------------- */

static size_t first_break(const struct tg_doc *d, size_t at)
{
	size_t lo = 0, hi = d->breaks_n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (d->breaks[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool ends_sentence(str before)
{
	static const char *const wide[] = { "\u3002", "\uFF01", "\uFF1F" };

	for (size_t i = 0; i < COUNT(wide); i++)
		if (str_ends(before, str_of(wide[i])))
			return true;
	return false;
}

/* What a cut at the byte at would part, -1 when it parts a word. */
static int level_at(const struct tg_doc *d, size_t from, size_t at, bool made_up)
{
	str before = str_sub(buf_str((struct buf *)&d->text), from, at);
	char c = before.p[before.n - 1], c2 = before.n > 1 ? before.p[before.n - 2] : 0;

	if (c == '\n')
		return c2 == '\n' ? TG_PART : TG_LINE;
	if (c == ' ' && !made_up)
		return c2 == '.' || c2 == '!' || c2 == '?' ? TG_SENTENCE : TG_SPACE;
	return ends_sentence(before) ? TG_SENTENCE : -1;
}

/* How much of the units that there is room for a place of a kind has to have before it. */
static size_t least(enum tg_level level, size_t room)
{
	return level == TG_SPACE ? 1 : level == TG_BLOCK ? room / 8 : room / 4;
}

struct walk {
	const struct tg_doc *d;
	size_t run, brk; /* at the byte or behind it */
	size_t entities, weight; /* tags so far, and the bytes of links in HTML */
	struct tg_style style; /* of the run before */
	size_t best[TG_LEVELS], units[TG_LEVELS]; /* the last place of each kind */
};

static size_t link_weight(const struct tg_doc *d, unsigned link)
{
	str s = d->links[link - 1];
	size_t n = s.n + 16;

	for (size_t i = 0; i < s.n; i++)
		n += strchr("&<>\"", s.p[i]) ? 5 : 0;
	return n;
}

/* Count what the run opens.  Is it still no more than Telegram takes? */
static bool enter_run(struct walk *w)
{
	const struct tg_style *s = &w->d->runs[w->run].style;

	for (unsigned bit = TG_BOLD; bit <= TG_CODE; bit *= 2)
		w->entities += (s->bits & bit) > (w->style.bits & bit);
	w->entities += s->pre && s->pre != w->style.pre;
	w->entities += s->quote && s->quote != w->style.quote;
	if (s->link && s->link != w->style.link) {
		w->entities++;
		w->weight += link_weight(w->d, s->link);
	}
	w->style = *s;
	return w->entities <= ENTITIES_MAX && w->weight <= LINKS_MAX;
}

static void remember(struct walk *w, size_t from, size_t at, size_t units)
{
	const struct tg_doc *d = w->d;
	int level;

	while (w->brk < d->breaks_n && d->breaks[w->brk].at < at)
		w->brk++;
	if (w->brk < d->breaks_n && d->breaks[w->brk].at == at)
		level = (int)d->breaks[w->brk].level;
	else
		level = level_at(d, from, at, d->runs[w->run].src == TG_NO_SOURCE);
	if (level < 0 || units == 0)
		return;
	w->best[level] = at;
	w->units[level] = units;
}

size_t tg_cut(const struct tg_doc *d, size_t from, size_t end, size_t limit, bool by_level)
{
	struct walk w = { .d = d, .run = tg_run_at(d, from), .brk = first_break(d, from) };
	size_t units = 0, seen = 0, i = from, n;

	(void)enter_run(&w);
	while (i < end) {
		size_t len = cluster((str){ d->text.p + i, end - i }, &n);
		bool space = blank(d->text.p[i]), fits = true;
		while (w.run + 1 < d->runs_n && d->runs[w.run + 1].at <= i && fits) {
			w.run++;
			fits = enter_run(&w);
		}
		if (!fits || (!space && units + n > limit))
			break;
		i += len;
		units += n;
		if (!space)
			seen = units;
		remember(&w, from, i, seen);
	}
	if (i >= end || !by_level)
		return i;
	for (int level = TG_LEVELS - 1; level >= 0; level--)
		if (w.best[level] && w.units[level] >= least((enum tg_level)level, seen))
			return w.best[level];
	return i;
}

/* --- the source ---------------------------------------------------------------------- */

/* Where in the source the text at the byte at begins. */
static size_t source_from(const struct tg_doc *d, size_t at)
{
	size_t r = tg_run_at(d, at);
	const struct tg_run *run = &d->runs[r];

	if (run->src != TG_NO_SOURCE && at > run->at)
		return run->src + (at - run->at < run->src_n ? at - run->at : run->src_n);
	while (r < d->runs_n && d->runs[r].src == TG_NO_SOURCE)
		r++;
	return r < d->runs_n ? d->runs[r].src : d->source.n;
}

/* Where in it the text before the byte at ends. */
static size_t source_to(const struct tg_doc *d, size_t at)
{
	size_t r;

	if (at == 0)
		return 0;
	r = tg_run_at(d, at - 1);
	const struct tg_run *run = &d->runs[r];
	if (run->src != TG_NO_SOURCE)
		return run->src + (at - run->at < run->src_n ? at - run->at : run->src_n);
	while (r > 0 && d->runs[r].src == TG_NO_SOURCE)
		r--;
	return d->runs[r].src == TG_NO_SOURCE ? 0 : d->runs[r].src + d->runs[r].src_n;
}

/* Behind the last blank line in s, or 0; the first line is no whole one. */
static size_t behind_blank_line(str s)
{
	size_t found = 0;
	bool empty = false;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n') {
			if (empty)
				found = i + 1;
			empty = true;
		} else if (!strchr(" \t>", s.p[i])) {
			empty = false;
		}
	}
	return found;
}

size_t tg_source(const struct tg_doc *d, size_t at)
{
	size_t before, behind, n, end = at;
	str gap;

	while (end > 0 && blank(d->text.p[end - 1]))
		end--;
	if (end == 0)
		return 0;
	before = source_to(d, end);
	behind = source_from(d, at);
	if (behind <= before)
		return behind;
	gap = str_sub(d->source, before, behind);
	if ((n = behind_blank_line(gap)) > 0)
		return before + n;
	/* Code begins with its fence, else a line with its markup, else a word with its stars. */
	if (d->runs[tg_run_at(d, at)].style.pre && (n = str_find(gap, S("\n"))) != SIZE_MAX)
		return before + n + 1;
	for (n = gap.n; n > 0 && gap.p[n - 1] != '\n'; n--)
		;
	if (n == 0)
		for (n = gap.n; n > 0 && gap.p[n - 1] != ' '; n--)
			;
	return n ? before + n : behind;
}
