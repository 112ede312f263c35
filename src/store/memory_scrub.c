/*
 * What is forgotten leaves no copy where a later request would find it: context blocks, the
 * answers and arguments of memory tools, the snapshots and summaries of conversations, and the
 * record of what was sent.  What people and the model said in their own words stays theirs.
 *
 * Lines become "(forgotten)" instead of going, so that the lines after them keep their numbers.
 */
#include "store/memory_rows.h"

#include "text/json.h"
#include "text/terms.h"

#define GONE "(forgotten)"
#define TEXT_MAX ((size_t)64 << 20)

/* The given line after the last "[memory]" line, from 1, becomes GONE. */
static str without_line(struct arena *a, str block, int64_t line)
{
	struct buf b = buf_in(a, block.n + 64);
	bool more = true, inside = false;
	int64_t at = 0;

	for (str rest = block; more;) {
		more = str_find(rest, S("\n")) != SIZE_MAX;
		str one = str_cut(&rest, '\n');
		if (str_eq(one, S("[memory]"))) {
			inside = true;
			at = 0;
		} else if (inside && ++at == line) {
			one = S("- " GONE);
		}
		buf_add(&b, one);
		buf_add(&b, more ? S("\n") : S(""));
	}
	return buf_str(&b);
}

struct text {
	int64_t id, line;
	str s;
};

static int collect(struct db *db, const char *sql, str arg, struct arena *a, struct text **out,
		   size_t *n, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, sql, DB_ARGS(db_text(arg)), e);

	*out = NULL;
	*n = 0;
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = LIST_ROOM(a, *out, *n);
		(*out)[(*n)++] =
			(struct text){ rows_i64(&r, 0), rows_i64(&r, 1), rows_text(&r, 2, a) };
		rc = OK;
	}
	return rc;
}

static int scrub_blocks(struct tx *tx, str id, struct arena *a, struct err *e)
{
	struct text *list;
	size_t n;
	int rc = collect(tx_db(tx),
			 "SELECT m.id, u.line, m.context FROM memory_uses u "
			 "JOIN turn_messages m ON m.id = u.message_id "
			 "WHERE u.memory_id = CAST(?1 AS INTEGER)",
			 id, a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = db_run(tx_db(tx), "UPDATE turn_messages SET context = ?2 WHERE id = ?1",
			    DB_ARGS(db_i64(list[i].id),
				    db_text(without_line(a, list[i].s, list[i].line))),
			    NULL, e);
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "DELETE FROM memory_uses WHERE memory_id = CAST(?1 AS INTEGER)",
			    DB_ARGS(db_text(id)), NULL, e);
	return rc;
}

/* Lines that name the row keep nothing but its id. */
static str without_row(struct arena *a, str text, str mark)
{
	struct buf b = buf_in(a, text.n + TEXT_MAX);
	bool more = true;

	for (str rest = text; more;) {
		more = str_find(rest, S("\n")) != SIZE_MAX;
		str line = str_cut(&rest, '\n');
		size_t at = str_find(line, mark);
		str after = at == SIZE_MAX ? S("") : str_sub(line, at + mark.n, line.n);
		if (at != SIZE_MAX && !(after.n && after.p[0] >= '0' && after.p[0] <= '9')) {
			buf_add(&b, str_sub(line, 0, at + mark.n));
			buf_add(&b, S(" " GONE));
		} else {
			buf_add(&b, line);
		}
		buf_add(&b, more ? S("\n") : S(""));
	}
	return buf_str(&b);
}

/* The arguments of the call with this result become others, in the assistant message too. */
static int scrub_args(struct tx *tx, int64_t result_id, const char *gone, struct arena *a,
		      struct err *e)
{
	struct buf b = buf_in(a, TEXT_MAX);
	struct text *wire;
	struct json *v;
	size_t n;
	int rc = collect(tx_db(tx),
			 "SELECT s.id, r.idx, s.wire FROM turn_messages r "
			 "JOIN turn_messages s ON s.turn_id = r.turn_id AND s.round = r.round "
			 "AND s.role = 'assistant' WHERE r.id = CAST(?1 AS INTEGER)",
			 arena_fmt(a, "%lld", (long long)result_id), a, &wire, &n, e);

