/*
 * The keywords of a schema that offer a choice, and what is said when nothing of it fits.
 */
#include "text/schema_parts.h"

/* How much a fault tells: nothing where the alternative was not meant at all. */
static int telling(const struct schema_fault *f, int depth)
{
	if ((f->constant && f->depth <= depth + 1) || (f->type && f->depth == depth))
		return 0;
	return 1 + f->depth - depth;
}

/* None of the alternatives fits.  What is said is the fault of the one that was meant, or what
 * all of them want at the same place. */
struct choice {
	struct schema_fault best;
	int score;
	bool same; /* all are of one kind and place */
	struct buf wants;
	size_t n;
};

static void choice_add(struct choice *x, const struct schema_fault *f, int depth)
{
	const str must = S("must be ");
	int score = telling(f, depth);

	x->same = x->same && score == 0 && str_starts(f->what, must) &&
		  (x->n == 0 || str_eq(f->where, x->best.where));
	if (x->same) {
		str want = str_sub(f->what, must.n, f->what.n);
		if (!str_has((str){ x->wants.p, x->wants.n }, want))
			buf_fmt(&x->wants, "%s%.*s", x->wants.n ? " or " : "", STRF(want));
	}
	if (x->n++ == 0 || score > x->score) {
		x->best = *f;
		x->score = score;
	}
}

static bool choice_fault(struct schema_run *k, const struct choice *x,
			 const struct schema_at *at)
{
	if (k->quiet || x->n == 0)
		return schema_fault(k, at->spot, "fits none of what is allowed there");
	k->fault = x->best;
	if (x->same && x->n > 1 && !x->wants.full)
		k->fault.what = arena_fmt(k->a, "must be %.*s", (int)x->wants.n, x->wants.p);
	else if (x->score == 0 && x->n > 1)
		return schema_fault(k, at->spot, "fits none of the %zu forms allowed there",
				    x->n);
	return false;
}

bool schema_kw_any(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	struct choice x = { .same = true, .wants = buf_in(k->a, SCHEMA_SAID_MAX - 20) };
	bool any = false;

	if (!json_is(kw, JSON_ARRAY))
		return true;
	for (const struct json *s = kw->child; s && !(any && !at->seen); s = s->next) {
		if (schema_here(k, at, s))
			any = true;
		else if (!k->quiet)
			choice_add(&x, &k->fault, at->spot->depth);
	}
	return any || k->spent || choice_fault(k, &x, at);
}

bool schema_kw_one(struct schema_run *k, const struct schema_at *at, const struct json *kw)
{
	struct choice x = { .same = true, .wants = buf_in(k->a, SCHEMA_SAID_MAX - 20) };
	size_t fit = 0;

	if (!json_is(kw, JSON_ARRAY))
		return true;
	for (const struct json *s = kw->child; s && fit < 2; s = s->next) {
		if (schema_here(k, at, s))
			fit++;
		else if (!k->quiet)
			choice_add(&x, &k->fault, at->spot->depth);
	}
	if (fit == 1 || k->spent)
		return true;
	return fit ? schema_fault(k, at->spot, "fits more than one of what is allowed there")
		   : choice_fault(k, &x, at);
}
