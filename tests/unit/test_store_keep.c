/*
 * Looking after the file: what a check finds, what a copy holds, that printing ends when its
 * reader does, and that each of them can be cancelled.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/path.h"
#include "store/keep.h"
#include "store_world.h"

struct lines {
	int n, most;
	str last;
	struct arena *a;
};

static int take(void *arg, str text, struct err *e)
{
	struct lines *l = arg;

	if (++l->n > l->most)
		return err_set(e, E_IO, "enough");
	l->last = arena_dup(l->a, text);
	return OK;
}

static void every_row_is_printed_until_its_reader_has_enough(void **state)
{
	struct world *w = *state;
	struct lines l = { .most = 1000, .a = &w->a };

	world_turn(w, "1", "hello", 2);
	ok(w, store_export(w->s, S("turn_messages"), take, &l, NULL, &w->e));
	assert_int_equal(world_i64(w, "SELECT count(*) FROM turn_messages"), l.n);
	assert_true(str_starts(l.last, S("{\"table\":\"turn_messages\",\"row\":{\"id\":")));
	assert_true(str_ends(l.last, S("}}\n")));
	l = (struct lines){ .most = 2, .a = &w->a };
	assert_int_equal(E_IO, store_export(w->s, S(""), take, &l, NULL, &w->e));
	assert_int_equal(3, l.n);
	assert_int_equal(E_NOENT, store_export(w->s, S("x\" y"), take, &l, NULL, &w->e));
	world_turn(w, "1", "more", 0); /* no transaction was left open */
}

static void a_copy_is_whole_and_never_in_place_of_something(void **state)
{
	struct world *w = *state;
	const char *to = world_path(w, "copy.db");
	struct store_cfg cfg = w->cfg;
	struct store *copy;
	struct store_health h;

	world_turn(w, "1", "hello", 2);
	ok(w, store_backup(w->s, to, NULL, &w->e));
	assert_int_equal(E_BUSY, store_backup(w->s, to, NULL, &w->e));
	cfg.dsn = str_of(to);
	ok(w, store_open(&copy, &cfg, STORE_READ, NULL, &w->e));
	ok(w, store_inspect(copy, &w->a, &h, NULL, &w->e));
	assert_int_equal(0, h.faults_n);
	assert_true(h.schema > 0 && h.file_bytes == h.pages * h.page_bytes);
	struct session *list;
	size_t n;
	ok(w, store_session_list(copy, 0, &w->a, &list, &n, &w->e));
	assert_int_equal(1, n);
	store_close(copy);
}

static void a_copy_that_is_cancelled_leaves_nothing(void **state)
{
	struct world *w = *state;
	const char *to = world_path(w, "copy.db");
	struct cancel c;

	for (int i = 0; i < 50; i++)
		world_turn(w, "1", "hello", 3);
	ok(w, cancel_init(&c, NULL, 0, &w->e));
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(E_CANCELED, store_backup(w->s, to, &c, &w->e));
	assert_false(path_exists(to) || path_exists(world_path(w, "copy.db.part")));
	cancel_done(&c);
}

static void compacting_gives_room_back_and_keeps_the_rows(void **state)
{
	struct world *w = *state;
	struct store_health before, after;

	world_turn(w, "1", "hello", 2);
	world_sql(w,
		  "CREATE TABLE big (x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
		  "+ 1 FROM n WHERE i < 2000) INSERT INTO big SELECT hex(randomblob(400)) "
		  "FROM n; DROP TABLE big");
	ok(w, store_inspect(w->s, &w->a, &before, NULL, &w->e));
	assert_true(before.free_pages > 100);
	ok(w, store_vacuum(w->s, NULL, &w->e));
	ok(w, store_inspect(w->s, &w->a, &after, NULL, &w->e));
	assert_int_equal(0, after.free_pages);
	assert_true(after.pages < before.pages);
	world_turn(w, "1", "and on", 1);
	world_check(w);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(every_row_is_printed_until_its_reader_has_enough),
		T(a_copy_is_whole_and_never_in_place_of_something),
		T(a_copy_that_is_cancelled_leaves_nothing),
		T(compacting_gives_room_back_and_keeps_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
