/*
 * store/schema: the tables, as a list of migrations.  Internal to store/.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "base/attr.h"

/* "Gntr": marks our files, so that no other program's database is ever taken for ours. */
#define SCHEMA_APPLICATION_ID 0x476e7472

struct migration {
	int64_t version;
	const char *name;
	const char *sql;
};

/* schema_jobs.c */
extern const char schema_jobs[], schema_watches[], schema_resources[];
extern const char schema_memory[]; /* the migration of the tables of memory */
extern const char schema_tombstones[]; /* ... and of what is left of a forgotten row */

/* In order of their versions. */
const struct migration *schema_migrations(size_t *n);

/* The newest version. */
int64_t schema_version(void);

#endif
