/*
 * The rows about the database and the disk it is on.  Everything is read beside a daemon; only
 * --fix writes, and only the index of memory.
 */
#include "cli/doctor.h"

#include "gateway/feed.h"
#include "gateway/health.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"
#include "store/facts.h"
#include "store/memory.h"

#define MIB ((int64_t)1 << 20)
#define ROOM_FAIL (16 * MIB)
#define ROOM_WARN (256 * MIB)
#define SYNC_WARN_US 100000

void doctor_storage(struct doctor *d)
{
	const struct config *c = d->cfg;
	const str paths[] = { c->store.data_dir.n ? c->store.data_dir
						  : path_dir(d->a, c->store.dsn),
			      path_dir(d->a, c->store.dsn),
			      c->log.file.n ? path_dir(d->a, c->log.file) : S("") };
	bool bad = false;

	for (size_t i = 0; i < COUNT(paths); i++) {
		if (!paths[i].n || (i && str_eq(paths[i], paths[0])))
			continue;
		str there = path_existing(d->a, paths[i]);
		if (dir_writable(there.p))
			continue;
		bad = true;
		doctor_say(d, DOCTOR_FAIL,
			   "give it to the user that runs gantry (chown), or mount it writable",
			   "%.*s cannot be written", STRF(there));
	}
	if (!bad)
		doctor_say(d, DOCTOR_OK, NULL, "%.*s%s", STRF(paths[0]),
			   path_exists(paths[0].p) ? "" : " can be made");
}

void doctor_disk(struct doctor *d)
{
	str there = path_existing(d->a, path_dir(d->a, d->cfg->store.dsn));
	int64_t left, size;

	if (!disk_room(there.p, &left, &size)) {
		doctor_say(d, DOCTOR_INFO, NULL, "%.*s: its room is not known", STRF(there));
		return;
	}
	enum doctor_status s = left < ROOM_FAIL   ? DOCTOR_FAIL
			       : left < ROOM_WARN ? DOCTOR_WARN
						  : DOCTOR_OK;
	doctor_say(d, s,
		   s == DOCTOR_OK ? NULL
				  : "make room: nothing is lost, but nothing is taken in on "
				    "a full disk",
		   "%lld MiB of %lld MiB are free on %.*s", (long long)(left / MIB),
		   (long long)(size / MIB), STRF(there));
}

void doctor_sync(struct doctor *d)
{
	str there = path_existing(d->a, path_dir(d->a, d->cfg->store.dsn));
	struct err e = { 0 };
	int64_t us;
	int rc = disk_sync_time(there.p, &us, &e);

	if (rc < 0)
		doctor_say(d, DOCTOR_FAIL,
			   rc == E_FULL ? "make room on the disk"
					: "look at the disk (dmesg) and at its permissions",
			   "%s", e.msg);
	else
		doctor_say(d, us > SYNC_WARN_US ? DOCTOR_WARN : DOCTOR_OK,
			   us > SYNC_WARN_US ? "each step of a turn waits for that: put the "
					       "data on a faster disk"
					     : NULL,
			   "an fsync takes %lld.%lld ms on %.*s", (long long)(us / 1000),
			   (long long)(us % 1000 / 100), STRF(there));
}

static const char *open_advice(int rc)
{
	return rc == E_CORRUPT  ? "stop gantry, keep the file, and restore a backup"
	       : rc == E_DENIED ? "give the file to the user that runs gantry (chown)"
				: NULL; /* the sentence says it */
}

static bool find_daemon(struct doctor *d, int64_t *pid)
{
	str lock = arena_fmt(d->a, "%.*s.lock", STRF(d->cfg->store.dsn));

	d->held = lock_probe(lock.p, pid);
	return d->held;
}

/* SQLite makes files of its own beside one that it opens, unless that does not change: no daemon,
 * and nothing in the log that has to be read with it. */
static enum store_mode mode_of(struct doctor *d)
{
	str log = arena_fmt(d->a, "%.*s-wal", STRF(d->cfg->store.dsn));
	int64_t pid;

	return find_daemon(d, &pid) || file_bytes(log.p) > 0 ? STORE_READ : STORE_STILL;
}

