/*
 * What a server asks of a person: any parameters are refused or a form, which is kept and read back
 * as the same; whatever is typed and pressed then, what goes to the server is JSON, and when it was
 * accepted each of its values fits its field.
 *
 * The first line are the parameters, each further one a step: its first byte says which.
 */
#include "text/form.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf.h"

#define BLOCK_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct form_said said_of(str line)
{
	static const char how[] = "todsanc";
	const char *at = line.n ? memchr(how, line.p[0], sizeof(how) - 1) : NULL;
	struct form_said said = { .text = str_sub(line, 1, line.n) };

	said.what = at ? at - how : FORM_SAY_TEXT;
	if (said.what == FORM_SAY_OPTION && line.n > 1)
		said.option = (unsigned char)line.p[1] - '0';
	return said;
}

static void check_texts(const struct form *f, struct arena *a)
{
	if (f->n > FORM_FIELDS || (f->link && f->n) || !utf_valid(f->message))
		abort();
	if (f->link && !utf_valid(form_link(f, a)))
		abort();
	for (size_t i = 0; i < f->n; i++) {
		str block = form_block(f, i, true, a);

		if (!block.n || block.n > BLOCK_MAX || !utf_valid(block) ||
		    f->fields[i].options_n > FORM_OPTIONS)
			abort();
	}
}

static void check_kept(const struct form *f, const struct json *params, struct arena *a)
{
	struct json *kept;
	struct form again;
	struct err e = { 0 };
	str text;

	if (form_keep(params, a, &text, &e) < 0)
		return;
	if (json_read(&kept, a, text, &e) < 0 || form_read(&again, kept, a, &e) < 0 ||
	    again.n != f->n || again.link != f->link)
		abort();
}

static void check_result(const struct form *f, const struct form_fill *x, struct arena *a)
{
	struct json *result;
	struct err e = { 0 };
	const struct json *content;
	str text = form_result(f, x, a);

	if (json_read(&result, a, text, &e) < 0 || memchr(text.p, '\n', text.n) ||
	    !json_str(result, "action").n)
		abort();
	content = json_get(result, "content");
	if ((x->end != FORM_ACCEPTED || f->link) && content && content->child)
		abort();
	for (size_t i = 0; x->end == FORM_ACCEPTED && i < f->n; i++) {
		const struct json *v = json_get(content, arena_cstr(a, f->fields[i].name));

		if (memchr(f->fields[i].name.n ? f->fields[i].name.p : "", 0,
			   f->fields[i].name.n))
			continue; /* no text of C */
		if (!v ? f->fields[i].required : form_fits(&f->fields[i], v, a, &e) < 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size }, first = str_cut(&in, '\n');
	struct form_fill x = { 0 };
	struct json *params;
	struct form f;
	struct err e = { 0 };

	if (json_read(&params, &a, first, &e) < 0)
		return 0;
	e.msg[0] = 0;
	if (form_read(&f, params, &a, &e) < 0) {
		if (!e.msg[0])
			abort();
		return 0;
	}
	check_texts(&f, &a);
	check_kept(&f, params, &a);
	while (in.n && x.end == FORM_OPEN) {
		struct form_said said = said_of(utf_repair(&a, str_cut(&in, '\n')));

		e.msg[0] = 0;
		if (form_step(&f, &said, &x, &a, &e) < 0 && (!e.msg[0] || strchr(e.msg, '\n')))
			abort();
		if (x.field > f.n || x.tries > FORM_TRIES)
			abort();
	}
	check_result(&f, &x, &a);
	return 0;
}
