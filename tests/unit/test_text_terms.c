/*
 * The words of a text as they are looked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/utf.h"
#include "text/terms.h"

/* The terms with bars between them, grams in brackets, weak ones with a question mark. */
static str shown(struct arena *a, struct terms t)
{
	struct buf b = buf_in(a, 1 << 20);

	for (size_t i = 0; i < t.n; i++)
		buf_fmt(&b, t.v[i].gram ? "%s[%.*s]%s" : "%s%.*s%s", i ? "|" : "",
			STRF(t.v[i].text), t.v[i].weak ? "?" : "");
	return buf_str(&b);
}

static const struct {
	const char *text, *all, *wanted;
} rows[] = {
	{ "", "", "" },
	{ "Does Mom prefer texts?", "does|mom|prefer|texts", "mom|prefer|texts" },
	{ "who am I", "who|am|i", "who|am|i" }, /* nothing else */
	{ "Müller trinkt Café", "muller|trinkt|cafe", "muller|trinkt|cafe" },
	{ "MU\xcc\x88LLER", "muller", "muller" }, /* a combining mark */
	{ "POL-358 (open)", "pol|358|open", "pol|358|open" },
	{ "don't use agents", "don|t|use|agents", "use|agents" },
	{ "C++ \xf0\x9f\x99\x82 \"x", "c|x", "c|x" },
	{ "mom mom MOM", "mom|mom|mom", "mom" },
	/* 猫の名前: pairs, and the last one by itself. */
	{ "\xe7\x8c\xab\xe3\x81\xae\xe5\x90\x8d\xe5\x89\x8d",
	  "[\xe7\x8c\xab\xe3\x81\xae]|[\xe3\x81\xae\xe5\x90\x8d]|[\xe5\x90\x8d\xe5\x89\x8d]|"
	  "[\xe5\x89\x8d]",
	  "[\xe7\x8c\xab\xe3\x81\xae]|[\xe3\x81\xae\xe5\x90\x8d]|[\xe5\x90\x8d\xe5\x89\x8d]|"
	  "[\xe7\x8c\xab]?|[\xe5\x90\x8d]?|[\xe5\x89\x8d]?" },
	{ "\xe7\x8c\xab?", "[\xe7\x8c\xab]", "[\xe7\x8c\xab]" },
	/* です is grammar; a word in Latin letters ends the run. */
	{ "\xe3\x81\xa7\xe3\x81\x99", "[\xe3\x81\xa7\xe3\x81\x99]?|[\xe3\x81\x99]?",
	  "[\xe3\x81\xa7\xe3\x81\x99]?" },
	{ "Mac\xe3\x82\x92\xe8\xb2\xb7", "mac|[\xe3\x82\x92\xe8\xb2\xb7]|[\xe8\xb2\xb7]",
	  "mac|[\xe3\x82\x92\xe8\xb2\xb7]|[\xe8\xb2\xb7]?" },
	/* Katakana is found by hiragana, full width by ASCII. */
	{ "\xe3\x83\x9d\xe3\x83\x81", "[\xe3\x81\xbd\xe3\x81\xa1]?|[\xe3\x81\xa1]?",
	  "[\xe3\x81\xbd\xe3\x81\xa1]?" },
	{ "\xef\xbc\xa1\xef\xbc\xa2", "ab", "ab" },
	{ "a\xff"
	  "b",
	  "a|b", "b" }, /* bad bytes part words */
};

static void words_are_folded_and_parted(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		str all = shown(&a, terms_all(&a, str_of(rows[i].text)));
		str wanted = shown(&a, terms_wanted(&a, str_of(rows[i].text), 32));
		if (!str_eq(all, str_of(rows[i].all)) ||
		    !str_eq(wanted, str_of(rows[i].wanted)))
			fail_msg("\"%s\": %.*s / %.*s", rows[i].text, STRF(all), STRF(wanted));
	}
}

static void a_term_fits_its_other_forms_less_than_itself(void **state)
{
	static const struct {
		const char *wanted, *found;
		double fit;
	} fits[] = {
		{ "text", "text", 1 },
		{ "texts", "text", 0.85 },
		{ "prefer", "prefers", 0.85 },
		{ "allergies", "allergy", 0.85 },
		{ "living", "lives", 0.85 },
		{ "zahnarzt", "zahnarzttermin", 0.5 },
		{ "zahnarzttermin", "zahnarzt", 0.5 },
		{ "zahnarzttermin", "termin", 0.5 },
		{ "zahnarzttermin", "arz", 0 },
		{ "prefiere", "prefiero", 0.85 },
		{ "katzen", "katze", 0.85 },
		{ "cat", "category", 0 },
		{ "mom", "mother", 0 },
		{ "12", "123", 0 },
		{ "2019", "20190", 0 },
	};
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(fits); i++) {
		struct terms w = terms_all(&a, str_of(fits[i].wanted));
		struct terms f = terms_all(&a, str_of(fits[i].found));
		if (term_fits(w.v, f.v) != fits[i].fit)
			fail_msg("%s in %s: %g", fits[i].wanted, fits[i].found,
				 term_fits(w.v, f.v));
	}
}

static void the_second_index_has_stems_and_grams(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	assert_string_equal(terms_index(&a, S("the TV at No 5 prefers 2019")).p,
			    "the tv at no 5 pref 2019");
	assert_string_equal(terms_index(&a, S("?")).p, "");
	assert_string_equal(terms_index(&a, S("MacBooks\xe3\x82\x92")).p,
			    "macbook \xe3\x82\x92");
}

static void the_same_statement_is_told_from_another(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	assert_true(
		terms_same(&a, S("Coaching tone,  no FLUFF."), S("coaching tone no fluff")));
	assert_false(terms_same(&a, S("likes tea"), S("likes no tea")));
	assert_false(terms_same(&a, S("tea likes"), S("likes tea")));
	assert_true(terms_same(&a, S(":-)"), S(" :-) ")));
	assert_false(terms_same(&a, S(":-)"), S(":-(")));
}

static void there_are_never_more_than_asked_for(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_fmt(&b, "word%d ", i);
	assert_int_equal(terms_wanted(&a, buf_str(&b), 32).n, 32);
	buf_reset(&b);
	for (int i = 0; i < 10000; i++)
		buf_addc(&b, 'x');
	struct terms one = terms_wanted(&a, buf_str(&b), 32);
	assert_int_equal(one.n, 1);
	assert_true(one.v[0].text.n <= 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_folded_and_parted),
		cmocka_unit_test(a_term_fits_its_other_forms_less_than_itself),
		cmocka_unit_test(the_second_index_has_stems_and_grams),
		cmocka_unit_test(the_same_statement_is_told_from_another),
		cmocka_unit_test(there_are_never_more_than_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
