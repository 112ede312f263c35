/*
 * From text with styles to pieces: which text goes with which photo, and what is sent instead
 * when Telegram refuses the markup.
 */
#include "text/tghtml_doc.h"

#include "text/entity.h"

#define NO_RANGE SIZE_MAX

struct pieces {
	struct tg_doc *d;
	struct tg_limits limits;
	struct tg_piece *all;
	size_t (*ranges)[2]; /* of each; NO_RANGE when it has no text of the answer */
	size_t n, room, ranges_room;
};

static str text_of(const struct tg_doc *d, size_t from, size_t to)
{
	return str_sub((str){ d->text.p, d->text.n }, from, to);
}

static void add(struct pieces *p, struct tg_piece piece, size_t from, size_t to)
{
	p->ranges = tg_more(p->d->a, p->ranges, p->n, &p->ranges_room, sizeof *p->ranges);
	p->all = tg_more(p->d->a, p->all, p->n, &p->room, sizeof *p->all);
	p->ranges[p->n][0] = from;
	p->ranges[p->n][1] = to;
	p->all[p->n++] = piece;
}

static void add_text(struct pieces *p, size_t from, size_t end)
{
	const struct tg_doc *d = p->d;

	for (;;) {
		tg_trim(d, &from, &end);
		if (from >= end)
			return;
		size_t next = tg_cut(d, from, end, p->limits.text, true), to = next;
		tg_trim(d, &from, &to);
		if (tg_visible(text_of(d, from, to)))
			add(p,
			    (struct tg_piece){ .kind = TG_TEXT, .html = tg_html(d, from, to) },
			    from, to);
		from = next;
	}
}

/* A photo of which no text of the answer is the caption. */
static void add_bare(struct pieces *p, const struct tg_photo *photo)
{
	struct tg_doc alt;
	struct tg_piece piece = { .kind = TG_PHOTO, .url = photo->url };
	struct buf b = buf_in(p->d->a, photo->alt.n * 6);
	size_t n = tg_visible(photo->alt) ? photo->alt.n : 0;

	alt = (struct tg_doc){ .a = p->d->a, .text = buf_in(p->d->a, n) };
	buf_add(&alt.text, str_sub(photo->alt, 0, n));
	if (n) {
		alt.runs = NEW(p->d->a, struct tg_run);
		alt.runs_n = 1;
		n = tg_cut(&alt, 0, n, p->limits.caption, true);
	}
	piece.plain = str_trim(text_of(&alt, 0, n));
	text_escape(&b, piece.plain);
	piece.html = buf_str(&b);
	add(p, piece, NO_RANGE, NO_RANGE);
}

/* Text up to a photo that fits under it. */
static bool is_caption(const struct pieces *p, size_t from, size_t to)
{
	tg_trim(p->d, &from, &to);
	return tg_visible(text_of(p->d, from, to)) &&
	       tg_cut(p->d, from, to, p->limits.caption, false) == to;
}

static void add_captioned(struct pieces *p, str url, size_t from, size_t to)
{
	tg_trim(p->d, &from, &to);
	add(p,
	    (struct tg_piece){ .kind = TG_PHOTO, .url = url, .html = tg_html(p->d, from, to) },
	    from, to);
}

static void arrange(struct pieces *p)
{
	const struct tg_doc *d = p->d;
	const struct tg_photo *photos = d->photos;
	size_t n = d->photos_n, from = 0, i = 0;

	if (n && !tg_visible(text_of(d, photos[0].at, photos[n - 1].at)) &&
	    is_caption(p, 0, d->text.n)) {
		add_captioned(p, photos[i++].url, 0, d->text.n);
		from = d->text.n;
	}
	for (; i < n; i++) {
		size_t at = photos[i].at > from ? photos[i].at : from;
		if (is_caption(p, from, at)) {
			add_captioned(p, photos[i].url, from, at);
		} else {
			add_text(p, from, at);
			add_bare(p, &photos[i]);
		}
		from = at;
	}
	add_text(p, from, d->text.n);
}

/* The source of each piece: from where it begins to where the next one does. */
static void add_plains(struct pieces *p)
{
	const struct tg_doc *d = p->d;
	size_t begin = 0, last = NO_RANGE;

	for (size_t i = 0; i <= p->n; i++) {
		if (i < p->n && p->ranges[i][0] == NO_RANGE)
			continue;
		size_t end = i < p->n ? tg_source(d, p->ranges[i][0]) : d->source.n;
		if (last == NO_RANGE) {
			last = i;
			continue;
		}
		struct tg_piece *piece = &p->all[last];
		size_t limit = piece->kind == TG_TEXT ? p->limits.text : p->limits.caption;
		if (end < begin)
			end = begin;
		piece->plain = str_trim(str_sub(d->source, begin, end));
		if (!tg_visible(piece->plain) || tg_units(piece->plain) > limit)
			piece->plain = text_of(d, p->ranges[last][0], p->ranges[last][1]);
		begin = end;
		last = i;
	}
}

int tg_render_within(struct arena *a, str markdown, struct tg_limits limits,
		     struct tg_piece **out, size_t *n, struct err *e)
{
	struct tg_doc d;
	struct pieces p = { .d = &d, .limits = limits };

	if (!tg_parse(&d, a, markdown, true))
		return err_set(e, E_LIMIT, "an answer of %zu bytes is too long to send",
			       markdown.n);
	arrange(&p);
	add_plains(&p);
	*out = p.all;
	*n = p.n;
	return OK;
}
