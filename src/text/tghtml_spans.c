/*
 * Markdown to text with styles: spans, links and photos.  Stars inside of a product or an
 * identifier stay stars.
 */
#include "text/tghtml_parse.h"

#include "base/utf.h"

#include <string.h>

#define SOURCE_MAX (16u << 20)
#define TEXT_FACTOR 80 /* indentation before one character, lazily continued, is the worst */
#define LINKS_FACTOR 4 /* all targets together: a reference may be used often */
#define ROOM_MIN 65536
#define URL_MAX 512 /* bytes before a mark that are looked at */
#define MARKS_MAX 64 /* more in a row are decoration */
#define SHOWN_MAX 256 /* bytes of a target that is shown itself */

static bool scheme(str url, const char *name)
{
	str s = str_of(name);

	return url.n > s.n && str_ieq(str_sub(url, 0, s.n), s);
}

static bool web(str url)
{
	return scheme(url, "http://") || scheme(url, "https://");
}

/* Has its path one of these endings? */
static bool ends_in(str url, const char *const *endings, size_t n)
{
	size_t end = 0;

	while (end < url.n && url.p[end] != '?' && url.p[end] != '#')
		end++;
	for (size_t i = 0; i < n; i++) {
		str e = str_of(endings[i]);
		if (end > e.n && str_ieq(str_sub(url, end - e.n, end), e))
			return true;
	}
	return false;
}

static bool is_image(str url)
{
	static const char *const endings[] = { ".jpg", ".jpeg", ".png", ".gif", ".webp" };

	return web(url) && ends_in(url, endings, COUNT(endings));
}

/* Can it be sent as a photo?  Telegram takes no drawings. */
static bool is_photo(const struct tg_parse *r, str url)
{
	static const char *const drawings[] = { ".svg" };

	if (!r->photos || r->mute || !web(url) || url.n > TG_LINK_MAX ||
	    ends_in(url, drawings, COUNT(drawings)))
		return false;
	for (size_t i = 0; i < r->d->photos_n; i++)
		if (str_eq(r->d->photos[i].url, url))
			return true;
	return r->d->photos_n < TG_PHOTOS_MAX;
}

/* A target without bytes that no URL has. */
static str encoded(struct tg_parse *r, str url)
{
	struct buf b = buf_in(r->a, url.n * 3);

	for (size_t i = 0; i < url.n; i++) {
		unsigned char c = (unsigned char)url.p[i];
		if (c <= ' ' || c == 0x7f)
			buf_fmt(&b, "%%%02X", c);
		else
			buf_addc(&b, url.p[i]);
	}
	return buf_str(&b);
}

/* The id of a link to url, 0 when there is to be none. */
static unsigned link_to(struct tg_parse *r, str url)
{
	struct tg_doc *d = r->d;

	if (!web(url) && !scheme(url, "tg://") && !scheme(url, "mailto:"))
		return 0;
	if (url.n > TG_LINK_MAX || url.n > r->links_budget)
		return 0;
	r->links_budget -= url.n;
	TG_MORE(r, d->links, d->links_n, r->d->links_room);
	d->links[d->links_n++] = url;
	return (unsigned)d->links_n;
}

/* Take out a photo. */
static void add_photo(struct tg_parse *r, str url)
{
	struct tg_doc *d = r->d;
	size_t i = 0;

	while (i < d->photos_n && !str_eq(d->photos[i].url, url))
		i++;
	if (i == d->photos_n)
		d->photos[d->photos_n++] = (struct tg_photo){ .url = url };
	for (size_t k = 0; k < tg_depths(r); k++)
		r->levels[k].photo = true;
	buf_reset(&r->alt);
	r->mute = true;
}

static void end_photo(struct tg_parse *r, str url)
{
	struct tg_photo *last = &r->d->photos[r->d->photos_n - 1];

	if (str_eq(last->url, url) && last->alt.n == 0)
		last->alt = arena_dup(r->a, str_trim(buf_str(&r->alt)));
	r->mute = false;
	r->took = true;
}

static bool word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Is it __name__, which is an identifier, and not __some words__? */
static bool dunder(str source, size_t at)
{
	size_t n = at;

	while (n < source.n &&
	       ((source.p[n] >= 'a' && source.p[n] <= 'z') ||
		(source.p[n] >= '0' && source.p[n] <= '9') ||
		(source.p[n] == '_' && n + 1 < source.n && source.p[n + 1] != '_')))
		n++;
	return n > at + 1 && str_starts(str_sub(source, n, source.n), S("__"));
}

