/*
 * One strict YAML document.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "config/yaml.h"

/* The tree on one line: scalars in quotes, nulls as ~. */
static void flat(struct buf *b, const struct yaml *y)
{
	if (y->kind == YAML_SCALAR) {
		buf_fmt(b, y->null ? "~" : "'%s'", y->text.p);
		return;
	}
	buf_addc(b, y->kind == YAML_MAP ? '{' : '[');
	for (const struct yaml *m = y->child; m; m = m->next) {
		if (m != y->child)
			buf_addc(b, ' ');
		if (y->kind == YAML_MAP)
			buf_fmt(b, "%s:", m->key.p);
		flat(b, m);
	}
	buf_addc(b, y->kind == YAML_MAP ? '}' : ']');
}

static const struct {
	const char *in, *tree, *problems; /* tree NULL: nothing was read; problems NULL: none */
} rows[] = {
	{ "a: 1\nb: [x, 'y', \"z\"]\n", "{a:'1' b:['x' 'y' 'z']}", NULL },
	{ "mode: off\nn: 010\nid: -1001234567890\n", "{mode:'off' n:'010' id:'-1001234567890'}",
	  NULL },
	{ "-1001234567890: {x: y}\n", "{-1001234567890:{x:'y'}}", NULL },
	{ "a:\nb: ~\nc: null\nd: Null\ne: ''\nf: 'null'\n", "{a:~ b:~ c:~ d:~ e:'' f:'null'}",
	  NULL },
	{ "a: |\n  one\n  two\n", "{a:'one\ntwo\n'}", NULL },
	{ "a: {}\nb: []\n", "{a:{} b:[]}", NULL },
	{ "# only words\n--- \na: b # words\n...\n", "{a:'b'}", NULL },
	{ "\xef\xbb\xbf"
	  "a: b\n",
	  "{a:'b'}", NULL },
	{ "just text", "'just text'", NULL },
	{ "a: '1'\na: '2'\n", "{a:'1'}", "f:2:1: a: this key stands here twice\n" },
	{ "x:\n  a: 1\n  b: 2\n  a: 3\n", "{x:{a:'1' b:'2'}}",
	  "f:4:3: a: this key stands here twice\n" },
	{ "a: 1\na: 2\nb: 1\nb: 2\n", "{a:'1' b:'1'}",
	  "f:2:1: a: this key stands here twice\nf:4:1: b: this key stands here twice\n" },
	{ "", NULL, "f: the file is empty\n" },
	{ "# nothing\n", NULL, "f: the file is empty\n" },
	{ "~\n", NULL, "f: the file is empty\n" },
	{ "a: 1\n---\nb: 2\n", NULL,
	  "f:2:1: a second document begins here; only one is read\n" },
	{ "a: &x 1\n", "{a:'1'}", "f:1:4: anchors are not supported\n" },
	{ "a: *x\n", NULL, "f:1:4: aliases are not supported\n" },
	{ "a: !!str 1\n", "{a:'1'}", "f:1:4: tags are not supported\n" },
	{ "a: !<x> [1]\n", "{a:['1']}", "f:1:4: tags are not supported\n" },
	{ "a: {<<: {b: 1}}\n", "{a:{<<:{b:'1'}}}", NULL }, /* the option table refuses << */
	{ "[a]: 1\n", "{}", "f:1:1: a key must be a plain word\n" },
	{ "a: \"x\\0y\"\n", "{a:''}", "f:1:4: a NUL character is not allowed here\n" },
	{ "a: [\n", NULL, "f:2:1: did not find expected node content\n" },
	{ "a: b: c\n", NULL, "f:1:5: mapping values are not allowed in this context\n" },
	{ "\tx: 1\n", NULL, "f:1:1: found character that cannot start any token\n" },
	{ "a: \x01\n", NULL, "f:1:4: control characters are not allowed\n" },
	{ "a: \xff\n", NULL, "f:1:4: invalid leading UTF-8 octet\n" },
	{ "a: b\nc: d\n  e\xc3(\n", NULL, "f:3:5: invalid trailing UTF-8 octet\n" },
};

static void documents_become_trees_and_faults_problems(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 1 << 16);
		struct problems p;
		struct yaml *y;

		problems_init(&p, &a, S("f"));
		y = yaml_read(&a, str_of(rows[i].in), &p);
		assert_string_equal(buf_str(&p.text).p,
				    rows[i].problems ? rows[i].problems : "");
		if ((y != NULL) != (rows[i].tree != NULL))
			fail_msg("%s", rows[i].in);
		if (y) {
			flat(&b, y);
			assert_string_equal(buf_str(&b).p, rows[i].tree);
		}
	}
}

static str repeat(struct arena *a, const char *head, const char *what, size_t n)
{
	struct buf b = buf_in(a, 4 << 20);

	buf_add(&b, str_of(head));
	for (size_t i = 0; i < n; i++)
		buf_add(&b, str_of(what));
	return buf_str(&b);
}

static void size_depth_and_number_have_limits(void **state)
{
	static const struct {
		const char *head, *what;
		size_t n;
		const char *problem;
	} big[] = {
		{ "a: ", "[", 40, "nested too deeply" },
		{ "", "a: {", 100000, "nested too deeply" },
		{ "", "- x\n", 20001, "too many values" },
		{ "a: ", "x", (1 << 20) + 1, "larger than 1048576 bytes" },
	};

	for (size_t i = 0; i < COUNT(big); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct problems p;

		problems_init(&p, &a, S("f"));
		assert_null(yaml_read(&a, repeat(&a, big[i].head, big[i].what, big[i].n), &p));
		assert_int_equal(p.n, 1);
		assert_non_null(strstr(buf_str(&p.text).p, big[i].problem));
	}
}

static void a_flood_of_problems_is_counted_but_not_listed(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct problems p;

	problems_init(&p, &a, S("f"));
	assert_non_null(yaml_read(&a, repeat(&a, "a: 0\n", "a: 1\n", 1000), &p));
	assert_int_equal(p.n, 1000);
	str rest = buf_str(&p.text);
	size_t lines = 0;
	for (; rest.n; lines++)
		(void)str_cut(&rest, '\n');
	assert_int_equal(lines, PROBLEMS_MAX);
}

static void problems_show_foreign_text_harmless(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct problems p;

	problems_init(&p, &a, S("f"));
	problem_add(&p, NULL, S("a\x1b[31m\nb"), "%s", "line\nbreak");
	assert_string_equal(buf_str(&p.text).p, "a\\x1b[31m b: line\\nbreak\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_become_trees_and_faults_problems),
		cmocka_unit_test(size_depth_and_number_have_limits),
		cmocka_unit_test(a_flood_of_problems_is_counted_but_not_listed),
		cmocka_unit_test(problems_show_foreign_text_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
