/*
 * Keys, what they match, and the index of them.  The index says nothing of what is on, so that it
 * stays the same while tools come and go.
 */
#include "tools/dynamic.h"

#include "base/buf.h"

#define INDEX_MAX 16384
#define WORDS                                                                                  \
	"Most tools are switched off to keep requests short. This switches on the tools of "   \
	"up "                                                                                  \
	"to eight prefixes for this chat; they can be called from the next step on. hold: "    \
	"brief "                                                                               \
	"(the default, six hours after the last use) or short (27 hours). Prefixes (number "   \
	"of "                                                                                  \
	"tools):"

static size_t prefix_end(str name)
{
	return str_find(name, S("__"));
}

/* "google__calendar" of google__calendar_list. */
static str family_of(str name)
{
	size_t at = prefix_end(name);

	if (at == SIZE_MAX)
		return S("");
	str rest = str_sub(name, at + 2, name.n);
	size_t end = str_find(rest, S("_"));
	return str_sub(name, 0, at + 2 + (end == SIZE_MAX ? rest.n : end));
}

static bool match(str name, str key)
{
	size_t at = key.n;

	if (key.n == 0 || !str_starts(name, key))
		return false;
	if (name.n == at)
		return true;
	return str_starts(str_sub(name, at, name.n),
			  prefix_end(key) == SIZE_MAX ? S("__") : S("_"));
}

str dynamic_held(str name, const str *keys, size_t n)
{
	str best = S("");

	for (size_t i = 0; i < n; i++)
		if (keys[i].n > best.n && match(name, keys[i]))
			best = keys[i];
	return best;
}

static void count(struct dynamic_key *v, size_t *n, str key)
{
	if (*n == 0 || !str_eq(v[*n - 1].key, key))
		v[(*n)++] = (struct dynamic_key){ .key = key };
	v[*n - 1].tools++;
}

/* The tools of one server stand together, and so do those of a family. */
size_t dynamic_keys(const struct toolset *set, struct arena *a, struct dynamic_key **out)
{
	struct dynamic_key *v = NEWN(a, struct dynamic_key, 2 * set->n + 1);
	struct dynamic_key *families = NEWN(a, struct dynamic_key, set->n + 1);
	size_t n = 0;

	for (size_t i = 0, k; i < set->n; i = k) {
		size_t at = prefix_end(set->v[i].name), m = 0;
		k = i + 1;
		if (at == SIZE_MAX)
			continue;
		str server = str_sub(set->v[i].name, 0, at);
		for (k = i; k < set->n && match(set->v[k].name, server); k++) {
			count(v, &n, server);
			count(families, &m, family_of(set->v[k].name));
		}
		for (size_t f = 0; m > 1 && f < m; f++)
			v[n++] = families[f];
	}
	*out = v;
	return n;
}

void dynamic_gate(struct toolset *set, const str *keys, size_t n, struct arena *a)
{
	bool *off = NEWN(a, bool, set->n + 1);

	for (size_t i = 0; i < set->n; i++)
		off[i] = prefix_end(set->v[i].name) != SIZE_MAX &&
			 dynamic_held(set->v[i].name, keys, n).n == 0;
	set->off = off;
}

str dynamic_index(const struct toolset *set, struct arena *a)
{
	struct buf b = buf_in(a, INDEX_MAX);
	struct dynamic_key *v;
	size_t n = dynamic_keys(set, a, &v);

	buf_add(&b, S(WORDS));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%s %.*s (%zu)", i ? "," : "", STRF(v[i].key), v[i].tools);
	buf_add(&b, n ? S(".") : S(" none."));
	return buf_str(&b);
}
