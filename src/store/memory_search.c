/*
 * Finding what a text is about.  Each of its words is looked up in the indexes by itself, newest
 * rows first and only so many: a word that is everywhere says little, and costs no more than
 * that; the most telling of such words are looked for in pairs, too.  The rows that gather most weight are read and scored by what they really say, so an
 * index that a foreign shell left behind can cost a place, never a false answer.
 *
 * The score is BM25 over both fields (a statement's words hardly repeat), times a little for
 * age and kind.
 */
#include "store/memory_rows.h"

#include "base/utf.h"
#include "text/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_MAX 1000 /* characters */
#define TERMS_MAX 48
#define POSTINGS_MAX 2000 /* rows looked at for all words, in equal shares */
#define SHARE_MIN 60
#define SHARE_MAX 1000
#define FEW 10
#define PAIRED 3 /* frequent words that are looked for together */
#define PAIR_ROWS 100
#define PENDING_MAX 200
#define PART_MIN 5 /* bytes of a word that others are made with */
#define READ_MIN 60 /* rows that are read and scored */
#define READ_MAX 400
#define MATCH_MAX 200
#define AGE_HALF_S (30.0 * 86400)

struct candidate {
	int64_t id;
	uint64_t terms; /* by which words it was found */
	double weight;
};

struct search {
	struct db *db;
	struct arena *a;
	struct terms terms;
	double idf[TERMS_MAX];
	bool cut[TERMS_MAX]; /* not all of its rows were read */
	int64_t share; /* how many are, at most */
	double rows; /* of the table, about */
	struct candidate *slots; /* a hash table; id 0 is free */
	size_t cap, n;
};

static struct candidate *slot_of(struct search *s, int64_t id)
{
	size_t i = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u >> 20) & (s->cap - 1);

	while (s->slots[i].id && s->slots[i].id != id)
		i = (i + 1) & (s->cap - 1);
	return &s->slots[i];
}

static void add(struct search *s, int64_t id, uint64_t term)
{
	if (id <= 0)
		return;
	if (2 * s->n >= s->cap) {
		struct candidate *old = s->slots;
		size_t cap = s->cap;
		s->cap = cap ? 2 * cap : 4096;
		s->slots = NEWN(s->a, struct candidate, s->cap);
		for (size_t i = 0; i < cap; i++)
			if (old[i].id)
				*slot_of(s, old[i].id) = old[i];
	}
	struct candidate *c = slot_of(s, id);
	s->n += c->id == 0;
	c->id = id;
	c->terms |= term;
}

/* One string of FTS5's own language; what is in it cannot end it. */
static str quoted(struct arena *a, str word, bool prefix)
{
	return arena_fmt(a, "\"%.*s\"%s", STRF(word), prefix ? " *" : "");
}

/* What a look-up found: so many rows, the lowest id of them. */
struct found {
	int64_t n, lowest;
};

static const char in_words[] = "SELECT rowid FROM memory_fts WHERE memory_fts MATCH ?1 "
			       "ORDER BY rowid DESC LIMIT ?2";
static const char in_grams[] = "SELECT rowid FROM memory_grams WHERE memory_grams MATCH ?1 "
			       "ORDER BY rowid DESC LIMIT ?2";

static int look_up(struct search *s, const char *sql, str match, uint64_t terms, int64_t limit,
		   struct found *found, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, s->db, sql, DB_ARGS(db_text(match), db_i64(limit)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		found->lowest = rows_i64(&r, 0);
		add(s, found->lowest, terms);
		found->n++;
		rc = OK;
	}
	return rc;
}

/* A word that nobody wrote may be made of some that somebody did: the longest at its start, and
 * at its end. */
static int look_up_parts(struct search *s, str word, uint64_t term, struct found *found,
			 struct err *e)
{
	struct found head = { 0 }, tail = { 0 };
	int rc = OK;

	for (size_t n = word.n - 1; rc == OK && n >= PART_MIN && n < word.n; n--) {
		/* Not in the middle of a character. */
		if ((word.p[n] & 0xc0) != 0x80 && !head.n)
			rc = look_up(s, in_words, quoted(s->a, str_sub(word, 0, n), false),
				     term, s->share, &head, e);
		if (rc == OK && (word.p[word.n - n] & 0xc0) != 0x80 && !tail.n)
			rc = look_up(s, in_words,
				     quoted(s->a, str_sub(word, word.n - n, word.n), false),
				     term, s->share, &tail, e);
	}
	found->n += head.n + tail.n;
	return rc;
}

/* A term as the second index is asked for it. */
static str key_of(struct search *s, const struct term *t)
{
	return quoted(s->a, terms_key(t), t->gram && utf_count(t->text) == 1);
}

/* In how many rows a term is: when not all were read, as many as those that were lie close. */
static double rows_with(const struct search *s, const struct found *f)
{
	if (f->n < s->share)
		return (double)f->n;
	return (double)f->n * s->rows / (s->rows - (double)f->lowest + 1);
}

