/*
 * memory_store, memory_recall and memory_forget as a model calls them, and a server in their
 * place.
 */
#include "store_world.h"

#include "store/memory.h"
#include "tools/tools.h"

#include <string.h>

struct bench {
	struct world *w;
	struct memory_cfg cfg;
	struct tools *tools;
	struct toolset set;
	str session;
};

static struct tools_opt opt_of(struct bench *b)
{
	return (struct tools_opt){ .store = b->w->s, .memory = &b->cfg };
}

static int up(void **state)
{
	static struct bench b;

	b = (struct bench){ .cfg = { .enabled = true, .backend = S("builtin") } };
	(void)world_setup((void **)&b.w);
	struct tools_opt opt = opt_of(&b);
	ok(b.w, tools_open(&b.tools, &opt, &b.w->e));
	tools_snapshot(b.tools, &b.w->a, &b.set);
	(void)world_add(b.w, "1", "hi");
	b.session = world_claim(b.w).session.id;
	*state = &b;
	return 0;
}

static int down(void **state)
{
	struct bench *b = *state;

	tools_close(b->tools);
	return world_teardown((void **)&b->w);
}

static const char *call(struct bench *b, const char *name, const char *args, bool failed)
{
	struct tool_ctx ctx = { .session_id = b->session };
	struct call c = { .requested = str_of(name), .args = str_of(args), .index = 1 };
	const struct tool_spec *spec = tools_admit(b->tools, &b->set, &c, &b->w->a);

	assert_non_null(spec);
	ok(b->w, tools_run(b->tools, spec, &c, &ctx, &b->w->a, NULL, &b->w->e));
	if (c.state != (failed ? CALL_FAILED : CALL_DONE))
		fail_msg("%s %s: %.*s", name, args, STRF(c.result));
	return arena_cstr(&b->w->a, c.result);
}

static void says(struct bench *b, const char *name, const char *args, const char *want)
{
	const char *got = call(b, name, args, str_starts(str_of(want), S("error: ")));

	if (strncmp(got, want, strlen(want)) != 0)
		fail_msg("%s %s: \"%s\", not \"%s\"", name, args, got, want);
}

static void a_model_stores_recalls_and_forgets(void **state)
{
	struct bench *b = *state;

	says(b, "memory_store",
	     "{\"kind\":\"Person\",\"subject\":\"mom\",\"content\":\"prefers calls over "
	     "texts\"}",
	     "stored id=1 kind=person subject=mom");
	says(b, "memory_store",
	     "{\"kind\":\"person\",\"subject\":\"Mom\",\"content\":\"Prefers calls over "
	     "texts.\"}",
	     "known already: id=1 kind=person");
	says(b, "memory_store",
	     "{\"kind\":\"person\",\"subject\":\"mom\",\"content\":\"prefers "
	     "letters\",\"replaces\":1}",
	     "stored id=2 kind=person subject=mom, replaces id=1");
	says(b, "memory_recall", "{\"query\":\"does mom prefer texts?\"}",
	     "id=2 (person) mom: prefers letters");
	says(b, "memory_store",
	     "{\"kind\":\"fact\",\"subject\":\"a\",\"content\":\"b\",\"replaces\":77}",
	     "stored id=3 kind=fact subject=a; nothing was replaced");
	says(b, "memory_recall", "{}", "id=3 (fact) a: b\nid=2 ");
	says(b, "memory_recall", "{\"query\":\"zebra\"}", "no memories matched");
	says(b, "memory_recall", "{\"query\":\"\",\"limit\":\"1\"}", "id=3 (fact) a: b");
	says(b, "memory_forget", "{\"id\":\"3\"}", "forgot id=3");
	says(b, "memory_forget", "{\"id\":3}", "error: no memory with id 3");
	says(b, "memory_forget", "{\"id\":0,\"query\":\"mom's zebras\"}",
	     "error: no memory has all words");
	says(b, "memory_forget", "{\"id\":0,\"query\":\"mom letter\"}",
	     "forgot 2; tell the user what went, undo brings it back:\nid=2 (person) mom\n"
	     "id=1 (person) mom");
	says(b, "memory_recall", "{\"query\":\"mom\"}", "no memories matched");
	says(b, "memory_forget", "{\"undo\":true}", "brought back 2:\nid=1 (person) mom: ");
	says(b, "memory_recall", "{\"query\":\"mom\"}", "id=2 (person) mom: prefers letters");
	says(b, "memory_forget", "{\"undo\":true}", "brought back 1:\nid=3 (fact) a: b");
	says(b, "memory_forget", "{\"undo\":true}", "error: nothing was forgotten");
}