void doctor_database(struct doctor *d)
{
	const char *path = d->cfg->store.dsn.p;
	struct store_facts f;
	struct err e = { 0 };

	if (!path_exists(path)) {
		doctor_say(d, DOCTOR_INFO, NULL, "%s: not there yet; the first start makes it",
			   path);
		return;
	}
	int rc = store_open(&d->store, &d->cfg->store, mode_of(d), d->c, &e);
	if (rc == OK)
		rc = store_facts_get(d->store, &f, &e);
	if (rc == E_NOENT)
		doctor_say(d, DOCTOR_INFO, NULL, "%s: empty; the first start fills it", path);
	else if (rc < 0)
		doctor_say(d, DOCTOR_FAIL, open_advice(rc), "%s", e.msg);
	else
		doctor_say(d, DOCTOR_OK, NULL,
			   "%s: schema %lld, %.1f MiB (%.1f unused, log %.1f), %lld sessions, "
			   "%lld turns, SQLite %s",
			   path, (long long)f.schema, (double)f.bytes / MIB,
			   (double)f.unused_bytes / MIB, (double)f.log_bytes / MIB,
			   (long long)f.sessions, (long long)f.turns, f.sqlite);
}

static bool no_store(struct doctor *d)
{
	if (!d->store)
		doctor_say(d, DOCTOR_SKIP, NULL, "there is no database to look at");
	return !d->store;
}

void doctor_integrity(struct doctor *d)
{
	struct err e = { 0 };
	int rc;

	if (no_store(d))
		return;
	rc = store_check(d->store, NULL, NULL, d->c, &e);
	if (rc == OK)
		doctor_say(d, DOCTOR_OK, NULL, "quick_check found nothing");
	else if (cancel_reason(d->c) == CANCEL_NONE)
		doctor_say(d, DOCTOR_FAIL, "stop gantry, keep the file, and restore a backup",
			   "%s", e.msg);
}

static void fix_memory(struct doctor *d)
{
	struct memory_health h;
	struct store *s;
	struct err e = { 0 };
	int rc = store_open(&s, &d->cfg->store, STORE_CLI, d->c, &e);

	if (rc == OK) {
		rc = store_memory_check(s, d->c, &h, &e);
		store_close(s);
	}
	if (rc < 0)
		doctor_say(d, DOCTOR_FAIL, NULL, "the index was not made anew: %s", e.msg);
	else
		doctor_say(d, DOCTOR_OK, NULL, "the index of %lld rows was made anew",
			   (long long)h.rows);
}

void doctor_memory(struct doctor *d)
{
	struct err e = { 0 };
	bool fits = true;
	str why = S("");

	if (no_store(d))
		return;
	int rc = store_memory_fits(d->store, d->a, &fits, &why, d->c, &e);
	if (rc < 0 && cancel_reason(d->c) != CANCEL_NONE)
		return;
	if (rc < 0)
		doctor_say(d, DOCTOR_FAIL, open_advice(rc), "%s", e.msg);
	else if (fits)
		doctor_say(d, DOCTOR_OK, NULL, "its index fits its rows");
	else if (d->fix)
		fix_memory(d);
	else
		doctor_say(d, DOCTOR_FAIL, "gantry doctor --fix makes it anew; nothing is lost",
			   "%.*s", STRF(why));
}

void doctor_daemon(struct doctor *d)
{
	struct store_health rows;
	struct health h;
	struct err e = { 0 };
	int64_t pid = 0;

	if (!find_daemon(d, &pid)) {
		doctor_say(d, DOCTOR_INFO, NULL, "none runs");
		return;
	}
	if (!d->store || store_health_get(d->store, d->a, &rows, &e) < 0) {
		doctor_say(d, DOCTOR_INFO, NULL, "runs as pid %lld", (long long)pid);
		return;
	}
	health_judge(&rows, clock_now_ms(), feed_step_max(d->cfg, d->a), d->a, &h);
	if (h.state == HEALTHY)
		doctor_say(d, DOCTOR_INFO, NULL, "runs as pid %lld, healthy", (long long)pid);
	else
		doctor_say(d, h.state == DEAD ? DOCTOR_FAIL : DOCTOR_WARN,
			   h.state == DEAD ? "restart it"
					   : "the rows about the model and Telegram tell more",
			   "runs as pid %lld and is %s: %.*s", (long long)pid,
			   health_word(h.state), STRF(h.reason));
}
