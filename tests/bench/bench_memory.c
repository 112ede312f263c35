/*
 * Recall: what it takes to find the rows of memory for a sentence, with 100 and with 100 000 of
 * them.
 *
 *	bench_memory EMPTY_DIRECTORY
 *	bench_memory DIRECTORY ROWS
 *
 * The second form only adds ROWS to DIRECTORY/gantry.db.  One `name value unit` line each.  Words are as frequent as in any language (by Zipf's law,
 * of 30 000), every tenth row is Chinese, and a question has some words of the row it is
 * about among some that are everywhere.
 */
#include "os/clock.h"
#include "store/memory.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 30000
#define ASKED 400

static uint64_t seed = 88172645463325252u;

static uint64_t dice(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* A rank from 1 to n, each as likely as it is low: near enough to Zipf. */
static size_t rank(size_t n)
{
	double u = (double)(dice() >> 11) / 9007199254740992.0, x = 1;

	for (double left = u; left > 0 && x < (double)n; left -= 0.1)
		x *= left > 0.1 ? 2.8 : 1 + 18 * left;
	size_t r = (size_t)x;
	return r < 1 ? 1 : r > n ? n : r;
}

static void word(char *out, size_t size, size_t r)
{
	static const char *const syllables[] = {
		"ba", "ce", "di", "fo", "gu", "ha", "je", "ki",
		"lo", "mu", "na", "pe", "ri", "so", "tu", "va"
	};
	size_t n = 0;

	for (r += 15; r && n + 3 < size; r /= 16)
		n += (size_t)snprintf(out + n, size - n, "%s", syllables[r % 16]);
}

static void statement(char *out, size_t size, size_t words, int chinese)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < words && n + 40 < size; i++) {
		char w[40];
		if (chinese) {
			size_t cp = 0x4e00 + rank(3000);
			(void)snprintf(w, sizeof w, "%c%c%c", (int)(0xe0 | cp >> 12),
				       (int)(0x80 | (cp >> 6 & 63)), (int)(0x80 | (cp & 63)));
		} else {
			word(w, sizeof w, rank(WORDS));
		}
		n += (size_t)snprintf(out + n, size - n, "%s%s", i && !chinese ? " " : "", w);
	}
}

static void die(const char *what)
{
	(void)fprintf(stderr, "bench_memory: %s\n", what);
	exit(1);
}

static void fill(const char *path, int64_t rows)
{
	static const char sql[] =
		"INSERT INTO memory (kind, subject, content, source, created_at, updated_at) "
		"VALUES ('fact', ?1, ?2, 'chat', '2026-01-01T00:00:00.000Z', "
		"'2026-01-01T00:00:00.000Z')";
	sqlite3 *h;
	sqlite3_stmt *st;

	if (sqlite3_open(path, &h) || sqlite3_exec(h, "BEGIN", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(h, sql, -1, &st, NULL))
		die(sqlite3_errmsg(h));
	for (int64_t i = 0; i < rows; i++) {
		char subject[40], content[400];
		word(subject, sizeof subject, 400 + rank(300));
		statement(content, sizeof content, 6 + dice() % 9, i % 10 == 9);
		(void)sqlite3_bind_text(st, 1, subject, -1, SQLITE_TRANSIENT);
		(void)sqlite3_bind_text(st, 2, content, -1, SQLITE_TRANSIENT);
		if (sqlite3_step(st) != SQLITE_DONE)
			die(sqlite3_errmsg(h));
		(void)sqlite3_reset(st);
	}
	(void)sqlite3_finalize(st);
	if (sqlite3_exec(h, "COMMIT", NULL, NULL, NULL))
		die(sqlite3_errmsg(h));
	(void)sqlite3_close(h);
}

static int by_value(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Some words of a row, some that are everywhere. */
static str question(struct store *s, struct arena *a, int64_t rows)
{
	int64_t id = 1 + (int64_t)(dice() % (uint64_t)rows);
	struct memory *m;
	struct err e = { 0 };
	char common[200];
	size_t n;

	if (store_memory_get(s, &id, 1, a, &m, &n, &e) < 0 || n == 0)
		die(e.msg);
	statement(common, sizeof common, 4, 0);
	return arena_fmt(a, "what is it about %.*s and %s: %.*s?", STRF(m->subject), common,
			 STRF(str_sub(m->content, 0, m->content.n / 2 / 3 * 3)));
}

static void measure(struct store *s, int64_t rows)
{
	int64_t took[ASKED], found = 0;
	struct err e = { 0 };

	for (int i = -20; i < ASKED; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str q = question(s, &a, rows);
		struct memory *v;
		size_t n;
		int64_t began = clock_mono_us();
		if (store_memory_search(s, q, 30, &a, &v, &n, &e) < 0)
			die(e.msg);
		if (i >= 0)
			took[i] = clock_mono_us() - began;
		found += (int64_t)n;
	}
	if (!found)
		die("nothing was found");
	qsort(took, ASKED, sizeof *took, by_value);
	(void)printf("recall_%lld_rows_p50 %.3f ms\n", (long long)rows,
		     (double)took[ASKED / 2] / 1e3);
	(void)printf("recall_%lld_rows_p99 %.3f ms\n", (long long)rows,
		     (double)took[ASKED * 99 / 100] / 1e3);
	(void)fflush(stdout);
}

static struct store *opened(str dir, str path)
{
	struct store_cfg cfg = { .dsn = path, .data_dir = dir };
	struct store *s;
	struct err e = { 0 };

	if (store_open(&s, &cfg, STORE_DAEMON, NULL, &e) < 0)
		die(e.msg);
	return s;
}

int main(int argc, char **argv)
{
	static const int64_t sizes[] = { 100, 100000 };
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };

	if (argc != 2 && argc != 3)
		die("usage: bench_memory DIRECTORY [ROWS]");
	if (argc == 3) {
		str path = arena_fmt(&a, "%s/gantry.db", argv[1]);
		struct store *s = opened(str_of(argv[1]), path);
		fill(path.p, atoll(argv[2]));
		store_close(s);
		return 0;
	}
	for (size_t i = 0; i < COUNT(sizes); i++) {
		str dir = arena_fmt(&a, "%s/%lld", argv[1], (long long)sizes[i]);
		str path = arena_fmt(&a, "%.*s/gantry.db", STRF(dir));
		struct memory_health health;
		struct store *s = opened(dir, path);
		fill(path.p, sizes[i]);
		int64_t began = clock_mono_us();
		if (store_memory_check(s, NULL, &health, &e) < 0)
			die(e.msg);
		(void)printf("memory_check_%lld_rows %.0f ms\n", (long long)sizes[i],
			     (double)(clock_mono_us() - began) / 1e3);
		measure(s, sizes[i]);
		store_close(s);
	}
	return 0;
}