	if (rc < 0 || n == 0 || json_read(&v, a, wire[0].s, NULL) < 0)
		return rc;
	const struct json *calls = json_get(v, "tool_calls"),
			  *made = calls ? calls->child : NULL;
	for (int64_t i = 1; made && i < wire[0].line; i++)
		made = made->next;
	const struct json *fn = json_get(made, "function");
	for (struct json *m = fn ? fn->child : NULL; m; m = m->next)
		if (str_eq(m->key, S("arguments")) && m->type == JSON_STRING)
			m->s = str_of(gone);
	json_write(&b, v);
	rc = db_run(tx_db(tx), "UPDATE turn_messages SET wire = ?2 WHERE id = ?1",
		    DB_ARGS(db_i64(wire[0].id), db_text(buf_str(&b))), NULL, e);
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "UPDATE tool_calls SET args = ?2 WHERE (turn_id, round, idx) = "
			    "(SELECT turn_id, round, idx FROM turn_messages WHERE id = ?1)",
			    DB_ARGS(db_i64(result_id), db_text(str_of(gone))), NULL, e);
	return rc;
}

/* A result, and its wire, become what less makes of them; *stored: it is memory_store's. */
static int rewrite(struct tx *tx, int64_t id, str text, str mark,
		   str (*less)(struct arena *a, str text, str mark), struct arena *a,
		   bool *stored, struct err *e)
{
	struct buf wire = buf_in(a, TEXT_MAX);
	struct text *old;
	struct json *v;
	size_t n;
	int rc = collect(tx_db(tx),
			 "SELECT id, tool_name = 'memory_store', wire FROM turn_messages "
			 "WHERE id = CAST(?1 AS INTEGER)",
			 arena_fmt(a, "%lld", (long long)id), a, &old, &n, e);
	if (rc < 0 || n == 0)
		return rc;
	*stored = old[0].line != 0;
	if (json_read(&v, a, old[0].s, NULL) == OK) {
		for (struct json *m = v->child; m; m = m->next)
			if (str_eq(m->key, S("content")) && m->type == JSON_STRING)
				m->s = less(a, m->s, mark);
		json_write(&wire, v);
	}
	return db_run(tx_db(tx),
		      "UPDATE turn_messages SET content = ?2, wire = ?3 WHERE id = ?1",
		      DB_ARGS(db_i64(id), db_text(less(a, text, mark)),
			      db_text(wire.n ? buf_str(&wire) : old[0].s)),
		      NULL, e);
}

static int scrub_result(struct tx *tx, const struct text *row, str mark, struct arena *a,
			struct err *e)
{
	static const char gone[] =
		"{\"kind\":\"" GONE "\",\"subject\":\"" GONE "\",\"content\":\"" GONE "\"}";
	bool stored = false;

	if (str_eq(without_row(a, row->s, mark), row->s))
		return OK; /* another row, whose id begins alike */
	int rc = rewrite(tx, row->id, row->s, mark, without_row, a, &stored, e);
	return rc == OK && stored ? scrub_args(tx, row->id, gone, a, e) : rc;
}

static int scrub_results(struct tx *tx, str id, struct arena *a, struct err *e)
{
	str mark = arena_fmt(a, "id=%.*s", STRF(id));
	struct text *list;
	size_t n;
	int rc = collect(tx_db(tx),
			 "SELECT id, 0, content FROM turn_messages WHERE tool_name IN "
			 "('memory_store', 'memory_recall', 'memory_forget') "
			 "AND instr(content, ?1) > 0",
			 mark, a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = scrub_result(tx, &list[i], mark, a, e);
	return rc;
}

static bool has_digit(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= '0' && s.p[i] <= '9')
			return true;
	return false;
}

/* Does a sentence say what the row says?  Most of its words, or all of a short one; and its
 * numbers: with others it says something else. */
