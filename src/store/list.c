/*
 * Rows as lists.
 */
#include "store/list.h"

#include <string.h>

int list_in(struct db *db, const struct list_of *q, struct arena *a, void *out, size_t *n,
	    struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	char *list = NULL;
	size_t used = 0;
	int rc = db_query(&r, db, q->sql, q->args, q->args_n, e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		list = list_room(a, list, used, q->size);
		q->read(list + used++ * q->size, &r, a);
		rc = OK;
	}
	if (rc < 0)
		return rc;
	memcpy(out, &list, sizeof list);
	*n = used;
	return OK;
}

int list_read(struct store *s, const struct list_of *q, struct arena *a, void *out, size_t *n,
	      struct err *e)
{
	SCOPED(reader_end) struct reader r = { 0 };
	int rc = reader_begin(&r, s, e);

	return rc < 0 ? rc : list_in(r.db, q, a, out, n, e);
}

static void read_text(void *one, const struct rows *r, struct arena *a)
{
	*(str *)one = rows_text(r, 0, a);
}

int list_texts(struct store *s, const char *sql, const struct db_arg *args, size_t args_n,
	       struct arena *a, str **out, size_t *n, struct err *e)
{
	const struct list_of q = { sizeof **out, read_text, sql, args, args_n };

	return list_read(s, &q, a, out, n, e);
}
