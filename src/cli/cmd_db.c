/*
 * gantry db: look after the database: check it, copy it, compact it, print all of it.  Everything
 * but compacting is safe beside a running daemon.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "os/clock.h"
#include "os/file.h"
#include "store/keep.h"
#include "text/json.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 100000

struct ask {
	struct cli *cli;
	const struct config *cfg;
	struct store *s;
	bool json;
	const char *to; /* --to, NULL */
	int64_t keep; /* --keep, 0 all */
};

/* --- check ----------------------------------------------------------------------------------- */

static void check_json(const struct ask *q, const struct store_health *h)
{
	struct buf b = buf_in(q->cli->a, 1u << 20);

	buf_addc(&b, '{');
	buf_json_member(&b, "file", q->cfg->store.dsn);
	buf_fmt(&b, ",\"sound\":%s", h->faults_n ? "false" : "true");
	buf_json_member_i64(&b, "schema", h->schema);
	buf_json_member_i64(&b, "bytes", h->file_bytes);
	buf_json_member_i64(&b, "log_bytes", h->log_bytes);
	buf_json_member_i64(&b, "free_bytes", h->free_pages * h->page_bytes);
	buf_add(&b, S(",\"faults\":["));
	for (size_t i = 0; i < h->faults_n; i++) {
		if (i)
			buf_addc(&b, ',');
		buf_json(&b, h->faults[i]);
	}
	buf_add(&b, S("]}\n"));
	(void)fwrite(b.p, 1, b.n, stdout);
}

static int check(struct ask *q, struct err *e)
{
	struct store_health h;
	int rc = store_inspect(q->s, q->cli->a, &h, NULL, e);

	if (rc < 0)
		return rc;
	if (q->json) {
		check_json(q, &h);
	} else {
		(void)printf(
			"%.*s: schema %lld, %lld KiB, %lld KiB of them free, log %lld KiB\n",
			STRF(q->cfg->store.dsn), (long long)h.schema,
			(long long)(h.file_bytes / 1024),
			(long long)(h.free_pages * h.page_bytes / 1024),
			(long long)(h.log_bytes / 1024));
		for (size_t i = 0; i < h.faults_n; i++)
			cli_print(q->cli, arena_fmt(q->cli->a, "%.*s\n", STRF(h.faults[i])));
	}
	if (h.faults_n)
		return err_set(e, E_CORRUPT, "%.*s is damaged; restore a backup",
			       STRF(q->cfg->store.dsn));
	if (!q->json)
		(void)printf("sound\n");
	return OK;
}

/* --- backup ---------------------------------------------------------------------------------- */

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "gantry-20261130-163001-123.db": names that sort as they were made. */
static str copy_name(struct arena *a)
{
	struct date d = date_of_ms(clock_now_ms());

	return arena_fmt(a, "gantry-%04d%02d%02d-%02d%02d%02d-%03d.db", d.year, d.month, d.day,
			 d.hour, d.minute, d.second, d.ms);
}

static bool is_copy(str name)
{
	static const char form[] = "gantry-00000000-000000-000.db";

	if (name.n != sizeof form - 1)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (form[i] == '0' ? name.p[i] < '0' || name.p[i] > '9' : name.p[i] != form[i])
			return false;
	return true;
}

/* Only what this command made, by its name, oldest first; never the one just made. */
static int rotate(const struct ask *q, const char *dir, str newest, struct err *e)
{
	str *names;
	size_t n, copies = 0;
	int rc = q->keep ? dir_list(&names, &n, q->cli->a, dir, FILES_MAX, e) : OK;

	if (rc < 0 || !q->keep)
		return rc;
	for (size_t i = 0; i < n; i++)
		copies += is_copy(names[i]);
	for (size_t i = 0; i < n && copies > (size_t)q->keep; i++) {
		if (!is_copy(names[i]) || str_eq(names[i], newest))
			continue;
		const char *path = arena_fmt(q->cli->a, "%s/%.*s", dir, STRF(names[i])).p;
		if (unlink(path) != 0)
			return err_sys(e, "%s: remove", path);
		copies--;
	}
	return OK;
}

static int backup(struct ask *q, struct err *e)
{
	struct arena *a = q->cli->a;
	const char *dir = q->to, *path = q->to;
	str name = copy_name(a);
	struct stat st;
	int rc = OK;

	if (!dir) {
		dir = arena_fmt(a, "%.*s/backups", STRF(q->cfg->store.data_dir)).p;
		rc = dir_make(dir, 0700, e);
	}
	if (rc < 0)
		return rc;
	if (is_dir(dir))
		path = arena_fmt(a, "%s/%.*s", dir, STRF(name)).p;
	else if (q->keep)
		return err_set(e, E_INVAL, "--keep needs a directory: %s is none", dir);
	if ((rc = store_backup(q->s, path, NULL, e)) < 0)
		return rc;
	if (q->json) {
		struct buf b = buf_in(a, 65536);
		buf_addc(&b, '{');
		buf_json_member(&b, "file", str_of(path));
		buf_json_member_i64(&b, "bytes", stat(path, &st) == 0 ? st.st_size : 0);
		buf_add(&b, S("}\n"));
		(void)fwrite(b.p, 1, b.n, stdout);
	} else {
		cli_print(q->cli, arena_fmt(a, "%s\n", path));
	}
	return is_dir(dir) ? rotate(q, dir, name, e) : OK;
}

