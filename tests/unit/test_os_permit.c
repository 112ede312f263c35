/*
 * Permits: one holder at a time, and a wait that ends when told to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/permit.h"
#include "os/thread.h"

struct shared {
	struct permit p;
	long n; /* plain: ThreadSanitizer sees it when the permit does not order */
};

static void *count(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < 2000; i++) {
		if (permit_take(&s->p, NULL, NULL) < 0)
			break;
		s->n++;
		permit_give(&s->p);
	}
	return NULL;
}

static void one_thread_holds_it_at_a_time(void **state)
{
	struct shared s = { 0 };
	struct thread t[4] = { 0 };

	assert_int_equal(permit_init(&s.p, NULL), OK);
	for (size_t i = 0; i < COUNT(t); i++)
		assert_int_equal(thread_start(&t[i], "count", count, &s, NULL), OK);
	for (size_t i = 0; i < COUNT(t); i++)
		thread_join(&t[i]);
	assert_int_equal(s.n, 8000);
	permit_done(&s.p);
}

static void a_taken_permit_is_waited_for_until_cancelled(void **state)
{
	struct permit p;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };

	assert_int_equal(permit_init(&p, NULL), OK);
	assert_true(permit_try(&p));
	assert_false(permit_try(&p));
	assert_int_equal(cancel_init(&c, NULL, 20, NULL), OK);
	assert_int_equal(permit_take(&p, &c, NULL), E_TIMEOUT);
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(permit_take(&p, &c, NULL), E_CANCELED);
	permit_give(&p);
	assert_int_equal(permit_take(&p, NULL, NULL), OK);
	permit_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_holds_it_at_a_time),
		cmocka_unit_test(a_taken_permit_is_waited_for_until_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
