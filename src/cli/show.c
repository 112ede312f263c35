/*
 * Figures and foreign text for people.  What comes from the database may hold anything: it is
 * redacted first and made visible after.
 */
#include "cli/show.h"

#include "base/date.h"
#include "text/json.h"
#include "text/text.h"

str show_args(const struct config *cfg, str tool, str args, struct arena *a)
{
	struct json *v;
	str s = args;

	if (str_eq(tool, S("exec")) && json_read(&v, a, args, NULL) == OK &&
	    json_str(v, "command").n)
		s = json_str(v, "command");
	return text_redact(a, text_redact_values(a, s, cfg->secrets, cfg->secrets_n));
}

str show_line(const struct config *cfg, str text, size_t max, struct arena *a)
{
	return text_line(
		a, text_redact(a, text_redact_values(a, text, cfg->secrets, cfg->secrets_n)),
		max);
}

str show_ms(struct arena *a, int64_t ms)
{
	long long s = (long long)((ms + 500) / 1000);

	if (ms < 1000)
		return arena_fmt(a, "%lld ms", (long long)ms);
	if (ms < 59950)
		return arena_fmt(a, "%lld.%lld s", (long long)((ms + 50) / 1000),
				 (long long)((ms + 50) % 1000 / 100));
	if (s < 3600)
		return arena_fmt(a, "%lld m %02lld s", s / 60, s % 60);
	if (s < 86400)
		return arena_fmt(a, "%lld h %02lld m", s / 3600, s / 60 % 60);
	return arena_fmt(a, "%lld d %02lld h", s / 86400, s / 3600 % 24);
}

str show_time(const struct zone *z, struct arena *a, int64_t at_ms)
{
	if (at_ms < 0 || at_ms >= DATE_END_MS)
		return S("no such time");
	struct date d = date_of_ms(zone_wall(z, at_ms / 1000) * 1000);

	return arena_fmt(a, "%04d-%02d-%02d %02d:%02d:%02d", d.year, d.month, d.day, d.hour,
			 d.minute, d.second);
}