/* By its stem; what hardly anybody wrote so may be the beginning of longer words, or made of
 * shorter ones. */
static int look_up_term(struct search *s, size_t i, struct err *e)
{
	const struct term *t = &s->terms.v[i];
	uint64_t bit = UINT64_C(1) << i;
	struct found found = { 0 }, more = { 0 };
	int rc = look_up(s, in_grams, key_of(s, t), bit, s->share, &found, e);

	if (rc == OK && found.n < FEW && t->stem)
		rc = look_up(s, in_words, quoted(s->a, terms_key(t), true), bit, s->share,
			     &more, e);
	if (rc == OK && found.n + more.n == 0 && !t->gram)
		rc = look_up_parts(s, t->text, bit, &more, e);
	double with = rows_with(s, more.n > found.n ? &more : &found);
	s->idf[i] = log(1 + (s->rows + 0.5) / (with + 0.5)) * (t->weak ? 0.3 : 1);
	s->cut[i] = found.n >= s->share;
	return rc;
}

/* The rarest of the terms of which not all rows were read. */
static size_t next_cut(const struct search *s, const bool *taken)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < s->terms.n; i++)
		if (s->cut[i] && !taken[i] && (best == SIZE_MAX || s->idf[i] > s->idf[best]))
			best = i;
	return best;
}

/* Terms that are each in many rows are together in few: those rows are not to be missed because
 * they are old. */
static int look_up_pairs(struct search *s, struct err *e)
{
	bool taken[TERMS_MAX] = { 0 };
	size_t pick[PAIRED], n = 0;
	int rc = OK;

	for (size_t i; n < PAIRED && (i = next_cut(s, taken)) != SIZE_MAX; n++) {
		taken[i] = true;
		pick[n] = i;
	}
	for (size_t x = 0; rc == OK && x < n; x++)
		for (size_t y = x + 1; rc == OK && y < n; y++) {
			struct found found = { 0 };
			str one = key_of(s, &s->terms.v[pick[x]]);
			str two = key_of(s, &s->terms.v[pick[y]]);
			rc = look_up(s, in_grams,
				     arena_fmt(s->a, "%.*s AND %.*s", STRF(one), STRF(two)),
				     UINT64_C(1) << pick[x] | UINT64_C(1) << pick[y], PAIR_ROWS,
				     &found, e);
		}
	return rc;
}

static int look_up_all(struct search *s, struct err *e)
{
	int64_t n = (int64_t)s->terms.n;
	int rc = OK;

	s->share = n ? POSTINGS_MAX / n : 0;
	s->share = s->share < SHARE_MIN   ? SHARE_MIN
		   : s->share > SHARE_MAX ? SHARE_MAX
					  : s->share;
	for (size_t i = 0; rc == OK && i < s->terms.n; i++)
		rc = look_up_term(s, i, e);
	return rc == OK ? look_up_pairs(s, e) : rc;
}

/* Rows that are in no second index yet: few, and all of them are looked at. */
static int look_at_pending(struct search *s, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, s->db, "SELECT id FROM memory_pending ORDER BY id DESC LIMIT ?1",
			  DB_ARGS(db_i64(PENDING_MAX)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		add(s, rows_i64(&r, 0), UINT64_MAX);
		rc = OK;
	}
	return rc;
}

static int by_weight(const void *x, const void *y)
{
	const struct candidate *c = x, *d = y;

	if (c->weight != d->weight)
		return c->weight < d->weight ? 1 : -1;
	return c->id < d->id ? 1 : c->id > d->id ? -1 : 0;
}

/* The heaviest candidates in order, at most max of them. */
static size_t heaviest(struct search *s, struct candidate *out, size_t max)
{
	double floor = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->cap; i++) {
		struct candidate c = s->slots[i];
		for (size_t t = 0; c.id && t < s->terms.n; t++)
			if (c.terms >> t & 1)
				c.weight += s->idf[t];
		if (!c.id || c.weight < floor)
			continue;
		if (n == 2 * max) {
			qsort(out, n, sizeof *out, by_weight);
			n = max;
			floor = out[n - 1].weight;
		}
		out[n++] = c;
	}
	if (n > 1)
		qsort(out, n, sizeof *out, by_weight);
	return n < max ? n : max;
}

struct scored {
	struct memory m;
	double score;
};

static int by_score(const void *x, const void *y)
{
	const struct scored *s = x, *t = y;

	if (s->score != t->score)
		return s->score < t->score ? 1 : -1;
	return s->m.id < t->m.id ? 1 : s->m.id > t->m.id ? -1 : 0;
}

static double best_fit(const struct term *wanted, const struct terms *in)
{
	double best = 0;

	for (size_t i = 0; i < in->n && best < 1; i++) {
		double fit = term_fits(wanted, &in->v[i]);
		best = fit > best ? fit : best;
	}
	return best;
}

