/*
 * PCRE2, in one place.
 */
#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

int regex_check(str pattern, bool dot_all, struct err *e)
{
	uint32_t flags = PCRE2_UTF | (dot_all ? PCRE2_DOTALL : 0);
	PCRE2_SIZE at;
	int code;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)(pattern.p ? pattern.p : ""), pattern.n,
				       flags, &code, &at, NULL);
	char why[128];

	if (re) {
		pcre2_code_free(re);
		return OK;
	}
	(void)pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
	return err_set(e, E_INVAL, "%s, at character %zu", why, (size_t)at + 1);
}
