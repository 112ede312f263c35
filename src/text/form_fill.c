/*
 * Filling a form in: one field after the other, each answered once.  Which field an answer is for
 * is its caller's business.
 */
#include "text/form.h"

#include "base/utf.h"
#include "text/text.h"

/* The field is answered by value, "" not at all, and the next one is asked. */
static void answered(const struct form *f, struct form_fill *x, str value, struct arena *a)
{
	const struct form_field *at = &f->fields[x->field];
	struct buf b = buf_in(a, 1u << 20);

	if (value.n) {
		buf_add(&b, x->answers);
		if (b.n)
			buf_addc(&b, ',');
		buf_json(&b, at->name);
		buf_addc(&b, ':');
		buf_add(&b, value);
		x->answers = buf_str(&b);
	}
	x->field++;
	x->tries = 0;
	x->picks = S("");
	if (x->field >= f->n)
		x->end = FORM_ACCEPTED;
}

static int toggle(const struct form_field *at, struct form_fill *x, size_t option,
		  struct arena *a)
{
	char *picks = arena_alloc(a, 1, at->options_n + 1);

	memset(picks, '0', at->options_n);
	for (size_t i = 0; i < at->options_n && i < x->picks.n; i++)
		picks[i] = x->picks.p[i] == '1' ? '1' : '0';
	picks[option] = picks[option] == '1' ? '0' : '1';
	x->picks = (str){ picks, at->options_n };
	return OK;
}

static int skip(const struct form_field *at, str *value, struct err *e)
{
	*value = at->def;
	return at->def.n || !at->required ? OK
					  : err_set(e, E_INVAL, "this one has to be answered");
}

/* The value that was said; *moved false: the field stays open. */
static int value_of(const struct form_field *at, const struct form_said *said,
		    struct form_fill *x, struct arena *a, str *value, bool *moved,
		    struct err *e)
{
	struct buf b = buf_in(a, 8192);

	switch (said->what) {
	case FORM_SAY_TEXT:
		if (!str_trim(said->text).n)
			return skip(at, value, e);
		return form_take(at, said->text, a, value, e);
	case FORM_SAY_OPTION:
		if (said->option >= at->options_n)
			return err_set(e, E_INVAL, "that is none of the options");
		*moved = at->kind != FORM_MANY;
		if (!*moved)
			return toggle(at, x, said->option, a);
		*value = at->options[said->option].value;
		if (at->kind == FORM_BOOLEAN)
			return OK;
		buf_json(&b, *value);
		*value = buf_str(&b);
		return OK;
	case FORM_SAY_DONE:
		return at->kind == FORM_MANY ? form_picked(at, x->picks, a, value, e)
					     : err_set(e, E_INVAL, "choose one");
	case FORM_SAY_SKIP:
		return skip(at, value, e);
	default:
		return err_set(e, E_INVAL, "this one has to be answered");
	}
}

int form_step(const struct form *f, const struct form_said *said, struct form_fill *x,
	      struct arena *a, struct err *e)
{
	bool moved = true;
	str value = S("");
	int rc;

	if (said->what == FORM_SAY_DECLINE || said->what == FORM_SAY_CANCEL) {
		x->end = said->what == FORM_SAY_DECLINE ? FORM_DECLINED : FORM_CANCELLED;
		return OK;
	}
	if (x->field >= f->n) {
		if (said->what != FORM_SAY_ACCEPT)
			return err_set(e, E_INVAL, "accept, decline or cancel it");
		x->end = FORM_ACCEPTED;
		return OK;
	}
	rc = value_of(&f->fields[x->field], said, x, a, &value, &moved, e);
	if (rc < 0) {
		if (++x->tries >= FORM_TRIES)
			x->end = FORM_CANCELLED;
		return rc;
	}
	if (moved)
		answered(f, x, value, a);
	return OK;
}

str form_result(const struct form *f, const struct form_fill *x, struct arena *a)
{
	if (x->end == FORM_DECLINED)
		return S("{\"action\":\"decline\"}");
	if (x->end != FORM_ACCEPTED)
		return S("{\"action\":\"cancel\"}");
	if (f->link)
		return S("{\"action\":\"accept\"}");
	return arena_fmt(a, "{\"action\":\"accept\",\"content\":{%.*s}}", STRF(x->answers));
}
