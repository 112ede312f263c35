/*
 * text/tghtml_doc: Markdown as text with styles, between reading it and writing pieces.
 *
 * The text is what a reader sees; runs say how it looks and which bytes of the source it
 * comes from.  Any range of it can be written as HTML, so cutting is a matter of positions
 * alone.  For tghtml*.c only.
 */
#ifndef TEXT_TGHTML_DOC_H
#define TEXT_TGHTML_DOC_H

#include "base/buf.h"
#include "text/tghtml.h"

#define TG_LIMIT_MIN 32 /* units; room for any one character as people see it */
#define TG_NO_SOURCE SIZE_MAX
#define TG_PHOTOS_MAX 10
#define TG_LINK_MAX 2048 /* bytes of a target */

enum { TG_BOLD = 1, TG_ITALIC = 2, TG_STRIKE = 4, TG_CODE = 8 };

/* Ids count from 1; 0 is none.  Two blocks with equal ids are one block. */
struct tg_style {
	unsigned bits, link, pre, quote;
};

struct tg_run {
	size_t at; /* where in the text it begins; it ends where the next one begins */
	size_t src, src_n; /* its source; TG_NO_SOURCE for what we made up */
	struct tg_style style;
};

/* Where to cut, the worst first. */
enum tg_level { TG_SPACE, TG_SENTENCE, TG_LINE, TG_PART, TG_BLOCK, TG_LEVELS };

struct tg_break {
	size_t at;
	enum tg_level level;
};

struct tg_photo {
	str url, alt;
	size_t at; /* behind which text it stands */
};

struct tg_doc {
	struct arena *a;
	str source; /* valid UTF-8, \n only, no other control characters but \t */
	struct buf text;
	struct tg_run *runs;
	struct tg_break *breaks;
	str *links, *langs; /* id - 1 → target, language (empty: none) */
	size_t runs_n, runs_room, breaks_n, breaks_room;
	size_t links_n, links_room, langs_n, langs_room;
	struct tg_photo photos[TG_PHOTOS_MAX];
	size_t photos_n;
};

/* Units of a message and of a caption, TG_LIMIT_MIN at least. */
struct tg_limits {
	size_t text, caption;
};

/* tg_render() for a Telegram of other limits. */
int tg_render_within(struct arena *a, str markdown, struct tg_limits limits,
		     struct tg_piece **out, size_t *n, struct err *e) MUSTUSE;

/* Room for one more element in *p, of which there are n of size bytes. */
void *tg_more(struct arena *a, void *p, size_t n, size_t *room, size_t size);

/* Read Markdown; photos: take images out of the text.  False: more than 16 MiB. */
bool tg_parse(struct tg_doc *d, struct arena *a, str markdown, bool photos);

/* The run that holds the byte at, which is in the text. */
size_t tg_run_at(const struct tg_doc *d, size_t at);

/* [from, to) without the white space around it that is not seen. */
void tg_trim(const struct tg_doc *d, size_t *from, size_t *to);

/* Is there anything to see in it? */
bool tg_visible(str text);

/* UTF-16 units of a text. */
size_t tg_units(str text);

/* Where the piece that begins at from has to end, by_level: where it ends best.  It is at
 * most limit units long without the white space at its end, and has no more tags and links
 * than Telegram takes. */
size_t tg_cut(const struct tg_doc *d, size_t from, size_t end, size_t limit, bool by_level);

/* Where the source of what follows at begins. */
size_t tg_source(const struct tg_doc *d, size_t at);

/* [from, to) as HTML; it begins and ends anywhere between characters. */
str tg_html(const struct tg_doc *d, size_t from, size_t to);

#endif