static double score(const struct search *s, const struct memory *m, int64_t age_s)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct terms subject = terms_all(&a, m->subject), content = terms_all(&a, m->content);
	double sum = 0, words = (double)(subject.n + content.n);

	for (size_t i = 0; i < s->terms.n; i++) {
		double in_content = best_fit(&s->terms.v[i], &content);
		double in_subject = 1.2 * best_fit(&s->terms.v[i], &subject);
		sum += s->idf[i] * (in_subject > in_content ? in_subject : in_content);
	}
	double fresh = age_s > 0 ? exp2(-(double)age_s / AGE_HALF_S) : 1;
	double kind = memory_kind(m->kind) == MEMORY_EPISODE ? 0.95 : 1;
	/* A long statement has many words by chance. */
	return sum / (0.75 + 0.25 * words / 12) * kind * (1 + 0.1 * fresh);
}

static int read_and_score(struct search *s, const struct candidate *list, size_t n,
			  int64_t limit, struct scored *out, size_t *out_n, struct err *e)
{
	int64_t now = memory_now_s(), updated = 0;
	size_t found = 0;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++) {
		SCOPED(rows_end) struct rows r = { 0 };
		if (i >= READ_MIN && (int64_t)found >= 2 * limit)
			break;
		rc = db_query(&r, s->db, "SELECT " MEMORY_COLUMNS " FROM memory WHERE id = ?2",
			      DB_ARGS(db_i64(now), db_i64(list[i].id)), e);
		if (rc < 0 || (rc = rows_next(&r, e)) <= 0)
			continue;
		rc = OK;
		if (!rows_i64(&r, 10))
			continue;
		memory_read(&out[found].m, &updated, &r, s->a);
		out[found].score = score(s, &out[found].m, now - updated);
		found += out[found].score > 0;
	}
	if (found > 1)
		qsort(out, found, sizeof *out, by_score);
	*out_n = (int64_t)found < limit ? found : (size_t)limit;
	return rc;
}

static str cut(struct arena *a, str query)
{
	size_t chars = 0, len, at = 0;

	query = utf_repair(a, utf_head(query, 8 * QUERY_MAX));
	for (; at < query.n && chars < QUERY_MAX; at += len, chars++)
		(void)utf_next(str_sub(query, at, query.n), &len);
	return str_sub(query, 0, at);
}

int memory_search(struct db *db, str query, int64_t limit, struct arena *a, struct memory **out,
		  size_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena work = { 0 };
	struct search s = { .db = db, .a = &work };
	int64_t rows = 0;
	int rc = db_number(db, "SELECT coalesce(max(id), 0) FROM memory", DB_NO_ARGS, &rows, e);

	*out = NULL;
	*n = 0;
	if (rc < 0 || rows == 0)
		return rc;
	s.terms = terms_wanted(&work, cut(&work, query), TERMS_MAX);
	s.rows = (double)rows;
	if (s.terms.n)
		rc = look_up_all(&s, e);
	if (rc == OK && s.terms.n)
		rc = look_at_pending(&s, e);
	if (rc < 0 || s.n == 0 || limit <= 0)
		return rc;
	struct candidate *list = NEWN(&work, struct candidate, 2 * READ_MAX);
	struct scored *best = NEWN(&work, struct scored, READ_MAX);
	size_t found = 0, many = heaviest(&s, list, READ_MAX);
	rc = read_and_score(&s, list, many, limit, best, &found, e);
	if (rc < 0)
		return rc;
	*out = NEWN(a, struct memory, found + 1);
	for (size_t i = 0; i < found; i++) {
		struct memory *m = &(*out)[i];
		*m = best[i].m;
		m->score = best[i].score;
		m->kind = arena_dup(a, m->kind);
		m->subject = arena_dup(a, m->subject);
		m->content = arena_dup(a, m->content);
		m->source = arena_dup(a, m->source);
		m->created_at = arena_dup(a, m->created_at);
		m->updated_at = arena_dup(a, m->updated_at);
		m->expires_at = arena_dup(a, m->expires_at);
	}
	*n = found;
	return OK;
}

static bool has_all(struct arena *a, const struct memory *m, const struct terms *wanted)
{
	struct terms in =
		terms_all(a, arena_fmt(a, "%.*s %.*s", STRF(m->subject), STRF(m->content)));

	for (size_t i = 0; i < wanted->n; i++)
		if (best_fit(&wanted->v[i], &in) < 0.8)
			return false;
	return wanted->n > 0;
}

int store_memory_match(struct store *s, str query, struct arena *a, struct memory **out,
		       size_t *n, struct err *e)
{
	SCOPED(arena_free) struct arena work = { 0 };
	struct terms wanted = terms_wanted(&work, cut(&work, query), TERMS_MAX);
	struct memory *hits;
	size_t found = 0, used = 0;
	int rc = store_memory_search(s, query, MATCH_MAX, a, &hits, &found, e);

	for (size_t i = 0; rc == OK && i < found; i++)
		if (has_all(&work, &hits[i], &wanted))
			hits[used++] = hits[i];
	if (rc < 0)
		return rc;
	*out = hits;
	*n = used;
	return OK;
}
