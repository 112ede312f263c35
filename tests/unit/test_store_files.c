/* Files that come with messages, albums that are one turn, and the notice for those who wait. */
#include "os/path.h"
#include "store_world.h"

#include "os/clock.h"
#include "os/file.h"

#include <sys/stat.h>
#include <utime.h>

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))
#define COMPLETE "UPDATE inbox SET ready_at_ms = 1 WHERE ready_at_ms > 0"

static int64_t add(struct world *w, const char *text, const char *album, const char *file)
{
	struct tx tx = world_begin(w);
	struct attachment f = { S("photo"), str_of(file), S("image/png"), 3 };
	struct inbox_new row = { .channel = S("test"),
				 .address = S("1"),
				 .kind = S("message"),
				 .sender = S("ada"),
				 .text = str_of(text),
				 .album = str_of(album),
				 .files = &f,
				 .files_n = *file ? 1 : 0,
				 .waiting_max = 8 };
	int64_t id;

	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static void a_turn_has_the_files_of_its_messages(void **state)
{
	struct world *w = *state;
	struct turn_file *v;
	size_t n;

	(void)add(w, "look", "", "one.png");
	struct turn t = world_claim(w);
	assert_int_equal(t.rows[0].files_n, 1);
	assert_text(t.rows[0].files[0].file, "one.png");
	ok(w, store_turn_files(w->s, t.id, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	assert_text(v[0].file.mime, "image/png");
	assert_int_equal(v[0].seq, world_i64(w, "SELECT seq FROM turn_messages"));
}

static void an_album_is_one_turn_once_no_part_came_for_a_while(void **state)
{
	struct world *w = *state;
	int64_t at, before = clock_now_ms();

	(void)add(w, "before", "g1", "a");
	(void)add(w, "", "g1", "b");
	(void)add(w, "after", "g1", "c");
	(void)add(w, "and what is this", "", "");
	/* It may still grow, and what came after it waits for it. */
	assert_true(world_idle(w));
	ok(w, store_inbox_next_at(w->s, clock_now_ms(), &at, &w->e));
	assert_true(at >= before + STORE_ALBUM_MS && at <= clock_now_ms() + STORE_ALBUM_MS);
	/* One that became complete since the look for work is not slept over. */
	int64_t complete_at = at;
	ok(w, store_inbox_next_at(w->s, complete_at - 1, &at, &w->e));
	assert_int_equal(at, complete_at);
	world_sql(w, COMPLETE);
	ok(w, store_inbox_next_at(w->s, clock_now_ms(), &at, &w->e));
	assert_int_equal(at, 0);
	struct turn t = world_claim(w);
	assert_int_equal(t.rows_n, 3);
	assert_text(t.rows[0].text, "before");
	assert_text(t.rows[2].files[0].file, "c");
	world_finish(w, &t);
	t = world_claim(w);
	assert_text(t.rows[0].text, "and what is this");
	world_finish(w, &t);
	world_check(w);
}

static void a_further_part_moves_the_whole_album_on(void **state)
{
	struct world *w = *state;

	(void)add(w, "1", "g1", "a");
	world_sql(w, COMPLETE);
	(void)add(w, "2", "g1", "b");
	assert_true(world_idle(w));
	assert_int_equal(1, world_i64(w, "SELECT count(DISTINCT ready_at_ms) FROM inbox"));
}

static void albums_of_other_sessions_and_names_stay_apart(void **state)
{
	struct world *w = *state;

	(void)add(w, "1", "g1", "a");
	(void)add(w, "2", "g2", "b");
	world_sql(w, COMPLETE);
	struct turn t = world_claim(w);
	assert_int_equal(t.rows_n, 1);
}

static void those_who_wait_are_told_once_a_burst(void **state)
{
	struct world *w = *state;

	for (int burst = 1; burst <= 2; burst++) {
		for (int i = 0; i < 12; i++) {
			(void)add(w, "m", "", "");
			assert_int_equal(world_i64(w, "SELECT count(*) FROM outbox "
						      "WHERE kind = 'notice'"),
					 i < 8 ? burst - 1 : burst);
		}
		while (!world_idle(w)) {
			struct turn t = world_claim(w);
			world_finish(w, &t);
		}
	}
	world_check(w);
}

static void what_the_model_refused_is_remembered(void **state)
{
	struct world *w = *state;
	struct tx tx;

	(void)add(w, "look", "", "one.png");
	struct turn t = world_claim(w);
	assert_false(t.no_images);
	tx = world_begin(w);
	ok(w, store_turn_no_images(&tx, t.id, &w->e));
	world_commit(w, &tx);
	world_reopen(w, STORE_DAEMON);
	int64_t n;
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	assert_true(world_claim(w).no_images);
}

static void put(struct world *w, const char *name, int64_t age_s)
{
	const char *path = arena_fmt(&w->a, "%.*s/%s", STRF(store_blobs(w->s)), name).p;
	time_t at = (time_t)(clock_now_ms() / 1000 - age_s);

	ok(w, file_write_atomic(path, S("x"), 0600, &w->e));
	assert_int_equal(utime(path, &(struct utimbuf){ at, at }), 0);
}

static bool there(struct world *w, const char *name)
{
	return path_exists(arena_fmt(&w->a, "%.*s/%s", STRF(store_blobs(w->s)), name).p);
}

static void files_nothing_will_read_are_swept_away(void **state)
{
	struct world *w = *state;

	put(w, "handled", 7200);
	put(w, "waits", 7200);
	put(w, "orphan", 7200);
	put(w, "young", 60);
	(void)add(w, "1", "", "handled");
	(void)add(w, "2", "", "waits");
	struct turn t = world_claim(w);
	ok(w, store_blobs_sweep(w->s, &w->e));
	assert_true(there(w, "handled")); /* its turn runs */
	assert_false(there(w, "orphan"));
	world_finish(w, &t);
	ok(w, store_blobs_sweep(w->s, &w->e));
	assert_false(there(w, "handled"));
	assert_true(there(w, "waits"));
	assert_true(there(w, "young"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_turn_has_the_files_of_its_messages),
		T(an_album_is_one_turn_once_no_part_came_for_a_while),
		T(a_further_part_moves_the_whole_album_on),
		T(albums_of_other_sessions_and_names_stay_apart),
		T(those_who_wait_are_told_once_a_burst),
		T(what_the_model_refused_is_remembered),
		T(files_nothing_will_read_are_swept_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