static void bad_arguments_are_answered(void **state)
{
	static const struct {
		const char *name, *args, *says;
	} rows[] = {
		{ "memory_store", "{}", "error: kind must be" },
		{ "memory_store", "{\"kind\":\"fact\",\"subject\":\"\",\"content\":\"x\"}",
		  "error: subject is empty" },
		{ "memory_store", "{\"kind\":7,\"subject\":[],\"content\":{}}", "error: kind" },
		{ "memory_store",
		  "{\"kind\":\"fact\",\"subject\":\"a\",\"content\":\"b\",\"replaces\":\"x\"}",
		  "error: replaces must be" },
		{ "memory_recall", "{\"query\":7}", "error: query must be a text" },
		{ "memory_recall", "{\"limit\":{}}", "error: limit must be a number" },
		{ "memory_forget", "{}", "error: give an id or a query" },
		{ "memory_forget", "{\"query\":\"  \"}", "error: give an id or a query" },
		{ "memory_forget", "{\"id\":1.5}", "error: id must be a number" },
		{ "memory_forget", "{\"undo\":true,\"id\":1}", "error: undo stands alone" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < COUNT(rows); i++)
		says(b, rows[i].name, rows[i].args, rows[i].says);
	assert_int_equal(world_i64(b->w, "SELECT count(*) FROM memory"), 0);
}

static void a_query_that_fits_too_much_takes_nothing(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 31; i++)
		(void)call(
			b, "memory_store",
			arena_fmt(
				&b->w->a,
				"{\"kind\":\"fact\",\"subject\":\"x\",\"content\":\"row %d\"}",
				i)
				.p,
			false);
	says(b, "memory_forget", "{\"query\":\"row\"}", "error: the query fits 31 memories");
	assert_int_equal(world_i64(b->w, "SELECT count(*) FROM memory"), 31);
	says(b, "memory_recall", "{\"limit\":1000}", "id=31 ");
}

/* --- who has the tools ---------------------------------------------------------------- */

static void list_server(const struct tool_source *self, struct arena *a,
			void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	static const char *const names[] = { "memory_store", "memory_recall", "memory_forget",
					     "search" };

	(void)a;
	for (size_t i = 0; i < COUNT(names); i++)
		add(arg, &(struct tool_spec){ .name = arena_fmt(a, "brain__%s", names[i]),
					      .tool = str_of(names[i]),
					      .server = S("brain"),
					      .schema = S("{}"),
					      .source = self });
}

static const char *names_with(struct bench *b, bool enabled, const char *backend)
{
	struct tool_source server = { .name = "mcp", .list = list_server };
	struct memory_cfg cfg = { .enabled = enabled, .backend = str_of(backend) };
	struct tools_opt opt = { .store = b->w->s, .memory = &cfg, .mcp = &server };
	struct tools *t;
	struct toolset set;
	str all = S("");

	ok(b->w, tools_open(&t, &opt, &b->w->e));
	tools_snapshot(t, &b->w->a, &set);
	for (size_t i = 0; i < set.n; i++)
		all = arena_fmt(&b->w->a, "%.*s%.*s%s ", STRF(all), STRF(set.v[i].name),
				set.v[i].server.n ? "*" : "");
	tools_close(t);
	return all.p;
}

static void a_server_takes_the_place_of_our_memory(void **state)
{
	struct bench *b = *state;

	assert_string_equal(names_with(b, true, "builtin"),
			    "brain__memory_forget* brain__memory_recall* brain__memory_store* "
			    "brain__search* memory_forget memory_recall memory_store ");
	assert_string_equal(names_with(b, true, "mcp:brain"),
			    "brain__search* memory_forget* memory_recall* memory_store* ");
	assert_string_equal(names_with(b, true, "mcp:other"),
			    "brain__memory_forget* brain__memory_recall* brain__memory_store* "
			    "brain__search* ");
	assert_string_equal(names_with(b, false, "builtin"),
			    "brain__memory_forget* brain__memory_recall* brain__memory_store* "
			    "brain__search* ");
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_model_stores_recalls_and_forgets),
		T(bad_arguments_are_answered),
		T(a_query_that_fits_too_much_takes_nothing),
		T(a_server_takes_the_place_of_our_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
