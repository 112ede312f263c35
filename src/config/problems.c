/*
 * Collecting what is wrong, a line each.
 */
#include "config/problems.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/yaml.h"
#include "text/text.h"

void problems_init(struct problems *p, struct arena *a, str file)
{
	*p = (struct problems){ .text = buf_in(a, 64 * 1024), .file = file };
}

void problem_add(struct problems *p, const struct yaml *at, str name, const char *fmt, ...)
{
	char sentence[512];
	va_list ap;

	if (p->n++ >= PROBLEMS_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (at)
		buf_fmt(&p->text, "%.*s:%d:%d: ", STRF(p->file), at->line, at->column);
	if (name.n)
		buf_fmt(&p->text, "%.*s: ", STRF(text_line(p->text.a, name, 120)));
	buf_add(&p->text, text_visible(p->text.a, str_of(sentence), true));
	buf_addc(&p->text, '\n');
}