/* Does the byte at belong to a bare URL that begins before it? */
static bool in_url(str source, size_t at)
{
	size_t from = at;

	while (from > 0 && at - from < URL_MAX && !strchr(" \t\n<>\"'", source.p[from - 1]))
		from--;
	str run = str_sub(source, from, at);
	return str_has(run, S("http://")) || str_has(run, S("https://"));
}

/* A span of emphasis whose text begins at src: are its marks a part of the text? */
static const char *kept_marks(const struct tg_parse *r, MD_SPANTYPE type, size_t src)
{
	str s = r->d->source;
	size_t from = src;
	char mark = src ? s.p[src - 1] : 0;

	while (from > 0 && src - from < MARKS_MAX && s.p[from - 1] == mark)
		from--;
	if (r->links == 0 && in_url(s, from))
		return type == MD_SPAN_EM    ? (mark == '*' ? "*" : "_")
		       : type == MD_SPAN_DEL ? (src - from == 1 ? "~" : "~~")
					     : (mark == '*' ? "**" : "__");
	if (type == MD_SPAN_DEL)
		return mark == '~' && src - from == 1 ? "~" : NULL;
	if (mark == '_')
		return type == MD_SPAN_STRONG && dunder(s, src) ? "__" : NULL;
	if (mark != '*' || from == 0 || !word(s.p[src]) ||
	    (!word(s.p[from - 1]) && s.p[from - 1] != ')' && s.p[from - 1] != ']'))
		return NULL;
	return type == MD_SPAN_STRONG ? "**" : "*";
}

static void keep_marks(struct tg_parse *r, struct tg_span *sp, const char *before,
		       const char *after)
{
	sp->literal = true;
	sp->before = before;
	sp->after = after;
	tg_add(r, str_of(before), TG_NO_SOURCE, 0);
}

static unsigned *counter(struct tg_parse *r, MD_SPANTYPE type)
{
	return type == MD_SPAN_EM       ? &r->italic
	       : type == MD_SPAN_STRONG ? &r->bold
	       : type == MD_SPAN_DEL    ? &r->strike
					: &r->code;
}

static void decide_link(struct tg_parse *r, struct tg_span *sp, size_t src)
{
	str s = src == TG_NO_SOURCE ? S("") : str_sub(r->d->source, src, r->d->source.n);
	bool bare = sp->type == MD_SPAN_A && s.n && src && s.p[-1] == '<';

	if (bare && scheme(sp->target, "mailto:") &&
	    str_starts(s, str_sub(sp->target, 7, sp->target.n))) {
		keep_marks(r, sp, "<", ">");
		return;
	}
	if (bare && str_starts(s, sp->target) && is_image(sp->target) &&
	    is_photo(r, sp->target)) {
		sp->photo = true;
		add_photo(r, sp->target);
		return;
	}
	if (!r->now.link)
		r->now.link = link_to(r, sp->target);
}

/* Text at src is about to come: what are the spans around it? */
static void decide(struct tg_parse *r, size_t src)
{
	size_t i = r->spans_n;
	const char *marks;

	while (i > 0 && !r->spans[i - 1].decided)
		i--;
	for (; i < r->spans_n; i++) {
		struct tg_span *sp = &r->spans[i];
		sp->decided = true;
		if (sp->type == MD_SPAN_A || sp->type == MD_SPAN_IMG)
			decide_link(r, sp, src);
		else if (sp->type != MD_SPAN_CODE && src != TG_NO_SOURCE &&
			 (marks = kept_marks(r, sp->type, src)) != NULL)
			keep_marks(r, sp, marks, marks);
		else
			++*counter(r, sp->type);
	}
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct tg_parse *r = arg;
	struct tg_span sp = { .type = type, .muted = r->mute };

	if (type == MD_SPAN_A)
		sp.target = encoded(
			r, md_attribute(r->a, &((MD_SPAN_A_DETAIL *)detail)->href, md_entity));
	if (type == MD_SPAN_IMG)
		sp.target = encoded(
			r, md_attribute(r->a, &((MD_SPAN_IMG_DETAIL *)detail)->src, md_entity));
	sp.decided = sp.muted;
	if (!sp.muted && type == MD_SPAN_IMG && !r->links && is_photo(r, sp.target)) {
		sp.decided = sp.photo = true;
		add_photo(r, sp.target);
	} else if (!sp.muted && (type == MD_SPAN_A || type == MD_SPAN_IMG)) {
		r->links++;
	}
	TG_MORE(r, r->spans, r->spans_n, r->spans_room);
	r->spans[r->spans_n++] = sp;
	return 0;
}

