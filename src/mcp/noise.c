/*
 * Noise: at most so many lines in a stretch of time, then a count of those left out.
 */
#include "mcp/noise.h"

#include "base/utf.h"
#include "os/log.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

#define WINDOW_MS 10000
#define WINDOW_LINES 50
#define CUT_SHOWN 150

void mcp_noise_init(struct mcp_noise *n, const char *event, str server)
{
	*n = (struct mcp_noise){ .event = event, .server = server };
}

static bool may_log(struct mcp_noise *n, int64_t now_ms)
{
	if (!n->window_ms || now_ms - n->window_ms >= WINDOW_MS) {
		if (n->left_out)
			log_info(n->event, "server=%.*s left_out=%lld", STRF(n->server),
				 (long long)n->left_out);
		n->window_ms = now_ms;
		n->logged = 0;
		n->left_out = 0;
	}
	if (n->logged == WINDOW_LINES) {
		n->left_out++;
		return false;
	}
	n->logged++;
	return true;
}

void mcp_noise_line(struct mcp_noise *n, str kind, str line, int64_t now_ms)
{
	SCOPED(arena_free) struct arena a = { 0 };

	line = str_trim(utf_repair(&a, str_trim(utf_head(line, MCP_NOISE_LINE))));
	line = text_redact_values(&a, line, n->secrets, n->secrets_n);
	if (!line.n)
		return;
	(void)snprintf(n->last, sizeof(n->last), "%.*s",
		       STRF(utf_head(line, sizeof(n->last) - 1)));
	if (may_log(n, now_ms))
		log_info(n->event, "server=%.*s%s%.*s line=%.*s", STRF(n->server),
			 kind.n ? " level=" : "", STRF(kind), STRF(log_q(&a, line)));
}

void mcp_noise_end(struct mcp_noise *n, int64_t now_ms)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str line = { n->line, n->n };

	if (n->cut)
		line = arena_cat(&a, S("..."), utf_tail(line, CUT_SHOWN));
	mcp_noise_line(n, (str){ 0 }, line, now_ms);
	n->n = 0;
	n->cut = false;
}

/* Of a line that is too long the end is kept. */
static void collect(struct mcp_noise *n, str s)
{
	size_t kept;

	if (!s.n)
		return;
	n->cut |= s.n > sizeof(n->line);
	if (s.n > sizeof(n->line))
		s = str_sub(s, s.n - sizeof(n->line), s.n);
	kept = n->n + s.n > sizeof(n->line) ? sizeof(n->line) - s.n : n->n;
	n->cut |= kept < n->n;
	memmove(n->line, n->line + n->n - kept, kept);
	memcpy(n->line + kept, s.p, s.n);
	n->n = kept + s.n;
}

void mcp_noise_feed(struct mcp_noise *n, str bytes, int64_t now_ms)
{
	while (bytes.n) {
		const char *end = memchr(bytes.p, '\n', bytes.n);
		size_t len = end ? (size_t)(end - bytes.p) : bytes.n;

		collect(n, str_sub(bytes, 0, len));
		if (end)
			mcp_noise_end(n, now_ms);
		bytes = str_sub(bytes, len + 1, bytes.n);
	}
}
