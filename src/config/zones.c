/*
 * Zone files: where they are, and which one is the machine's own.
 */
#include "config/zones.h"

#include "os/file.h"

#include <limits.h>
#include <unistd.h>

#define LOCALTIME "/etc/localtime"

static bool name_ok(str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		      (c >= 'A' && c <= 'Z') || c == '_' || c == '+' || c == '-' || c == '/'))
			return false;
	}
	return name.n > 0 && name.n < 64 && *name.p != '/' && *name.p != '-';
}

/* The name behind the link, for showing. */
static str local_name(struct arena *a)
{
	char path[PATH_MAX];
	ssize_t n = readlink(LOCALTIME, path, sizeof path);
	str target = { path, n > 0 ? (size_t)n : 0 };
	size_t at = str_find(target, S("zoneinfo/"));

	return at == SIZE_MAX ? S("Local") : arena_dup(a, str_sub(target, at + 9, target.n));
}

int zone_load(const struct zone **out, struct arena *a, str name, int64_t *version,
	      struct err *e)
{
	bool local = str_ieq(name, S("Local"));
	const char *path = LOCALTIME;
	str bytes;

	if (version)
		*version = 0;
	if (str_ieq(name, S("UTC"))) {
		*out = &zone_utc;
		return OK;
	}
	if (!local && !name_ok(name))
		return err_set(e, E_INVAL,
			       "\"%.*s\" is no time zone; write one such as Europe/Berlin",
			       STRF(name));
	if (!local)
		path = arena_fmt(a, ZONES_DIR "/%.*s", STRF(name)).p;
	int rc = file_read(&bytes, a, path, ZONE_FILE_MAX, e);
	if (rc == E_NOENT && local) {
		*out = &zone_utc; /* as everything else on such a machine has it */
		return OK;
	}
	if (rc == E_NOENT || rc == E_INVAL)
		return err_set(e, rc,
			       "no time zone \"%.*s\" here; see " ZONES_DIR
			       " (Debian's package tzdata)",
			       STRF(name));
	if (rc < 0)
		return rc;
	if (version)
		*version = (int64_t)str_hash(STR_HASH, bytes);
	return zone_parse(out, a, local ? local_name(a) : name, bytes, e);
}

const struct zone *zone_load_or_utc(struct arena *a, str name)
{
	const struct zone *z;

	return zone_load(&z, a, name, NULL, NULL) < 0 ? &zone_utc : z;
}