static bool says(struct arena *a, str sentence, const struct terms *wanted)
{
	struct terms in = terms_all(a, sentence);
	double got = 0, all = 0;

	for (size_t i = 0; i < wanted->n; i++) {
		double best = 0, weight = wanted->v[i].weak ? 0.3 : 1;
		for (size_t k = 0; k < in.n; k++) {
			double fit = term_fits(&wanted->v[i], &in.v[k]);
			best = fit > best ? fit : best;
		}
		if (best <= 0 && has_digit(wanted->v[i].text))
			return false;
		all += weight;
		got += best > 0 ? weight : 0;
	}
	return all > 0 && got >= (wanted->n <= 2 ? all : 0.7 * all);
}

/* Where the sentence at the start of s ends, its punctuation and blanks included. */
static size_t sentence(str s)
{
	static const char *const stops[] = { ". ", "! ", "? ", "; ", "\n", "。", "！", "？" };
	size_t end = s.n;

	for (size_t i = 0; i < COUNT(stops); i++) {
		size_t at = str_find(s, str_of(stops[i]));
		if (at != SIZE_MAX && at + str_of(stops[i]).n < end)
			end = at + str_of(stops[i]).n;
	}
	return end;
}

/* The sentences that do not say what the row says. */
static str unsaid(struct arena *a, str text, str content)
{
	struct terms wanted = terms_wanted(a, content, 64);
	struct buf b = buf_in(a, text.n + 1);

	for (str rest = text; rest.n;) {
		size_t end = sentence(rest);
		str one = str_sub(rest, 0, end);
		if (!says(a, one, &wanted) && !str_has(one, content))
			buf_add(&b, one);
		rest = str_sub(rest, end, rest.n);
	}
	return b.n == text.n ? text : str_trim(buf_str(&b));
}

int store_memory_unsaid(struct tx *tx, str text, struct arena *a, str *out, struct err *e)
{
	struct text *list;
	size_t n;
	int rc = collect(tx_db(tx),
			 "SELECT f.id, 0, f.content FROM memory_tombstones f WHERE ?1 <> '' "
			 "AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.superseded_by IS NULL "
			 "AND m.content = f.content)",
			 text, a, &list, &n, e);

	*out = text;
	for (size_t i = 0; rc == OK && i < n; i++)
		*out = unsaid(a, *out, list[i].s);
	return rc;
}

static int scrub_summaries(struct tx *tx, const struct memory *m, struct arena *a,
			   struct err *e)
{
	struct text *list;
	size_t n;
	int rc =
		collect(tx_db(tx), "SELECT rowid, 0, summary FROM sessions WHERE summary <> ?1",
			S(""), a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		str left = unsaid(a, list[i].s, m->content);
		if (left.n != list[i].s.n)
			rc = db_run(tx_db(tx),
				    "UPDATE sessions SET summary = ?2 WHERE rowid = ?1",
				    DB_ARGS(db_i64(list[i].id), db_text(left)), NULL, e);
	}
	return rc;
}

static int scrub(struct tx *tx, const struct memory *m, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str id = arena_fmt(&a, "%lld", (long long)m->id);
	str line = arena_fmt(&a, "\n- %.*s", STRF(memory_line(&a, m)));
	int rc = scrub_blocks(tx, id, &a, e);

	if (rc == OK)
		rc = scrub_results(tx, id, &a, e);
	if (rc == OK)
		rc = scrub_summaries(tx, m, &a, e);
	if (rc == OK)
		rc = db_run(
			tx_db(tx),
			"DELETE FROM memory_snapshots WHERE instr(ids, ' ' || ?1 || ' ') > 0",
			DB_ARGS(db_text(id)), NULL, e);
	if (rc == OK)
		rc = db_run(tx_db(tx),
			    "UPDATE request_parts SET content = replace(content, ?1, ?2) "
			    "WHERE instr(content, ?1) > 0",
			    DB_ARGS(db_text(line), db_text(S("\n- " GONE))), NULL, e);
	return rc;
}

static int settle_one(struct tx *tx, const struct memory *m, struct err *e)
{
	int rc = scrub(tx, m, e);

	return rc < 0 ? rc
		      : db_run(tx_db(tx),
			       "UPDATE memory_tombstones SET scrubbed = 1 WHERE id = ?1",
			       DB_ARGS(db_i64(m->id)), NULL, e);
}

