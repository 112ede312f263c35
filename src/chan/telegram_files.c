/*
 * The threads that fetch files.  A row that needs one waits in the inbox, and with it what came
 * after it in its chat; whoever fetches takes his share of them by their ids, so that none is
 * fetched twice at a time and one that hangs holds up few.  Whatever comes of it is said in the
 * row, and then the row is like any other.
 */
#include "chan/telegram_internal.h"

#include "os/clock.h"
#include "os/log.h"

#define RETRY_MS 1000
#define LOOK_MS 30000 /* a lost ring costs this much at most */

static int end_once(struct telegram *t, int64_t id, str text, const struct attachment *file,
		    struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, t->store, &t->stop, e)) < 0 ||
	    (rc = store_fetch_end(&tx, id, text, file, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* Into the database, however long that takes. */
static int end(struct telegram *t, int64_t id, str text, const struct attachment *file,
	       struct arena *a)
{
	struct err e = { 0 };
	int rc, last = OK;

	while ((rc = end_once(t, id, text, file, &e)) < 0 && rc != E_NOENT) {
		if (rc == E_CANCELED || cancel_check(&t->stop, NULL) < 0)
			return E_CANCELED;
		if (rc != last)
			log_error("telegram.not_kept", "err=%.*s; tried again until it works",
				  STRF(log_q(a, str_of(e.msg))));
		if (rc == E_CORRUPT || store_failed(t->store, NULL) < 0)
			return rc;
		last = rc;
		if (wait_ms(RETRY_MS, &t->stop, NULL) < 0)
			return E_CANCELED;
	}
	/* E_NOENT: dropped meanwhile; the file is swept away. */
	if (rc == OK)
		t->up.on_inbox(t->up.arg);
	return OK;
}

/* Fetch for one row of ours.  E_NOENT none waits, E_CANCELED, and what the database does not
 * survive. */
static int next(const struct telegram_fetcher *f)
{
	struct telegram *t = f->t;
	SCOPED(arena_free) struct arena a = { 0 };
	struct inbox_fetch row;
	struct telegram_want want = { 0 };
	struct attachment file = { 0 };
	struct err e = { 0 };
	bool have = false;
	str words = { 0 };
	int rc = store_fetch_next(t->store, CHANNEL, f->n, FETCHERS, &a, &row, &e);

	if (rc < 0)
		return rc;
	rc = telegram_media_read(&a, row.fetch, &want, &e);
	if (rc == OK)
		rc = telegram_media_fetch(t, &want, &a, &file, &have, &words);
	if (rc == E_CANCELED)
		return rc;
	if (rc < 0)
		words = S("[its file could not be loaded]");
	words = want.quoted.n && words.n
			? arena_fmt(&a, "%.*s\n%.*s", STRF(want.quoted), STRF(words))
		: words.n ? words
			  : want.quoted;
	return end(t, row.id, telegram_batch_text(t, &a, words, want.typed),
		   have ? &file : NULL, &a);
}

static void *fetcher_main(void *arg)
{
	struct telegram_fetcher *f = arg;
	struct telegram *t = f->t;

	for (;;) {
		bell_hear(&f->bell);
		int rc = next(f);
		if (cancel_reason(&t->stop) != CANCEL_NONE)
			return NULL;
		if (store_failed(t->store, NULL) < 0) {
			t->up.on_fatal(t->up.arg, rc);
			return NULL;
		}
		if (rc == OK)
			continue;
		int64_t until = clock_mono_ms() + (rc == E_NOENT ? LOOK_MS : RETRY_MS);
		rc = wait_fd(f->bell.fd, POLLIN, until, &t->stop, NULL);
		if (rc < 0 && rc != E_TIMEOUT)
			return NULL;
	}
}

int telegram_files_open(struct telegram *t, struct err *e)
{
	int rc = OK;

	for (int64_t i = 0; i < FETCHERS; i++)
		t->fetchers[i] =
			(struct telegram_fetcher){ .t = t, .n = i, .bell = { .fd = -1 } };
	for (size_t i = 0; i < FETCHERS && rc == OK; i++)
		rc = bell_init(&t->fetchers[i].bell, e);
	return rc;
}

int telegram_files_start(struct telegram *t, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; i < FETCHERS && rc == OK; i++)
		rc = thread_start(&t->fetchers[i].thread, "telegram-file", fetcher_main,
				  &t->fetchers[i], e);
	return rc;
}

void telegram_files_stop(struct telegram *t)
{
	for (size_t i = 0; i < FETCHERS; i++)
		thread_join(&t->fetchers[i].thread);
}

void telegram_files_close(struct telegram *t)
{
	for (size_t i = 0; i < FETCHERS; i++)
		bell_done(&t->fetchers[i].bell);
}

void telegram_files_wake(struct telegram *t)
{
	for (size_t i = 0; i < FETCHERS; i++)
		bell_ring(&t->fetchers[i].bell);
}
