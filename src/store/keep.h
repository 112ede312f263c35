/*
 * store/keep: what keeps a database well: a look through all of it, copies, compacting, and its
 * rows as text.
 */
#ifndef STORE_KEEP_H
#define STORE_KEEP_H

#include "store/store.h"

struct store_health {
	int64_t schema;
	int64_t page_bytes, pages, free_pages;
	int64_t file_bytes, log_bytes;
	str *faults; /* what SQLite finds wrong, at most 20 lines */
	size_t faults_n; /* 0: it is sound */
};

/* SQLite's integrity check, and references that lead nowhere.  Takes as long as the file is large,
 * and holds nobody up. */
int store_inspect(struct store *s, struct arena *a, struct store_health *out,
		  const struct cancel *c, struct err *e) MUSTUSE;

/* A whole copy as of this moment, looked through, private and on the disk when this returns.  Safe
 * beside a daemon.  E_BUSY: something is there already.  E_FULL, E_DENIED, E_NOENT: the sentence
 * says of what; nothing is left then. */
int store_backup(struct store *s, const char *to, const struct cancel *c,
		 struct err *e) MUSTUSE;

/* Give back what is free in the file.  Only for the holder of the daemon lock (STORE_DAEMON), with
 * no other thread in the store: nobody can write meanwhile.  Needs as much room again. */
int store_vacuum(struct store *s, const struct cancel *c, struct err *e) MUSTUSE;

/* Every row of every table, as of one moment: {"table": "...", "row": {...}} and a newline.  table
 * "": all.  E_NOENT: there is no such table.  What line returns ends it. */
int store_export(struct store *s, str table, int (*line)(void *arg, str text, struct err *e),
		 void *arg, const struct cancel *c, struct err *e) MUSTUSE;

#endif
