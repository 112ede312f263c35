/*
 * A bucket that leaks: what it takes in a second is some percent of one processor's time.
 */
#include "mcp/flood.h"

#define PER_S 4000
#define BURST (3 * PER_S)

/* In units of about a quarter of a millisecond's work at most. */
static int64_t cost_of(enum mcp_flood_kind kind, size_t bytes)
{
	switch (kind) {
	case MCP_FLOOD_UNASKED:
		return 1 + (int64_t)(bytes / 1024);
	case MCP_FLOOD_STDERR:
		return 1 + (int64_t)(bytes / 256);
	case MCP_FLOOD_BYTES:
		break;
	}
	return (int64_t)(bytes / 32768);
}

static void pay_off(struct mcp_flood *f, int64_t now_ms)
{
	int64_t paid = (now_ms - f->at_ms) * PER_S / 1000;

	f->debt = f->debt > paid ? f->debt - paid : 0;
	f->at_ms = now_ms;
}

void mcp_flood_note(struct mcp_flood *f, enum mcp_flood_kind kind, size_t bytes, int64_t now_ms)
{
	/* Time is paid in when there is a millisecond of it to count. */
	if (now_ms > f->at_ms)
		pay_off(f, now_ms);
	f->debt += cost_of(kind, bytes);
	if (f->debt > BURST && !f->until_ms)
		f->until_ms = now_ms + (f->debt - BURST + PER_S / 2) * 1000 / PER_S;
}

bool mcp_flood_over(struct mcp_flood *f, int64_t now_ms)
{
	if (f->until_ms && now_ms >= f->until_ms)
		f->until_ms = 0;
	return f->until_ms != 0;
}
