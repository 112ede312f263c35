/*
 * Foreign rows.  SQLite lets any column hold anything, and other programs, shells and disks have
 * written here: each cell is looked at before it is believed, and a row with one that cannot be
 * right is left out with a note that names it.
 */
#include "store/adopt_rows.h"

#include "base/date.h"
#include "base/utf.h"

#include <stdio.h>
#include <string.h>

#define TIME_MAX_MS INT64_C(253402300799999) /* the end of the year 9999 */
#define NOTE_MAX 300

int foreign_has(bool *out, struct db *db, const char *table, const char *cols, struct err *e)
{
	int64_t is_table = 0, missing = 0;
	int rc = db_number(
		db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1",
		DB_ARGS(db_text(str_of(table))), &is_table, e);
	str rest = str_of(cols);

	while (rc == OK && is_table && rest.n && !missing) {
		int64_t n = 0;
		rc = db_number(db, "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2",
			       DB_ARGS(db_text(str_of(table)), db_text(str_cut(&rest, ' '))),
			       &n, e);
		missing = n == 0;
	}
	*out = rc == OK && is_table && !missing;
	return rc;
}

static void note(struct adopt *ad, str line)
{
	struct adopt_report *r = ad->report;

	if (r->notes_n < ADOPT_NOTES_MAX)
		r->notes[r->notes_n++] = arena_dup(ad->a, utf_head(line, NOTE_MAX));
	else
		r->notes_more++;
}

