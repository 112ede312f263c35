/*
 * store/memory: what the agent remembers: single statements in the table memory, which people
 * read and change with sqlite3, found through two full-text indexes that triggers and this
 * module keep true.
 *
 * A row is active unless it expired (episodes do, after 30 days) or another one supersedes
 * it.  Times are RFC 3339 texts in UTC with three digits of a second; what a foreign shell
 * wrote is understood with any.  Ids are never used twice.
 *
 * Limits  a subject of 200 characters, a content of 2000: E_INVAL beyond.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

#define MEMORY_SUBJECT_MAX 200
#define MEMORY_CONTENT_MAX 2000

/* Kinds, to be combined; MEMORY_DURABLE are those that do not expire. */
enum {
	MEMORY_PREFERENCE = 1,
	MEMORY_PERSON = 2,
	MEMORY_FACT = 4,
	MEMORY_INSIGHT = 8,
	MEMORY_EPISODE = 16,
	MEMORY_DURABLE = 15,
};

struct memory {
	int64_t id;
	str kind, subject, content, source; /* source: chat, consolidation, operator */
	double confidence;
	str created_at, updated_at, expires_at; /* expires_at "" never */
	int64_t superseded_by; /* 0 none */
	bool active;
	double score; /* of a search */
};

/* The bit of a kind's name in any case, 0 when it is none; and the name of one. */
unsigned memory_kind(str name);
str memory_kind_name(unsigned kind);

/* "(kind) subject: content" on one line. */
str memory_line(struct arena *a, const struct memory *m);

struct memory_filter {
	unsigned kinds; /* 0: all, foreign ones too */
	bool inactive; /* expired and superseded ones too */
	int64_t after_id; /* only later ones */
	bool oldest_first; /* by id; else the last updated first */
	int64_t limit; /* 0: none */
};
int store_memory_list(struct store *s, const struct memory_filter *f, struct arena *a,
		      struct memory **out, size_t *n, struct err *e) MUSTUSE;

/* Those of the ids that exist, active or not, in the order of ids. */
int store_memory_get(struct store *s, const int64_t *ids, size_t ids_n, struct arena *a,
		     struct memory **out, size_t *n, struct err *e) MUSTUSE;

/* At most limit active rows for a text, be it a name or a whole sentence, best first: by how
 * rare the words are that they share (BM25), a little by their age and kind.  Any bytes are a
 * query; one without words finds nothing, and what is over 1000 characters is cut. */
int store_memory_search(struct store *s, str query, int64_t limit, struct arena *a,
			struct memory **out, size_t *n, struct err *e) MUSTUSE;

/* What is found and has every word of the query, whatever its ending: what forgetting by a query
 * takes.  At most 200. */
int store_memory_match(struct store *s, str query, struct arena *a, struct memory **out,
		       size_t *n, struct err *e) MUSTUSE;

/* Remember in's kind, subject, content and source (trimmed, white space folded).  *id is the new row, or with *known the active
 * one that says the same already: it is fresh again.  E_INVAL with a sentence, and nothing
 * happened: unknown kind, nothing to say, too long. */
int store_memory_add(struct tx *tx, const struct memory *in, int64_t *id, bool *known,
		     struct err *e) MUSTUSE;

/* One row, in an open transaction.  E_NOENT. */
int store_memory_load(struct tx *tx, int64_t id, struct arena *a, struct memory *out,
		      struct err *e) MUSTUSE;

/* old, as it was read, is superseded by another row.  E_NOENT: it has changed meanwhile, is
 * superseded already, or the other row is none or not active. */
int store_memory_supersede(struct tx *tx, const struct memory *old, int64_t by,
			   struct err *e) MUSTUSE;

/* A row as it was exported, whole; with *known there is one of its id, or an active one that says
 * the same, and nothing happened.  id 0 takes the next one.  E_INVAL as for adding. */
int store_memory_import(struct tx *tx, const struct memory *in, bool *known,
			struct err *e) MUSTUSE;

/* What a session's prompts begin with: made once for an epoch, so that they stay the same. */
struct memory_snapshot {
	int64_t epoch, rev; /* rev: of all changes but what chats added */
	str ids; /* " 3 17 " */
	str text; /* lines of memory_line() */
	int64_t summary_hash; /* of the summary it was made beside */
	int64_t used_at_ms;
};
/* E_NOENT there is none. */
int store_memory_snapshot_get(struct store *s, str session_id, struct arena *a,
			      struct memory_snapshot *out, struct err *e) MUSTUSE;
int store_memory_snapshot_set(struct tx *tx, str session_id, const struct memory_snapshot *in,
			      struct err *e) MUSTUSE;

/* rev grows with every change, whoever makes it; of it, those rows that a chat added. */
int store_memory_rev(struct store *s, int64_t *rev, int64_t *added, struct err *e) MUSTUSE;

/* The message (by turn and seq as the last user message) shows these rows in its context, one
 * a line, in order. */
int store_memory_used(struct tx *tx, str turn_id, const int64_t *ids, size_t n,
		      struct err *e) MUSTUSE;

/* More of the context block of a live turn's first message, before it is asked about. */
int store_message_context(struct tx *tx, str turn_id, str more, struct err *e) MUSTUSE;

struct memory_health {
	int64_t rows, active;
	int64_t purged; /* expired a month ago, and deleted */
	int64_t unindexed; /* changed by a foreign shell, now in the second index */
	bool stale; /* the full-text index did not fit the rows, and was made anew */
};
/* Delete what expired a month ago, a few rows at a time. */
int store_memory_purge(struct store *s, const struct cancel *c, int64_t *purged,
		       struct err *e) MUSTUSE;

/* Hold the indexes against the rows and mend them; delete what expired long ago. */
int store_memory_check(struct store *s, const struct cancel *c, struct memory_health *out,
		       struct err *e) MUSTUSE;

#endif