/* --- vacuum, export -------------------------------------------------------------------------- */

static int vacuum(struct ask *q, struct err *e)
{
	const char *path = arena_cstr(q->cli->a, q->cfg->store.dsn);
	struct stat before = { 0 }, after = { 0 };

	(void)stat(path, &before);
	int rc = store_vacuum(q->s, NULL, e);
	/* What was written is in the log until it is closed. */
	store_close(q->s);
	q->s = NULL;
	if (rc < 0)
		return rc;
	(void)stat(path, &after);
	(void)printf("%lld KiB, it was %lld KiB\n", (long long)after.st_size / 1024,
		     (long long)before.st_size / 1024);
	return OK;
}

static int print_line(void *arg, str text, struct err *e)
{
	(void)arg;
	return fwrite(text.p, 1, text.n, stdout) == text.n ? OK : err_sys(e, "standard output");
}

static int export(struct ask *q, struct err *e)
{
	str table = q->cli->argc > 1 ? str_of(q->cli->argv[1]) : S("");
	int rc = store_export(q->s, table, print_line, NULL, NULL, e);

	if (rc == OK && fflush(stdout) != 0)
		rc = err_sys(e, "standard output");
	return rc;
}

static const struct verb {
	const char *name;
	int args_max; /* besides itself */
	bool alone; /* nobody else may have it */
	int (*run)(struct ask *q, struct err *e);
} verbs[] = {
	{ "check", 0, false, check },
	{ "backup", 0, false, backup },
	{ "vacuum", 0, true, vacuum },
	{ "export", 1, false, export },
};

static int with_store(struct ask *q, const struct verb *v)
{
	str lock = arena_fmt(q->cli->a, "%.*s.lock", STRF(q->cfg->store.dsn));
	struct err e = { 0 };
	int64_t pid = 0;
	int rc = store_open(&q->s, &q->cfg->store, STORE_READ, NULL, &e);

	if (rc == OK && v->alone) {
		store_close(q->s);
		if (lock_probe(lock.p, &pid))
			return cli_fail(
				"a daemon runs (pid %lld), and nobody can write while a "
				"database is compacted: stop it first",
				(long long)pid);
		rc = store_open(&q->s, &q->cfg->store, STORE_DAEMON, NULL, &e);
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = v->run(q, &e);
	store_close(q->s);
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}

static int run(struct cli *cli)
{
	struct ask q = { .cli = cli };
	const struct verb *v = NULL;
	const char *keep = NULL;
	struct config *cfg = NULL;
	bool bad = false;

	q.json = cli_flag(cli, "--json");
	(void)cli_value(cli, "--to", &q.to, &bad);
	(void)cli_value(cli, "--keep", &keep, &bad);
	if (bad || (keep && (!str_i64(str_of(keep), &q.keep) || q.keep < 1)))
		return cli_misuse(cli, "--to wants a path, --keep a number from 1 on");
	int code = cli_rest(cli, 1, 2);
	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < COUNT(verbs); i++)
		if (strcmp(cli->argv[0], verbs[i].name) == 0 &&
		    cli->argc <= 1 + verbs[i].args_max)
			v = &verbs[i];
	if (!v)
		return cli_misuse(cli, "say check, backup, vacuum, or export [TABLE]");
	if ((q.to || keep) && v->run != backup)
		return cli_misuse(cli, "--to and --keep go with backup");
	if ((code = cli_config(cli, CONFIG_STORE, true, &cfg)) != EXIT_OK)
		return code;
	q.cfg = cfg;
	code = with_store(&q, v);
	config_free(cfg);
	return code;
}

const struct cmd cmd_db = {
	.name = "db",
	.summary = "check, back up, compact or print the database",
	.usage = "usage: gantry db check [--json]\n"
		 "       gantry db backup [--to FILE|DIR] [--keep N] [--json]\n"
		 "       gantry db vacuum\n"
		 "       gantry db export [TABLE] [--json]\n"
		 "\n"
		 "check looks through the whole file; exit code 1 when it is damaged.  backup "
		 "writes a\n"
		 "whole copy beside a running daemon, into backups/ of the data directory "
		 "unless "
		 "told;\n"
		 "nothing is overwritten, and --keep N removes all but the newest N copies of "
		 "that\n"
		 "directory.  vacuum gives free room back to the disk and needs the daemon "
		 "stopped.\n"
		 "export prints every row, one JSON object a line.\n"
		 "\n"
		 "example:\n"
		 "  gantry db backup --to /backup --keep 14\n",
	.run = run,
};
