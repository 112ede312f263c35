/*
 * Markdown as Telegram messages: what is finished in pieces, what is still being written in
 * one.
 */
#include "text/tghtml.h"

#include "base/utf.h"
#include "text/tghtml_doc.h"

int tg_render(struct arena *a, str markdown, struct tg_piece **out, size_t *n, struct err *e)
{
	const struct tg_limits limits = { TG_TEXT_MAX, TG_CAPTION_MAX };

	return tg_render_within(a, markdown, limits, out, n, e);
}

str tg_live(struct arena *a, str so_far)
{
	struct tg_doc d;
	size_t from = 0, to;

	if (!tg_parse(&d, a, utf_whole(so_far), false))
		return S("");
	to = d.text.n;
	tg_trim(&d, &from, &to);
	if (!tg_visible(str_sub(buf_str(&d.text), from, to)))
		return S("");
	if (tg_cut(&d, from, to, TG_TEXT_MAX, false) == to)
		return tg_html(&d, from, to);
	to = tg_cut(&d, from, to, TG_TEXT_MAX - 1, false);
	tg_trim(&d, &from, &to);
	return arena_cat(a, tg_html(&d, from, to), S("\u2026"));
}
