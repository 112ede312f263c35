/*
 * Redaction of any bytes: shell structure stays, a second pass changes nothing, and values
 * that are known are gone.
 */
#include "text/json.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(str s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == c;
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const char structure[] = ";|&$()<>` \n\t\"'";
	static const str secrets[] = { { "hunter2", 7 }, { "a/b+c:d", 7 } };
	str in = { (const char *)data, size }, out = text_redact(&a, in);

	for (const char *c = structure; *c; c++)
		if (count(in, *c) != count(out, *c))
			abort();
	if (!str_eq(text_redact(&a, out), out))
		abort();
	struct json *v;
	out = text_redact_args(&a, in, secrets, COUNT(secrets));
	if (json_read(&v, &a, in, NULL) == OK && json_read(&v, &a, out, NULL) < 0)
		abort();
	if (!str_eq(text_redact_args(&a, out, secrets, COUNT(secrets)), out))
		abort();
	out = text_redact_values(&a, in, secrets, COUNT(secrets));
	for (size_t i = 0; i < COUNT(secrets); i++)
		if (str_has(out, secrets[i]))
			abort();
	return 0;
}
