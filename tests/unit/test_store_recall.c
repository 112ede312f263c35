/*
 * The recall set: some five hundred everyday statements in five languages, all in one memory,
 * and questions about some of them, put as a person would.  A file a language; a line is
 * "kind|subject|content", and one that begins with "? " asks for the statement above it.
 */
#include "store_world.h"

#include "os/file.h"
#include "store/memory.h"

#define CASES "tests/cases/memory"

struct question {
	str text, file;
	int64_t id; /* of the row that answers it */
};

struct set {
	struct question v[200];
	size_t n;
	int64_t rows;
};

static void read_line(struct world *w, struct tx *tx, struct set *set, str file, str line)
{
	struct memory m = { .source = S("chat") };
	bool known = false;

	if (str_starts(line, S("? "))) {
		assert_true(set->n < COUNT(set->v) && set->rows > 0);
		set->v[set->n++] =
			(struct question){ str_sub(line, 2, line.n), file, set->rows };
		return;
	}
	m.kind = str_cut(&line, '|');
	m.subject = str_cut(&line, '|');
	m.content = line;
	ok(w, store_memory_add(tx, &m, &set->rows, &known, &w->e));
	if (known)
		fail_msg("twice: %.*s", STRF(m.content));
}

static void read_set(struct world *w, struct set *set)
{
	struct tx tx = world_begin(w);
	str *names, text;
	size_t n;

	ok(w, dir_list(&names, &n, &w->a, CASES, 100, &w->e));
	assert_true(n >= 5);
	for (size_t i = 0; i < n; i++) {
		ok(w, file_read(&text, &w->a, arena_fmt(&w->a, CASES "/%.*s", STRF(names[i])).p,
				1 << 20, &w->e));
		while (text.n) {
			str line = str_trim(str_cut(&text, '\n'));
			if (line.n)
				read_line(w, &tx, set, names[i], line);
		}
	}
	world_commit(w, &tx);
}

static size_t rank_of(const struct memory *v, size_t n, int64_t id)
{
	size_t i = 0;

	while (i < n && v[i].id != id)
		i++;
	return i;
}

static void questions_find_their_statements(void **state)
{
	struct world *w = *state;
	struct set set = { 0 };
	size_t first = 0, five = 0, thirty = 0;

	read_set(w, &set);
	assert_true(set.rows >= 500 && set.n >= 60);
	for (size_t i = 0; i < set.n; i++) {
		const struct question *q = &set.v[i];
		struct memory *v;
		size_t n;
		ok(w, store_memory_search(w->s, q->text, 30, &w->a, &v, &n, &w->e));
		size_t rank = rank_of(v, n, q->id);
		first += rank == 0 && n;
		five += rank < 5 && rank < n;
		thirty += rank < n;
		if (rank < 5 && rank < n)
			continue;
		print_message("  miss: %.*s: %.*s: ", STRF(q->file), STRF(q->text));
		if (rank < n)
			print_message("place %zu\n", rank + 1);
		else
			print_message("not among %zu\n", n);
	}
	print_message("recall set: %lld statements, %zu questions: first %zu (%zu %%), among "
		      "five %zu (%zu %%), among thirty %zu (%zu %%)\n",
		      (long long)set.rows, set.n, first, first * 100 / set.n, five,
		      five * 100 / set.n, thirty, thirty * 100 / set.n);
	assert_true(five * 100 >= 90 * set.n);
	assert_true(thirty * 100 >= 98 * set.n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(questions_find_their_statements, world_setup,
						world_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
