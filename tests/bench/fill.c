/*
 * Fill a database with finished turns, so that the benches can show what does not grow.
 *
 *	fill DATABASE CHANNEL ADDRESS MESSAGES
 */
#include "model/model.h"
#include "store/turn.h"
#include "store/inbox.h"

#include <stdio.h>
#include <stdlib.h>

static int one_turn(struct tx *tx, str channel, str address, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct inbox_new row = { .channel = channel,
				 .address = address,
				 .kind = S("message"),
				 .text = S("a question of a few words") };
	struct turn t;
	str answer = S("An answer that is a little longer than the question it belongs to.");
	struct turn_finish f = { .end = TURN_DONE,
				 .history = HISTORY_FULL,
				 .final_wire = model_assistant_wire(&a, answer),
				 .final_text = answer,
				 .round = 1 };
	int64_t id;
	int rc;

	if ((rc = store_inbox_add(tx, &row, &id, e)) < 0 ||
	    (rc = store_turn_claim(tx, (str){ 0 }, &a, &t, e)) < 0 ||
	    (rc = store_message_user(tx, t.id, model_user_wire(&a, row.text), row.text,
				     (str){ 0 }, e)) < 0)
		return rc;
	return store_turn_finish(tx, &t, &f, e);
}

int main(int argc, char **argv)
{
	struct store *s;
	struct err e = { 0 };

	if (argc != 5)
		return 2;
	str path = str_of(argv[1]);
	SCOPED(arena_free) struct arena a = { 0 };
	size_t slash = path.n;
	while (slash > 0 && path.p[slash - 1] != '/')
		slash--;
	struct store_cfg cfg = { .dsn = path,
				 .data_dir = arena_dup(&a, str_sub(path, 0, slash)) };
	int rc = store_open(&s, &cfg, STORE_DAEMON, NULL, &e);
	for (int64_t left = atoll(argv[4]) / 2; rc == OK && left > 0;) {
		SCOPED(store_rollback) struct tx tx = { 0 };
		rc = store_begin(&tx, s, NULL, &e);
		for (int i = 0; i < 1000 && left > 0 && rc == OK; i++, left--)
			rc = one_turn(&tx, str_of(argv[2]), str_of(argv[3]), &e);
		if (rc == OK)
			rc = store_commit(&tx, &e);
	}
	if (rc < 0)
		(void)fprintf(stderr, "fill: %s\n", e.msg);
	else
		store_close(s);
	return rc < 0;
}
