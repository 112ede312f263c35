/*
 * Steps of a question as row: the form is read from it, moved on by pure code, and written back.
 */
#include "chan/asks.h"

#include "store/store.h"

int asks_form(const struct question *q, struct arena *a, struct form *f, struct form_fill *x,
	      struct err *e)
{
	struct json *params;
	int rc;

	if ((rc = json_read(&params, a, q->params, e)) < 0 ||
	    (rc = form_read(f, params, a, e)) < 0)
		return rc;
	*x = (struct form_fill){ .field = q->field > 0 ? (size_t)q->field : 0,
				 .tries = (int)q->tries,
				 .picks = q->picks,
				 .answers = q->answers };
	return OK;
}

int asks_step(struct tx *tx, struct question *q, const struct form_said *said, str by,
	      struct arena *a, struct err *wrong, struct err *e)
{
	static const enum question_state ends[] = {
		[FORM_OPEN] = QUESTION_PENDING,
		[FORM_ACCEPTED] = QUESTION_ANSWERED,
		[FORM_DECLINED] = QUESTION_DECLINED,
		[FORM_CANCELLED] = QUESTION_CANCELLED,
	};
	struct form_fill x;
	struct form f;

	*wrong = (struct err){ 0 };
	if (asks_form(q, a, &f, &x, wrong) < 0)
		x = (struct form_fill){ .end = FORM_CANCELLED };
	else if (form_step(&f, said, &x, a, wrong) == OK)
		*wrong = (struct err){ 0 };
	q->field = (int64_t)x.field;
	q->tries = x.tries;
	q->picks = x.picks;
	q->answers = x.answers;
	q->state = ends[x.end];
	if (x.end != FORM_OPEN) {
		q->result = form_result(&f, &x, a);
		q->decided_by = by;
	}
	return store_question_step(tx, q, e);
}
