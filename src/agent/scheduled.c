/*
 * What sets scheduled turns apart, read from their rows.
 */
#include "agent/scheduled.h"

#include "text/json.h"

bool scheduled_turn(const struct turn *t)
{
	return str_eq(t->kind, S("cron")) || str_eq(t->kind, S("watch"));
}

static const struct json *meta(const struct turn *t, struct arena *a)
{
	struct json *v;

	if (!scheduled_turn(t) || t->rows_n == 0 || t->rows[0].meta.n == 0 ||
	    json_read(&v, a, t->rows[0].meta, NULL) < 0)
		return NULL;
	return v;
}

int64_t scheduled_timeout_ms(const struct turn *t)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct json *v = meta(t, &a);

	return v ? json_i64(v, "timeout_ms", 0) : 0;
}

str scheduled_label(const struct turn *t, struct arena *a)
{
	const struct json *v = meta(t, a);

	return v ? json_str(v, "label") : S("");
}

bool scheduled_told(const struct turn *t)
{
	return !str_eq(t->channel, S("cron"));
}