#define UNSCRUBBED "FROM memory_tombstones INDEXED BY memory_unscrubbed WHERE scrubbed = 0"

/* No turn that says it could still be folded. */
#define OVER "upto < coalesce((SELECT first FROM memory_unfolded), upto + 1)"

static int bury(struct tx *tx, struct err *e)
{
	return db_run(tx_db(tx), "DELETE FROM memory_tombstones WHERE scrubbed = 1 AND " OVER,
		      DB_NO_ARGS, NULL, e);
}

int store_memory_settle(struct tx *tx, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct memory *list = NULL;
	size_t n = 0;
	int rc;

	{
		SCOPED(rows_end) struct rows r = { 0 };
		rc = db_query(&r, tx_db(tx), "SELECT id, kind, subject, content " UNSCRUBBED,
			      DB_NO_ARGS, e);
		while (rc == OK && (rc = rows_next(&r, e)) > 0) {
			list = LIST_ROOM(&a, list, n);
			list[n++] = (struct memory){ .id = rows_i64(&r, 0),
						     .kind = rows_text(&r, 1, &a),
						     .subject = rows_text(&r, 2, &a),
						     .content = rows_text(&r, 3, &a) };
			rc = OK;
		}
	}
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = settle_one(tx, &list[i], e);
	/* Until they are merged, full-text indexes keep the words of what was deleted. */
	if (rc == OK && n)
		rc = db_run(tx_db(tx),
			    "INSERT INTO memory_fts (memory_fts) VALUES ('optimize')",
			    DB_NO_ARGS, NULL, e);
	if (rc == OK && n)
		rc = db_run(tx_db(tx),
			    "INSERT INTO memory_grams (memory_grams) VALUES ('optimize')",
			    DB_NO_ARGS, NULL, e);
	return rc == OK && n ? bury(tx, e) : rc;
}

int store_memory_settle_now(struct store *s, const struct cancel *c, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t any = 0;
	int rc;

	{
		/* A reader looks, so that the writer is taken only for work. */
		SCOPED(reader_end) struct reader r = { 0 };
		rc = reader_begin(&r, s, e);
		if (rc == OK)
			rc = db_number(r.db,
				       "SELECT EXISTS (SELECT 1 FROM memory_tombstones "
				       "WHERE scrubbed = 0 OR " OVER ")",
				       DB_NO_ARGS, &any, e);
	}
	if (rc < 0 || !any || (rc = store_begin(&tx, s, c, e)) < 0 ||
	    (rc = store_memory_settle(&tx, e)) < 0 || (rc = bury(&tx, e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

/* "forgot 2; ...:" and lines of ids. */
static str only_ids(struct arena *a, str text, str mark)
{
	struct buf b = buf_in(a, text.n + TEXT_MAX);
	str rest = text, first = str_cut(&rest, '\n');

	if (!str_starts(first, S("forgot ")))
		return text; /* what came back is there */
	buf_add(&b, first);
	while (rest.n) {
		str line = str_cut(&rest, '\n');
		size_t n = str_starts(line, mark) ? mark.n : 0;
		while (n && n < line.n && line.p[n] >= '0' && line.p[n] <= '9')
			n++;
		buf_fmt(&b, "\n%.*s " GONE, STRF(str_sub(line, 0, n)));
	}
	return buf_str(&b);
}

int store_memory_hush(struct tx *tx, str turn_id, struct err *e)
{
	static const char asked[] = "{\"query\":\"" GONE "\"}";
	SCOPED(arena_free) struct arena a = { 0 };
	struct text *list;
	bool stored;
	size_t n;
	int rc = collect(tx_db(tx),
			 "SELECT id, 0, content FROM turn_messages WHERE turn_id = ?1 "
			 "AND tool_name = 'memory_forget' AND content LIKE 'forgot %:%id=%'",
			 turn_id, &a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if ((rc = rewrite(tx, list[i].id, list[i].s, S("id="), only_ids, &a, &stored,
				  e)) == OK)
			rc = scrub_args(tx, list[i].id, asked, &a, e);
	return rc;
}
