/*
 * The sessions that used most, of however many there are: one is summed up while its rows pass
 * by, and only the heaviest are kept.
 */
#include "store/tally_sum.h"

#include <string.h>

#define SHARES_MAX 16

static int64_t weight(const struct tally_session *s)
{
	return s->used.prompt + s->used.completion;
}

/* Keep it where it belongs among the heaviest. */
static void keep(struct sum *m, const struct tally_session *s)
{
	struct tally *t = m->t;
	size_t i;

	t->sessions_all++;
	if (t->sessions_n == m->opt->sessions_max &&
	    (!t->sessions_n || weight(s) <= weight(&t->sessions[t->sessions_n - 1])))
		return;
	if (t->sessions_n < m->opt->sessions_max)
		t->sessions_n++;
	for (i = t->sessions_n - 1; i > 0 && weight(&t->sessions[i - 1]) < weight(s); i--)
		t->sessions[i] = t->sessions[i - 1];
	t->sessions[i] = *s;
	t->sessions[i].id = arena_dup(m->a, s->id);
	t->sessions[i].shares = NULL;
	for (const struct tally_share *v = s->shares; v; v = v->next) {
		struct tally_share *copy = NEW(m->a, struct tally_share);
		*copy = *v;
		copy->next = t->sessions[i].shares;
		t->sessions[i].shares = copy;
	}
}

/* In the order of the index, so that a session is over before the next begins.  ?1 since, ?2 the
 * session or "". */
#define BY_SESSION                                                                             \
	"SELECT t.session_id, t.id, t.started_at_ms, c.issuer, " USED " FROM turns t "         \
	"INDEXED BY turns_session LEFT JOIN model_calls c ON c.turn_id = t.id "                \
	"WHERE t.started_at_ms >= ?1 ORDER BY t.session_id, t.rowid"
#define OF_SESSION                                                                             \
	"SELECT t.session_id, t.id, t.started_at_ms, c.issuer, " USED " FROM turns t "         \
	"INDEXED BY turns_session LEFT JOIN model_calls c ON c.turn_id = t.id "                \
	"WHERE t.session_id = ?2 AND t.started_at_ms >= ?1 ORDER BY t.rowid"

static int query_sessions(struct rows *r, struct sum *m, struct err *e)
{
	return m->opt->session_id.n
		       ? db_query(r, m->db, OF_SESSION,
				  DB_ARGS(db_i64(m->t->since_ms), db_text(m->opt->session_id)),
				  e)
		       : db_query(r, m->db, BY_SESSION, DB_ARGS(db_i64(m->t->since_ms)), e);
}

/* One session while its rows pass by. */
struct passing {
	struct tally_session s;
	char id[ID_LEN + 1], turn[ID_LEN + 1];
	struct tally_share shares[SHARES_MAX];
	size_t shares_n;
};

/* What its models had; those over SHARES_MAX count with the last. */
static void share(struct passing *p, size_t model, const struct tally_tokens *used)
{
	size_t i = 0;

	while (i < p->shares_n && p->shares[i].model != model)
		i++;
	if (i == p->shares_n && i == SHARES_MAX)
		i--;
	if (i == p->shares_n) {
		p->shares[i] = (struct tally_share){ .model = model, .next = p->s.shares };
		p->s.shares = &p->shares[i];
		p->shares_n++;
	}
	sum_tokens(&p->shares[i].used, used);
}

static void on_session_row(struct sum *m, struct passing *p, const struct rows *r)
{
	char id[ID_LEN + 1], turn[ID_LEN + 1];

	rows_id(r, 0, id);
	rows_id(r, 1, turn);
	if (strcmp(id, p->id) != 0) {
		if (p->id[0])
			keep(m, &p->s);
		*p = (struct passing){ 0 };
		memcpy(p->id, id, sizeof id);
		p->s.id = str_of(p->id);
	}
	p->s.turns += strcmp(turn, p->turn) != 0;
	memcpy(p->turn, turn, sizeof turn);
	if (rows_null(r, 3))
		return; /* a turn without a request */
	struct tally_tokens used = sum_used(r, 4);
	sum_tokens(&p->s.used, &used);
	share(p, sum_model(m, rows_peek(r, 3)), &used);
}

/* What is only shown of those that are kept. */
static int complete_session(struct sum *m, struct tally_session *s, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, m->db,
			  "SELECT channel, address, (SELECT count(*) FROM tool_calls "
			  "WHERE session_id = ?1 AND created_at_ms >= ?2 AND state IN ('done', "
			  "'failed')) FROM sessions WHERE id = ?1",
			  DB_ARGS(db_text(s->id), db_i64(m->t->since_ms)), e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		s->channel = rows_text(&r, 0, m->a);
		s->address = rows_text(&r, 1, m->a);
		s->tool_calls = rows_i64(&r, 2);
	}
	return rc < 0 ? rc : OK;
}

int sum_sessions(struct sum *m, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	struct passing p = { 0 };
	int rc = query_sessions(&r, m, e);

	m->t->sessions = NEWN(m->a, struct tally_session, m->opt->sessions_max + 1);
	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		int64_t at_ms = rows_at_ms(&r, 2);
		if (at_ms >= m->t->since_ms && at_ms <= m->opt->until_ms)
			on_session_row(m, &p, &r);
		rc = OK;
	}
	if (rc == OK && p.id[0])
		keep(m, &p.s);
	for (size_t i = 0; rc == OK && i < m->t->sessions_n; i++)
		rc = complete_session(m, &m->t->sessions[i], e);
	return rc;
}
