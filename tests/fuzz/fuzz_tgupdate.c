/*
 * Any JSON as an update of the Bot API: an event whose texts are whole, and nothing foreign
 * that is not behind "> " or inside the brackets of a tag.
 */
#include "chan/telegram_gate.h"

#include <stdlib.h>

#include "base/utf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t ids[] = { 111 };
static const struct telegram_group_cfg any = { .any = true, .require_mention = true };
static const struct telegram_cfg cfg = { .allow_from = { ids, 1 },
					 .groups = &any,
					 .groups_n = 1 };
static const struct telegram_self self = { 4242, { "mybot", 5 } };

static void check_blocks(str quoted)
{
	while (quoted.n) {
		str line = str_cut(&quoted, '\n');
		if (!str_starts(line, S("> ")) &&
		    !(str_starts(line, S("[")) && str_ends(line, S("]"))))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct telegram_event ev;
	struct json *v = NULL;
	str typed;

	if (json_read(&v, &a, (str){ (const char *)data, size }, NULL) < 0)
		return 0;
	telegram_update_read(v, self.id, &a, &ev);
	if (!utf_valid(ev.quoted) || !utf_valid(ev.typed) || !utf_valid(ev.from_name))
		abort();
	check_blocks(ev.quoted);
	if (ev.kind == TELEGRAM_IGNORED && !ev.why)
		abort();
	if (ev.kind == TELEGRAM_MESSAGE &&
	    telegram_gate_message(&cfg, &self, &ev, &typed) == GATE_PASS &&
	    (ev.from != 111 || !utf_valid(typed)))
		abort();
	return 0;
}
