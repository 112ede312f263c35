/*
 * PCRE2, in one place.  Its own limit on work starts anew at every place of the text where a
 * match may begin, so the work is counted here: a callout stands before each item of a
 * pattern.
 */
#include "text/regex.h"

#include "base/memory.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define WORK_MAX 60000 /* a few milliseconds */
#define STEP 16 /* bytes that are passed over for the price of an item */
#define DEPTH_MAX 5000
#define HEAP_KIB 4096

static pcre2_code *compile(str pattern, bool dot_all, uint32_t more, struct err *e)
{
	uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
			 PCRE2_NEVER_BACKSLASH_C | (dot_all ? PCRE2_DOTALL : 0) | more;
	PCRE2_SIZE at;
	int code;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)(pattern.p ? pattern.p : ""), pattern.n,
				       flags, &code, &at, NULL);
	char why[128];

	if (re)
		return re;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		memory_out("a regular expression");
	(void)pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
	(void)err_set(e, E_INVAL, "%s, at character %zu", why, (size_t)at + 1);
	return NULL;
}

int regex_check(str pattern, bool dot_all, struct err *e)
{
	pcre2_code *re = compile(pattern, dot_all, 0, e);

	pcre2_code_free(re);
	return re ? OK : E_INVAL;
}

/* A regex is the library's own. */
static pcre2_code *code_of(const struct regex *re)
{
	union {
		const struct regex *in;
		pcre2_code *out;
	} as = { .in = re };

	return as.out;
}

int regex_open(struct regex **out, str pattern, bool dot_all, struct err *e)
{
	pcre2_code *re = compile(pattern, dot_all, PCRE2_AUTO_CALLOUT, e);

	if (!re)
		return E_INVAL;
	*out = (struct regex *)re;
	return OK;
}

void regex_close(struct regex *re)
{
	pcre2_code_free(code_of(re));
}

size_t regex_size(const struct regex *re)
{
	size_t n = 0;

	(void)pcre2_pattern_info(code_of(re), PCRE2_INFO_SIZE, &n);
	return n;
}

struct work {
	size_t done, last, max;
};

static int count(pcre2_callout_block *block, void *arg)
{
	struct work *w = arg;
	size_t at = block->current_position;

	w->done += 1 + (at > w->last ? at - w->last : w->last - at) / STEP;
	w->last = at;
	return w->done > w->max ? PCRE2_ERROR_MATCHLIMIT : 0;
}

/* The library's own, too. */
struct regex_room *regex_room_new(void)
{
	pcre2_match_data *room = pcre2_match_data_create(1, NULL);

	if (!room)
		memory_out("a regular expression");
	return (struct regex_room *)room;
}

void regex_room_free(struct regex_room *room)
{
	pcre2_match_data_free((pcre2_match_data *)room);
}

enum regex_found regex_find(const struct regex *re, struct regex_room *room, str text)
{
	size_t left = WORK_MAX;

	return regex_find_within(re, room, text, &left);
}

enum regex_found regex_find_within(const struct regex *re, struct regex_room *room, str text,
				   size_t *left)
{
	struct work work = { .max = *left < WORK_MAX ? *left : WORK_MAX };
	pcre2_match_context *context = pcre2_match_context_create(NULL);

	if (!context)
		memory_out("a regular expression");
	(void)pcre2_set_callout(context, count, &work);
	(void)pcre2_set_match_limit(context, WORK_MAX);
	(void)pcre2_set_depth_limit(context, DEPTH_MAX);
	(void)pcre2_set_heap_limit(context, HEAP_KIB);
	int rc = pcre2_match(code_of(re), (PCRE2_SPTR)(text.p ? text.p : ""), text.n, 0, 0,
			     (pcre2_match_data *)room, context);
	if (rc == PCRE2_ERROR_NOMEMORY)
		memory_out("a regular expression");
	pcre2_match_context_free(context);
	*left -= work.done < *left ? work.done : *left;
	return rc >= 0 ? REGEX_YES : rc == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_GIVEN_UP;
}
