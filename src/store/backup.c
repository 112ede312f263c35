/*
 * Copies of a database, made by SQLite itself (VACUUM INTO): whole, compact, and of one moment,
 * whoever writes meanwhile.  No file of a database is ever read any other way.
 */
#include "store/internal.h"

#include "os/file.h"

#include <stdio.h>
#include <unistd.h>

int backup_part(struct db *db, const char *part, const struct cancel *c, struct err *e)
{
	/* What an interrupted copy left. */
	(void)unlink(part);
	/* SQLite fills the empty file, which is private from birth. */
	int rc = file_create(part, S(""), 0600, e);

	if (rc < 0)
		return rc;
	db_heed(db, c);
	rc = db_run(db, "VACUUM INTO ?1", DB_ARGS(db_text(str_of(part))), NULL, e);
	db_heed(db, NULL);
	/* A small one is over before the handler is asked. */
	rc = rc < 0 ? rc : cancel_check(c, e);
	if (rc < 0)
		(void)unlink(part);
	return rc < 0 ? err_wrap(e, rc, "copy to %s", part) : OK;
}
