/*
 * text/tghtml: an answer in Markdown as the messages of a Telegram chat.
 *
 * Each piece is valid by itself in Telegram's HTML parse mode: tags balanced and nested as
 * Telegram allows it, nothing but b i u s code pre a blockquote, the entities &lt; &gt; &amp;
 * &quot; and no raw HTML of the text.  No piece is longer than Telegram takes, counted as it
 * counts: UTF-16 units of what is left when tags and entities are resolved.  In order they
 * hold the whole answer once, but for white space where it was cut.  Pieces with nothing to
 * see are left out.
 *
 * Pure: no I/O, any thread.  Results live in the arena.
 */
#ifndef TEXT_TGHTML_H
#define TEXT_TGHTML_H

#include "base/arena.h"
#include "base/err.h"

#define TG_TEXT_MAX 4096 /* UTF-16 units of a message */
#define TG_CAPTION_MAX 1024 /* and of a photo's caption */

/* plain is what to send without a parse mode should Telegram refuse html: the Markdown the
 * piece was made from, or its bare text when that Markdown is over the limit.  All plains
 * together are the whole Markdown.  Of a photo they are the caption, maybe empty. */
struct tg_piece {
	enum { TG_TEXT, TG_PHOTO } kind;
	str html;
	str plain;
	str url; /* of a photo: http or https */
};

/* The pieces of an answer, none when there is nothing to see in it.
 *
 * Images with an http(s) URL, and bare URLs of images, outside of links and code are photos,
 * each URL once, at most ten; any other image is a link.  A photo comes behind the block it
 * stands in; the text since the photo before is its caption when it fits, else messages
 * before it.  When all photos stand in one place and all text fits, it is the first one's
 * caption.  A photo without text has its alternative text as caption.
 *
 * E_LIMIT: more than 16 MiB. */
int tg_render(struct arena *a, str markdown, struct tg_piece **out, size_t *n,
	      struct err *e) MUSTUSE;

/* A text that is still being written, as one message: its head and "…" when it is too long;
 * images are links.  Empty when there is nothing to see yet. */
str tg_live(struct arena *a, str so_far);

/* UTF-16 units of html once it is parsed. */
size_t tg_length(str html);

#endif
