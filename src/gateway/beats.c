/*
 * The times of the threads, and their rows.
 */
#include "gateway/beats.h"

#include "base/version.h"
#include "gateway/health.h"
#include "os/clock.h"

void beats_move(_Atomic int64_t *slot)
{
	atomic_store_explicit(slot, clock_mono_ms(), memory_order_relaxed);
}

void beats_busy(_Atomic int64_t *slot)
{
	atomic_store_explicit(slot, 0, memory_order_relaxed);
}

static int64_t slowest(_Atomic int64_t *v, size_t n)
{
	int64_t least = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t at = atomic_load_explicit(&v[i], memory_order_relaxed);
		if (at && (!least || at < least))
			least = at;
	}
	return least;
}

/* When nothing has to move, it moves: an older row would tell of another time. */
static int write_part(struct tx *tx, const char *part, int64_t mono_ms, struct err *e)
{
	int64_t ago = mono_ms ? clock_mono_ms() - mono_ms : 0;

	return store_heartbeat_at(tx, str_of(part), str_of(version_text()),
				  clock_now_ms() - ago, e);
}

static int write_all(struct beats *b, struct tx *tx, struct err *e)
{
	str version = str_of(version_text());
	int64_t poll = atomic_load_explicit(&b->poll, memory_order_relaxed);
	int rc;

	if ((rc = store_heartbeat(tx, S(PART_CLOCK), version, e)) < 0 ||
	    (atomic_exchange(&b->heard, false) &&
	     (rc = store_heartbeat(tx, S(PART_HEARD), version, e)) < 0) ||
	    (rc = write_part(tx, PART_POLL, poll, e)) < 0 ||
	    (rc = write_part(tx, PART_DELIVER, slowest(b->deliver, BEATS_DELIVER), e)) < 0 ||
	    (rc = write_part(tx, PART_WORKER, slowest(b->worker, TURNS_MAX), e)) < 0)
		return rc;
	return store_commit(tx, e);
}

int beats_write(struct beats *b, struct store *s, const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc = store_begin(&tx, s, c, e);

	return rc < 0 ? rc : write_all(b, &tx, e);
}

int beats_first(struct beats *b, struct store *s, bool *wrote, const struct cancel *c,
		struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	bool known = false;
	int rc = store_begin(&tx, s, c, e);

	if (rc == OK)
		rc = store_heartbeat_known(&tx, S(PART_CLOCK), &known, e);
	if (rc == OK && !known)
		rc = write_all(b, &tx, e);
	if (rc == OK)
		*wrote = !known;
	return rc;
}

/* Whoever calls it is the clock, or asks whether that turns; it does. */
size_t beats_read(struct beats *b, struct heartbeat rows[BEATS_PARTS])
{
	int64_t now = clock_now_ms(), mono = clock_mono_ms();
	const struct {
		const char *part;
		int64_t at;
	} parts[BEATS_PARTS] = {
		{ PART_CLOCK, mono },
		{ PART_POLL, atomic_load_explicit(&b->poll, memory_order_relaxed) },
		{ PART_DELIVER, slowest(b->deliver, BEATS_DELIVER) },
		{ PART_WORKER, slowest(b->worker, TURNS_MAX) },
	};

	for (size_t i = 0; i < BEATS_PARTS; i++)
		rows[i] = (struct heartbeat){
			.part = str_of(parts[i].part),
			.at_ms = parts[i].at ? now - (mono - parts[i].at) : now,
		};
	return BEATS_PARTS;
}
