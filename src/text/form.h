/*
 * text/form: what a tool server asks of a person (elicitation), read from its parameters, as
 * text to show, and what the person typed as values of the form's schema.
 *
 * Pure.  All text that comes out is visible, bounded, and in the arena that was given.  A form is
 * flat: fields of plain types, as the protocol has it.
 *
 * Limits  32 fields, 100 options of one, 64 KiB of schema; a longer message is cut.
 */
#ifndef TEXT_FORM_H
#define TEXT_FORM_H

#include "text/json.h"
#include "text/link.h"

#define FORM_FIELDS 32
#define FORM_OPTIONS 100
#define FORM_SCHEMA 65536 /* bytes */
#define FORM_TYPED 4000 /* bytes of one answer */

enum form_kind { FORM_TEXT, FORM_INTEGER, FORM_NUMBER, FORM_BOOLEAN, FORM_ONE, FORM_MANY };

struct form_option {
	str value; /* as it is answered */
	str label; /* for people */
};

struct form_field {
	str name; /* as it is answered */
	str title, hint; /* for people; hint may be "" */
	enum form_kind kind;
	bool required;
	bool secret; /* it looks as if it asked for one */
	const struct form_option *options; /* of ONE, MANY and BOOLEAN */
	size_t options_n;
	str def; /* the default as JSON text, "" none; it fits the schema */
	const struct json *schema;
};

struct form {
	bool link; /* a link to open, and no fields */
	str message;
	struct link_seen seen;
	str id; /* of a link: what its end is told by, "" none */
	const struct form_field *fields;
	size_t n;
};

/* params of elicitation/create.  E_INVAL: nothing the protocol allows; E_LIMIT: too much.  out
 * borrows from params. */
int form_read(struct form *out, const struct json *params, struct arena *a,
	      struct err *e) MUSTUSE;

/* params that form_read() took, as JSON text without what a form does not need, its message cut.
 * E_LIMIT: too much all the same. */
int form_keep(const struct json *params, struct arena *a, str *out, struct err *e) MUSTUSE;

/* Field i of a form for people, several lines: its title, how far one is, what is expected;
 * listed: with its options. */
str form_block(const struct form *f, size_t i, bool listed, struct arena *a);
/* What is to be known before a link is opened, several lines. */
str form_link(const struct form *f, struct arena *a);

/* What was typed, as a JSON value.  E_INVAL: one line that says what is wrong. */
int form_take(const struct form_field *f, str typed, struct arena *a, str *value,
	      struct err *e) MUSTUSE;
/* The options that were picked of a MANY: one byte each, '1' or '0'. */
int form_picked(const struct form_field *f, str picks, struct arena *a, str *value,
		struct err *e) MUSTUSE;
/* A bound that a schema has; false: it has none, or a count below zero, which makes no sense. */
bool form_bound(const struct json *schema, const char *key, double *out);
/* Does a value of its type fit the field? */
int form_fits(const struct form_field *f, const struct json *value, struct arena *a,
	      struct err *e) MUSTUSE;

/* --- filling it in, step by step -------------------------------------------------------- */

#define FORM_TRIES                                                                             \
	5 /* answers to one field that do not fit, before the question is cancelled */

enum form_end { FORM_OPEN, FORM_ACCEPTED, FORM_DECLINED, FORM_CANCELLED };

/* How far one is.  Zero: nothing is answered. */
struct form_fill {
	size_t field; /* that is asked now */
	int tries; /* at it */
	str answers; /* the members so far, JSON without its braces */
	str picks; /* of a MANY, as for form_picked() */
	enum form_end end;
};

/* What was said. */
struct form_said {
	enum {
		FORM_SAY_TEXT, /* text was typed */
		FORM_SAY_OPTION, /* option was pressed: of a MANY it is picked, or no more */
		FORM_SAY_DONE, /* these are all that are picked */
		FORM_SAY_SKIP, /* the default, or no answer to an optional field */
		FORM_SAY_ACCEPT, /* of a form without fields, or a link */
		FORM_SAY_DECLINE,
		FORM_SAY_CANCEL
	} what;
	str text;
	size_t option;
};

/* One step.  OK: *x moved on, or ended.  E_INVAL: one line says why it did not; *x counts the try,
 * and is cancelled when it was the last. */
int form_step(const struct form *f, const struct form_said *said, struct form_fill *x,
	      struct arena *a, struct err *e) MUSTUSE;

/* The result of elicitation/create, JSON text on one line; an open one is cancelled. */
str form_result(const struct form *f, const struct form_fill *x, struct arena *a);

#endif