/* Take the innermost open span of a type off the stack.  md4c 0.4.8 leaves some that it never
 * entered, and the other way round, when emphasis begins in the target of a link. */
static bool pop(struct tg_parse *r, MD_SPANTYPE type, struct tg_span *out)
{
	size_t i = r->spans_n;

	while (i > 0 && r->spans[i - 1].type != type)
		i--;
	if (i == 0)
		return false;
	*out = r->spans[i - 1];
	memmove(&r->spans[i - 1], &r->spans[i], (r->spans_n - i) * sizeof *r->spans);
	r->spans_n--;
	return true;
}

/* The mark that closed nothing is text. */
static void put_stray(struct tg_parse *r, MD_SPANTYPE type)
{
	str s = str_sub(r->d->source, r->src_end, r->d->source.n);
	size_t n = type == MD_SPAN_STRONG ? 2 : 1;

	if (!r->mute && s.n >= n && (s.p[0] == '*' || s.p[0] == '_'))
		tg_add(r, str_sub(s, 0, n), r->src_end, n);
}

/* Nothing was to see in a link: then its target is. */
static void put_target(struct tg_parse *r, const struct tg_span *sp)
{
	if (sp->target.n == 0 || sp->target.n > SHOWN_MAX || scheme(sp->target, "data:"))
		return;
	decide(r, TG_NO_SOURCE);
	if (!r->now.link)
		r->now.link = link_to(r, sp->target);
	tg_add(r, sp->target, TG_NO_SOURCE, 0);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct tg_parse *r = arg;
	struct tg_span sp;
	bool link = type == MD_SPAN_A || type == MD_SPAN_IMG;

	(void)detail;
	if (!pop(r, type, &sp)) {
		put_stray(r, type);
		return 0;
	}
	if (sp.muted)
		return 0;
	if (sp.photo)
		end_photo(r, type == MD_SPAN_IMG ? sp.target : S(""));
	else if (!sp.decided && link && !r->mute)
		put_target(r, &sp);
	else if (sp.literal)
		tg_add(r, str_of(sp.after), TG_NO_SOURCE, 0);
	else if (sp.decided && !link)
		--*counter(r, type);
	if (link && r->links && !(sp.photo && type == MD_SPAN_IMG) && --r->links == 0)
		r->now.link = 0;
	return 0;
}

/* --- what md4c calls for text -------------------------------------------------------- */

/* How much space at the start of s would be doubled where something was taken out. */
static size_t doubled(const struct tg_parse *r, str s)
{
	const struct buf *t = &r->d->text;
	size_t n = 0;

	if (!r->took || (r->leaf && !r->line_due && t->n && t->p[t->n - 1] != ' '))
		return 0;
	while (n < s.n && s.p[n] == ' ')
		n++;
	return n;
}

/* Text of the source at src, or made of it (src_n bytes), outside of code blocks. */
static void add_words(struct tg_parse *r, str s, size_t src, size_t src_n)
{
	size_t skip = doubled(r, s);

	if (skip < s.n && src_n == s.n)
		tg_add(r, str_sub(s, skip, s.n), src + skip, src_n - skip);
	else if (skip < s.n)
		tg_add(r, str_sub(s, skip, s.n), src, src_n);
}

/* The bare URL that begins at the byte at of s, without the punctuation behind it. */
static str url_at(str s, size_t at)
{
	size_t end = at;

	while (end < s.n && !strchr(" \t\n<>\"'", s.p[end]))
		end++;
	while (end > at && strchr(".,:;!)]*_~", s.p[end - 1]))
		end--;
	return str_sub(s, at, end);
}

/* Verbatim text; URLs of photos are taken out. */
static void add_urls(struct tg_parse *r, str s, size_t src)
{
	bool may = r->photos && !r->links && !r->code;

	for (size_t i = 0; may && i < s.n; i++) {
		if ((i > 0 && word(s.p[i - 1])) || !web(str_sub(s, i, s.n)))
			continue;
		str url = url_at(s, i);
		if (!is_image(url) || !is_photo(r, url)) {
			i += url.n;
			continue;
		}
		if (i > 0)
			add_words(r, str_sub(s, 0, i), src, i);
		add_photo(r, url);
		end_photo(r, S(""));
		s = str_sub(s, i + url.n, s.n);
		src += i + url.n;
		i = (size_t)-1;
	}
	if (s.n)
		add_words(r, s, src, s.n);
}

