/*
 * Files that came with messages: the rows that name them, and the directory they lie in.
 */
#include "store/rows.h"

#include "os/file.h"

#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 100000
#define HOUR_MS 3600000

str store_blobs(const struct store *s)
{
	return str_of(s->blobs_dir);
}

int store_turn_files(struct store *s, str turn_id, struct arena *a, struct turn_file **out,
		     size_t *n, struct err *e)
{
	SCOPED(reader_end) struct reader reader = { 0 };
	SCOPED(rows_end) struct rows r = { 0 };
	struct turn_file *list = NULL;
	size_t used = 0;
	int rc = reader_begin(&reader, s, e);

	if (rc == OK)
		rc = db_query(&r, reader.db,
			      "SELECT i.message_seq, f.kind, f.file, f.mime, f.bytes "
			      "FROM inbox i JOIN attachments f ON f.inbox_id = i.id "
			      "WHERE i.turn_id = ?1 ORDER BY i.message_seq, i.id, f.id",
			      DB_ARGS(db_text(turn_id)), e);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		list = LIST_ROOM(a, list, used);
		list[used++] = (struct turn_file){
			.seq = rows_i64(&r, 0),
			.file = { .kind = rows_text(&r, 1, a),
				  .file = rows_text(&r, 2, a),
				  .mime = rows_text(&r, 3, a),
				  .bytes = rows_i64(&r, 4) },
		};
		rc = OK;
	}
	if (rc < 0)
		return rc;
	*out = list;
	*n = used;
	return OK;
}

int store_turn_no_images(struct tx *tx, str turn_id, struct err *e)
{
	struct turn_row t;
	int rc = turn_row_live(&t, tx, turn_id, e);

	return rc < 0 ? rc
		      : db_run(tx_db(tx), "UPDATE turns SET no_images = 1 WHERE id = ?1",
			       DB_ARGS(db_text(turn_id)), NULL, e);
}

static int still_named(struct store *s, str file, bool *named, struct err *e)
{
	int64_t n = 0;
	int rc = glance_number(s,
			       "SELECT EXISTS (SELECT 1 FROM attachments f JOIN inbox i "
			       "ON i.id = f.inbox_id WHERE f.file = ?1 "
			       "AND i.state IN ('ready', 'claimed'))",
			       DB_ARGS(db_text(file)), &n, e);

	*named = n > 0;
	return rc;
}

/* Young ones may belong to a row that is just being written. */
int store_blobs_sweep(struct store *s, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t old_s = (clock_now_ms() - HOUR_MS) / 1000;
	str *names;
	size_t n;
	int rc = dir_list(&names, &n, &a, s->blobs_dir, FILES_MAX, e);

	if (rc < 0)
		return rc == E_NOENT ? OK : rc;
	for (size_t i = 0; i < n; i++) {
		str path = arena_fmt(&a, "%s/%.*s", s->blobs_dir, STRF(names[i]));
		struct stat st;
		bool named = true;
		if (stat(path.p, &st) < 0 || !S_ISREG(st.st_mode) || st.st_mtime > old_s)
			continue;
		if ((rc = still_named(s, names[i], &named, e)) < 0)
			return rc;
		if (!named)
			(void)unlink(path.p);
	}
	return OK;
}
