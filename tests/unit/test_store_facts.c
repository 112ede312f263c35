/*
 * What is known of the file, and the index of memory held against its rows by reading alone.
 */
#include "store_world.h"

#include "store/facts.h"
#include "store/memory.h"

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static void sizes_and_counts_are_those_of_the_file(void **state)
{
	struct world *w = *state;
	struct store_facts f;

	world_turn(w, "1", "hi", 0);
	world_turn(w, "2", "hi", 0);
	ok(w, store_facts_get(w->s, &f, &w->e));
	assert_int_equal(f.sessions, 2);
	assert_int_equal(f.turns, 2);
	assert_int_equal(f.memories, 0);
	assert_int_equal(f.bytes, world_i64(w, "SELECT page_count * page_size FROM "
					       "pragma_page_count, pragma_page_size"));
	assert_true(f.schema > 0 && f.sqlite[0] == '3' && f.log_bytes > 0);
}

static bool fits(struct world *w, str *why)
{
	bool yes = false;

	ok(w, store_memory_fits(w->s, &w->a, &yes, why, NULL, &w->e));
	return yes;
}

static void an_index_of_memory_that_lacks_a_row_is_seen_and_mended(void **state)
{
	static const char *const damages[] = {
		"DELETE FROM memory_fts_docsize WHERE id = 1",
		"INSERT INTO memory_fts_docsize (id, sz) VALUES (99, x'0101')",
		"INSERT INTO memory_fts (rowid, subject, content) VALUES (77, 'a', 'b')",
		"UPDATE memory_fts_data SET block = x'00ff00ff' WHERE id > 100",
	};
	struct world *w = *state;
	struct memory_health h;
	str why = S("?");

	world_sql(w, "INSERT INTO memory (kind, subject, content, source, created_at, "
		     "updated_at) VALUES "
		     "('fact', 'tea', 'she takes it green', 'x', '2026-01-01T00:00:00Z', "
		     "'2026-01-01T00:00:00Z'), "
		     "('fact', 'dog', 'he is called Rex', 'x', '2026-01-01T00:00:00Z', "
		     "'2026-01-01T00:00:00Z')");
	assert_true(fits(w, &why));
	assert_text(why, "");
	for (size_t i = 0; i < COUNT(damages); i++) {
		world_sql(w, damages[i]);
		assert_false(fits(w, &why));
		assert_true(str_starts(why, S("the full-text index of memory")));
		ok(w, store_memory_check(w->s, NULL, &h, &w->e));
		assert_true(h.stale);
		assert_true(fits(w, &why));
		ok(w, store_failed(w->s, &w->e)); /* nothing is latched */
	}
}

static void reading_leaves_nothing_behind(void **state)
{
	struct world *w = *state;
	struct store_facts f;
	str why;

	world_reopen(w, STORE_READ);
	assert_true(fits(w, &why) && fits(w, &why));
	ok(w, store_facts_get(w->s, &f, &w->e));
}

#define W(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		W(sizes_and_counts_are_those_of_the_file),
		W(an_index_of_memory_that_lacks_a_row_is_seen_and_mended),
		W(reading_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