void adopt_note(struct adopt *ad, enum adopt_what what, int64_t n, const char *fmt, ...)
{
	char text[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	ad->report->n[what].skipped += n;
	note(ad, str_of(text));
}

void foreign_skip(struct foreign_rows *f, const char *fmt, ...)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char text[NOTE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	f->ad->report->n[f->t->what].skipped++;
	note(f->ad, arena_fmt(&a, "%s %.*s: %s", f->t->noun,
			      STRF(f->v[0].s.n ? utf_head(f->v[0].s, 60) : S("without a name")),
			      text));
}

int adopt_known(struct adopt *ad, const char *count, str which, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(ad->from, count, DB_ARGS(db_text(which)), &n, e);

	ad->report->n[ADOPT_MESSAGES].known += n;
	return rc;
}

int adopt_lost(struct adopt *ad, const char *count, struct err *e)
{
	int64_t n = 0;
	int rc = db_number(ad->from, count, DB_NO_ARGS, &n, e);

	n -= ad->report->n[ADOPT_MESSAGES].taken + ad->report->n[ADOPT_MESSAGES].known +
	     ad->report->n[ADOPT_MESSAGES].skipped;
	if (rc == OK && n > 0)
		adopt_note(ad, ADOPT_MESSAGES, n, "%lld messages: their session was not taken",
			   (long long)n);
	return rc;
}

int foreign_prepare(struct foreign_query *q, struct adopt *ad, const struct foreign_table *t,
		    const char *tail, struct err *e)
{
	struct buf b = buf_in(ad->a, 8192);
	bool there;
	int rc = foreign_has(&there, ad->from, t->name, "", e);

	*q = (struct foreign_query){ .t = t };
	if (rc < 0 || !there)
		return rc;
	for (size_t i = 0; i < t->cols_n; i++) {
		bool has = true;
		rc = foreign_has(&has, ad->from, t->name, t->cols[i].name, e);
		if (rc < 0)
			return rc;
		if (!has && !t->cols[i].absent) {
			adopt_note(ad, t->what, 0,
				   "table %s: it has no column %s and is left out", t->name,
				   t->cols[i].name);
			return OK;
		}
		buf_fmt(&b, "%s%s", i ? ", " : "SELECT ",
			has ? t->cols[i].name : t->cols[i].absent);
	}
	buf_fmt(&b, " FROM %s %s", t->name, tail);
	q->sql = arena_dup(ad->a, buf_str(&b)).p;
	return OK;
}

int foreign_open(struct foreign_rows *f, struct adopt *ad, const struct foreign_query *q,
		 const struct db_arg *args, size_t n, struct err *e)
{
	*f = (struct foreign_rows){ .ad = ad, .t = q->t };
	return q->sql ? db_query(&f->r, ad->from, q->sql, args, n, e) : OK;
}

void foreign_end(struct foreign_rows *f)
{
	rows_end(&f->r);
}

/* What is wrong with a text, NULL nothing. */
static const char *text_fault(str s, size_t max)
{
	if (s.n > max)
		return "is too long";
	if (!utf_valid(s))
		return "is not UTF-8";
	return memchr(s.p, 0, s.n) ? "holds a zero byte" : NULL;
}

static bool is_time(int64_t at_ms)
{
	return at_ms > 0 && at_ms <= TIME_MAX_MS;
}

/* A cell by its kind: what is wrong, NULL nothing. */
static const char *read_cell(struct foreign_cell *out, const struct rows *r, int i,
			     const struct foreign_col *col, struct arena *a)
{
	int type = sqlite3_column_type(r->st, i);
	enum foreign_kind k = col->kind;
	bool zoned, number = k == FOREIGN_INT || k == FOREIGN_MAYBE_INT || k == FOREIGN_MS ||
			     k == FOREIGN_MAYBE_MS;

	*out = (struct foreign_cell){ .null = type == SQLITE_NULL, .s = S("") };
	if (out->null)
		return k == FOREIGN_MAYBE_TEXT || k == FOREIGN_MAYBE_INT ||
				       k == FOREIGN_MAYBE_TIME || k == FOREIGN_MAYBE_MS
			       ? NULL
			       : "is NULL";
	if (number && type != SQLITE_INTEGER)
		return "is no whole number";
	if (k == FOREIGN_REAL && type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return "is no number";
	if (type == SQLITE_BLOB || (!number && k != FOREIGN_REAL && type == SQLITE_FLOAT))
		return "is no text";
	out->i = rows_i64(r, i);
	out->d = sqlite3_column_double(r->st, i);
	/* The length first: what is too long is not copied. */
	str s = rows_peek(r, i);
	if (number || k == FOREIGN_REAL) {
		out->s = arena_dup(a, s);
		return (k == FOREIGN_MS || k == FOREIGN_MAYBE_MS) && !is_time(out->i)
			       ? "is no time"
			       : NULL;
	}
	const char *fault = text_fault(s, col->max ? col->max : 1000);
	if (fault)
		return fault;
	out->s = arena_dup(a, s);
	if (k != FOREIGN_TIME && k != FOREIGN_MAYBE_TIME)
		return NULL;
	out->null = k == FOREIGN_MAYBE_TIME && s.n == 0;
	return out->null || (date_parse_rfc3339(s, &out->i, &zoned) && is_time(out->i))
		       ? NULL
		       : "is no time";
}

int foreign_next(struct foreign_rows *f, struct arena *a, struct err *e)
{
	int rc;

	if (!f->r.st)
		return 0;
	while ((rc = rows_next(&f->r, e)) > 0) {
		const char *fault = NULL;
		size_t i = 0;
		if ((rc = cancel_check(f->ad->c, e)) < 0)
			return rc;
		f->v[0].s = S("");
		for (; i < f->t->cols_n && !fault; i++)
			fault = read_cell(&f->v[i], &f->r, (int)i, &f->t->cols[i], a);
		if (!fault)
			return 1;
		foreign_skip(f, "%s %s", f->t->cols[i - 1].name, fault);
	}
	return rc;
}

int foreign_each(struct adopt *ad, const struct foreign_query *q, const struct db_arg *args,
		 size_t n, foreign_take *take, void *to, struct err *e)
{
	SCOPED(foreign_end) struct foreign_rows f = { 0 };
	int rc = foreign_open(&f, ad, q, args, n, e);

	while (rc == OK) {
		SCOPED(arena_free) struct arena a = { 0 };
		rc = foreign_next(&f, &a, e);
		if (rc <= 0)
			break;
		rc = take(&f, to, &a, e);
	}
	return rc;
}

int foreign_table_each(struct adopt *ad, const struct foreign_table *t, const char *tail,
		       foreign_take *take, void *to, struct err *e)
{
	struct foreign_query q;
	int rc = foreign_prepare(&q, ad, t, tail, e);

	return rc < 0 ? rc : foreign_each(ad, &q, DB_NO_ARGS, take, to, e);
}
