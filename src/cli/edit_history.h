/*
 * cli/edit_history: what was entered before, kept in a file of mode 0600.
 *
 * The file has an entry a line, newlines and backslashes escaped.  A file that cannot be read
 * or written is no error: the history then lives as long as the process.
 *
 * Limits  1000 entries; longer ones than 64 KiB are not kept.
 */
#ifndef CLI_EDIT_HISTORY_H
#define CLI_EDIT_HISTORY_H

#include "base/arena.h"

#define HISTORY_MAX 1000

struct edit_history {
	struct arena a; /* owned */
	const char *path; /* NULL: no file */
	str v[HISTORY_MAX];
	size_t n; /* oldest first */
};

/* path is borrowed; NULL: no file. */
void edit_history_open(struct edit_history *h, const char *path);
void edit_history_close(struct edit_history *h);

/* The newest entry; one like the last is not added again. */
void edit_history_add(struct edit_history *h, str text);

#endif
