/*
 * Turns with photos: shown while their turn lasts, and a model that takes none is told.
 */
#include "agent_world.h"

#include "os/file.h"

#include <string.h>

static void hear_photo(struct agent_world *k, const char *text, const char *file)
{
	struct attachment f = { S("photo"), str_of(file), S("image/png"), 3 };
	struct inbox_new row = { .channel = S("test"),
				 .address = S("1"),
				 .kind = S("message"),
				 .sender = S("ada"),
				 .text = str_of(text),
				 .files = &f,
				 .files_n = 1 };
	struct tx tx = world_begin(k->w);
	int64_t id;

	ok(k->w, store_inbox_add(&tx, &row, &id, &k->w->e));
	world_commit(k->w, &tx);
	aw_claim(k);
}

static void put(struct agent_world *k, const char *name)
{
	const char *path = arena_fmt(&k->w->a, "%.*s/%s", STRF(store_blobs(k->w->s)), name).p;

	ok(k->w, file_write_atomic(path, S("foo"), 0600, &k->w->e));
}

static void a_photo_is_shown_in_its_own_turn_only(void **state)
{
	struct agent_world *k = *state;

	put(k, "a.png");
	aw_says(k, "c:echo {}");
	aw_says(k, "t:A cat");
	aw_says(k, "t:Yes");
	hear_photo(k, "", "a.png");
	ok(k->w, aw_run(k));
	aw_hear(k, "sure?");
	ok(k->w, aw_run(k));
	for (int i = 0; i < 2; i++) {
		aw_has(aw_request(k, i), "\"type\":\"text\",\"text\":\"[photo]\\n\\n[context]");
		aw_has(aw_request(k, i), "{\"type\":\"image_url\",\"image_url\":{\"url\":"
					 "\"data:image/png;base64,Zm9v\"}}");
	}
	aw_lacks(aw_request(k, 2), "image_url");
	aw_has(aw_request(k, 2), "[photo]");
}

static void a_model_that_takes_no_pictures_is_told_and_asked_once_more(void **state)
{
	struct agent_world *k = *state;

	put(k, "a.png");
	aw_says(k, "4:this model does not support images");
	aw_says(k, "c:echo {}");
	aw_says(k, "t:I cannot see it");
	hear_photo(k, "what is it", "a.png");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "done");
	assert_string_equal(aw_told(k).p, "I cannot see it");
	assert_int_equal(1, world_i64(k->w, "SELECT no_images FROM turns"));
	aw_has(aw_request(k, 0), "image_url");
	for (int i = 1; i < 3; i++) {
		aw_lacks(aw_request(k, i), "image_url");
		aw_has(aw_request(k, i), "[photo] what is it\\n\\n[note: this model cannot");
	}
}

static void a_refusal_without_pictures_ends_the_turn(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "4:this model does not support images");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "failed");
}

static void a_photo_that_cannot_be_read_is_said(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "t:Nothing there");
	hear_photo(k, "see", "../gantry.db");
	ok(k->w, aw_run(k));
	assert_string_equal(aw_state(k).p, "done");
	aw_has(aw_request(k, 0), "a picture could not be read");
}

#define T(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_photo_is_shown_in_its_own_turn_only),
		T(a_model_that_takes_no_pictures_is_told_and_asked_once_more),
		T(a_refusal_without_pictures_ends_the_turn),
		T(a_photo_that_cannot_be_read_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