/* The next **strong** that md4c left as it was because of the script around it: scripts
 * without spaces end emphasis behind punctuation, right before a letter. */
static bool strong_in(str s, size_t *open, size_t *close)
{
	for (size_t i = 0; i + 4 < s.n; i = *close + 2) {
		size_t at = str_find(str_sub(s, i, s.n), S("**")), n;
		if (at == SIZE_MAX)
			return false;
		*open = i + at;
		n = str_find(str_sub(s, *open + 2, s.n), S("**"));
		if (n == SIZE_MAX)
			return false;
		*close = *open + 2 + n;
		bool within = *open > 0 && word(s.p[*open - 1]) && word(s.p[*open + 2]);
		bool wide = (*open > 0 && (s.p[*open - 1] & 0x80)) ||
			    (*close + 2 < s.n && (s.p[*close + 2] & 0x80));
		if (wide && !within && n && !strchr(" *", s.p[*open + 2]) &&
		    s.p[*close - 1] != ' ')
			return true;
	}
	return false;
}

static void add_verbatim(struct tg_parse *r, str s, size_t src)
{
	size_t open, close;

	while (!r->links && strong_in(s, &open, &close)) {
		add_urls(r, str_sub(s, 0, open), src);
		r->bold++;
		add_urls(r, str_sub(s, open + 2, close), src + open + 2);
		r->bold--;
		s = str_sub(s, close + 2, s.n);
		src += close + 2;
	}
	add_urls(r, s, src);
}

static int add_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *arg)
{
	struct tg_parse *r = arg;
	str s = { p, n }, whole = r->d->source;
	bool from_source = p >= whole.p && p < whole.p + whole.n;
	size_t src = from_source ? (size_t)(p - whole.p) : TG_NO_SOURCE;
	bool newline = type == MD_TEXT_BR || type == MD_TEXT_SOFTBR;

	if (n == 0)
		return 0;
	if (!r->mute && !newline)
		decide(r, src);
	if (type == MD_TEXT_ENTITY)
		s = md_entity(r->a, s);
	if (r->mute)
		buf_add(&r->alt, newline ? S(" ") : s);
	else if (newline)
		r->line_due = r->leaf;
	else if (r->now.pre)
		tg_add_code(r, s, src);
	else if (type == MD_TEXT_NORMAL && from_source)
		add_verbatim(r, s, src);
	else
		add_words(r, s, src, from_source ? n : 0);
	return 0;
}

/* Bytes that neither Markdown nor Telegram knows are gone before. */
static str cleaned(struct arena *a, str s)
{
	struct buf b;

	s = utf_repair(a, s);
	b = buf_in(a, s.n);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c == '\r' && i + 1 < s.n && s.p[i + 1] == '\n')
			continue;
		buf_addc(&b, c == '\r'                           ? '\n'
			     : c < ' ' && c != '\n' && c != '\t' ? ' '
								 : s.p[i]);
	}
	return buf_str(&b);
}

bool tg_parse(struct tg_doc *d, struct arena *a, str markdown, bool photos)
{
	const MD_PARSER parser = {
		.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS |
			 MD_FLAG_NOHTML, /* Telegram finds bare URLs itself */
		.enter_block = tg_enter_block,
		.leave_block = tg_leave_block,
		.enter_span = enter_span,
		.leave_span = leave_span,
		.text = add_text,
	};

	if (markdown.n > SOURCE_MAX)
		return false;
	*d = (struct tg_doc){ .a = a, .source = cleaned(a, markdown) };
	struct tg_parse r = {
		.a = a,
		.d = d,
		.photos = photos,
		.break_depth = SIZE_MAX,
		.alt = buf_in(a, d->source.n * 4),
		.links_budget = d->source.n * LINKS_FACTOR + ROOM_MIN,
	};
	d->text = buf_in(a, d->source.n * TEXT_FACTOR + ROOM_MIN);
	/* It fails only when memory does. */
	return md_parse(d->source.p, (MD_SIZE)d->source.n, &parser, &r) == 0 && !d->text.full;
}
