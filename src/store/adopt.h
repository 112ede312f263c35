/*
 * store/adopt: databases of ai-gantry and MTClaw, taken over: memories, schedules and their runs,
 * watches, conversations, questions and the audit become rows of ours.  A row that cannot be one
 * is skipped, with a line that says why.
 *
 * The database at the configured path is adopted when it is opened for writing: nobody else has it
 * open then (E_BUSY), a copy is left beside it, and one transaction makes ours of it.  After a crash
 * it is the old one or the adopted one.
 */
#ifndef STORE_ADOPT_H
#define STORE_ADOPT_H

#include "store/store.h"

enum adopt_what {
	ADOPT_SESSIONS,
	ADOPT_MESSAGES,
	ADOPT_MEMORIES,
	ADOPT_JOBS,
	ADOPT_RUNS,
	ADOPT_WATCHES,
	ADOPT_APPROVALS,
	ADOPT_AUDIT,
	ADOPT_WHATS,
};

#define ADOPT_NOTES_MAX 50

struct adopt_report {
	const char *program; /* "ai-gantry" or "MTClaw" */
	str schema; /* in its words: "0.1.x", "2" */
	str copy; /* the path of the copy, "" none was made */
	struct {
		int64_t taken, known, skipped;
	} n[ADOPT_WHATS];
	int64_t mended; /* gaps of conversations that were closed */
	str notes[ADOPT_NOTES_MAX]; /* why something was skipped */
	size_t notes_n;
	int64_t notes_more; /* those there was no room for */
};

/* "sessions", ... */
const char *adopt_what_name(enum adopt_what what);

/* What would become of the file, beside an empty database; it is only read, also where nothing can
 * be written.  E_NOENT there is none; E_INVAL it is of neither program, or ours. */
int store_adopt_preview(const char *path, struct arena *a, struct adopt_report *out,
			const struct cancel *c, struct err *e) MUSTUSE;

/* What the file holds is added to ours, but what is there already; dry: and rolled back. */
int store_adopt_merge(struct store *s, const char *path, bool dry, struct arena *a,
		      struct adopt_report *out, const struct cancel *c, struct err *e) MUSTUSE;

/* What opening this store adopted; NULL: nothing. */
const struct adopt_report *store_adopted(const struct store *s);

#endif
