/*
 * What channels have in common.
 */
#include "chan/chan.h"

#include "os/clock.h"

#include <stdatomic.h>

#define QUIET_MS 300000 /* without a fault: the next one is news again */
#define FULL_TEXT                                                                              \
	"The disk is full, so nothing new can be kept. Nothing is lost: I go on as soon as "   \
	"there is room again."

void chan_notice(struct channel *self, str address)
{
	int64_t now = clock_mono_ms(), last = atomic_exchange(&self->full_at_ms, now);

	if (last && now - last < QUIET_MS)
		return;
	if (self->notice)
		self->notice(self, address, S(FULL_TEXT));
	else
		self->live(self, (str){ 0 }, address, LIVE_TRACE, S(FULL_TEXT));
}

int chan_render_whole(struct channel *self, const struct outbox_row *row, struct arena *a,
		      struct piece_new **out, size_t *n, struct err *e)
{
	(void)self;
	(void)e;
	*out = NEW(a, struct piece_new);
	**out = (struct piece_new){ .method = S("send"),
				    .body = row->text,
				    .plain = row->text };
	*n = 1;
	return OK;
}
