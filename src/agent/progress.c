/*
 * Progress as a line: the share that is done, the server's words, and how long the rest will take
 * if it goes on as it did.
 */
#include "agent/progress.h"

#include "base/buf.h"
#include "text/text.h"

#include <math.h>

#define A_SECOND 10 /* lines, so that the last of a few is not left out */
#define KNOWN_MS 2000 /* before that a rate says nothing */
#define LEFT_MAX_S 86400.0
#define MESSAGE_CHARS 120

/* Seconds that are left by the rate so far; below 0 nobody knows. */
static double seconds_left(const struct progress *p, double done, double total, int64_t now_ms)
{
	double ms = (double)(now_ms - p->first_ms), moved = done - p->first;

	if (ms < KNOWN_MS || !(moved > 0) || !(total > done))
		return -1;
	double s = (total - done) * ms / moved / 1000;
	return s <= LEFT_MAX_S ? s : -1;
}

static void add_left(struct buf *b, double s)
{
	if (s < 0)
		return;
	if (s < 90)
		buf_fmt(b, " (about %.0f s left)", s < 1 ? 1 : s);
	else if (s < 5400)
		buf_fmt(b, " (about %.0f min left)", s / 60);
	else
		buf_fmt(b, " (about %.1f h left)", s / 3600);
}

str progress_line(struct progress *p, str name, double done, double total, str message,
		  int64_t now_ms, struct arena *a)
{
	struct buf b = buf_in(a, 2048);
	bool known = isfinite(done) && isfinite(total) && total > 0;
	str words = text_line(a, message, MESSAGE_CHARS);

	if (!p->any) {
		*p = (struct progress){
			.any = true, .first = done, .first_ms = now_ms, .second_ms = now_ms
		};
	}
	if (now_ms - p->second_ms >= 1000) {
		p->second_ms = now_ms;
		p->shown = 0;
	}
	if ((!known && !words.n) || p->shown == A_SECOND)
		return S("");
	p->shown++;
	buf_fmt(&b, "… %.*s ", STRF(text_line(a, name, 64)));
	if (known) {
		double share = done * 100 / total;
		buf_fmt(&b, "%.0f%%", share < 0 ? 0 : share > 100 ? 100 : floor(share));
	}
	if (words.n)
		buf_fmt(&b, "%s%.*s", known ? ": " : "", STRF(words));
	if (known)
		add_left(&b, seconds_left(p, done, total, now_ms));
	return buf_str(&b);
}
