/*
 * Approvals and questions, as one.
 */
#include "store/asked.h"

int asked_expire(struct tx *tx, const struct asked *k, int64_t now_ms, int64_t *n,
		 struct err *e)
{
	int rc = db_run(tx_db(tx), k->ready, DB_ARGS(db_i64(now_ms)), NULL, e);

	return rc < 0 ? rc : db_run(tx_db(tx), k->expire, DB_ARGS(db_i64(now_ms)), n, e);
}

int asked_posted(struct tx *tx, const struct asked *k, str id, int64_t outbox_id,
		 int64_t now_ms, bool *over, struct err *e)
{
	int64_t n = 0;
	int rc = db_run(tx_db(tx), k->dead,
			DB_ARGS(db_text(id), db_i64(outbox_id), db_i64(now_ms)), &n, e);

	*over = n > 0;
	return rc;
}

int asked_again(struct tx *tx, const struct asked *k, str channel, str id, bool *post,
		struct err *e)
{
	int64_t waiting = 0;
	/* One that never went out goes out now anyway. */
	int rc = db_number(tx_db(tx), k->waiting, DB_ARGS(db_text(channel), db_text(id)),
			   &waiting, e);

	*post = !waiting;
	return rc < 0 ? rc
		      : db_run(tx_db(tx), k->mark,
			       DB_ARGS(db_text(id), db_text(store_owner(tx->s)),
				       db_i64(waiting ? 0 : 1)),
			       NULL, e);
}
