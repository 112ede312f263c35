/*
 * Names of tools.  First each gets its plain name; those that cannot have it, because it is
 * too long or because another tool has the better right to it, get one with a hash.
 */
#include "mcp/names.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/utf.h"

#define HASH_DIGITS 8
#define PREFIX_SHORT 40

static bool is_plain(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static str sanitised(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n + 1);

	s = str_trim(s);
	while (s.n) {
		size_t len;

		(void)utf_next(s, &len);
		buf_addc(&b, is_plain((unsigned char)s.p[0]) ? s.p[0] : '_');
		s = str_sub(s, len, s.n);
	}
	if (!b.n)
		buf_addc(&b, '_');
	return buf_str(&b);
}

static str joined(struct arena *a, str prefix, str tool)
{
	bool letter = (prefix.p[0] | 0x20) >= 'a' && (prefix.p[0] | 0x20) <= 'z';

	return arena_fmt(a, "%s%.*s__%.*s", letter || prefix.p[0] == '_' ? "" : "_",
			 STRF(prefix), STRF(tool));
}

/* Over server and tool, which no two tools share; 0xFF is in neither of them. */
static uint32_t hash_of(const struct mcp_named *t, unsigned salt)
{
	uint64_t h = str_hash(str_hash(STR_HASH + salt, t->server), S("\xff"));

	h = str_hash(str_hash(h, t->tool), S("\xff"));
	return (uint32_t)(h ^ (h >> 32));
}

static str hashed(struct arena *a, const struct mcp_named *t, unsigned salt)
{
	str prefix = str_sub(sanitised(a, t->prefix), 0, PREFIX_SHORT);
	str whole = joined(a, prefix, sanitised(a, t->tool));

	return arena_fmt(a, "%.*s_%08x",
			 STRF(str_sub(whole, 0, MCP_NAME_MAX - 1 - HASH_DIGITS)),
			 hash_of(t, salt));
}

/* How many tools want a name, and how many of them are called just that. */
struct want {
	size_t all, exact;
};

static bool is_exact(const struct mcp_named *t, str name)
{
	return name.n == t->prefix.n + 2 + t->tool.n && str_starts(name, t->prefix) &&
	       str_ends(name, t->tool);
}

static struct want *want_of(struct arena *a, struct map *wants, str name)
{
	struct want *w = map_get(wants, name);

	if (!w) {
		w = NEW(a, struct want);
		(void)map_set(wants, a, name, w);
	}
	return w;
}

/* The name is its own: nobody else wants it, or of all that do it alone is called so. */
static bool has_right(const struct mcp_named *t, const struct want *w)
{
	return t->name.n <= MCP_NAME_MAX &&
	       (w->all == 1 || (w->exact == 1 && is_exact(t, t->name)));
}

void mcp_names(struct arena *a, struct mcp_named *v, size_t n)
{
	struct map wants = { 0 }, taken = { 0 };
	bool *right = NEWN(a, bool, n);

	for (size_t i = 0; i < n; i++) {
		struct want *w;

		v[i].name = joined(a, sanitised(a, v[i].prefix), sanitised(a, v[i].tool));
		w = want_of(a, &wants, v[i].name);
		w->all++;
		w->exact += is_exact(&v[i], v[i].name);
	}
	for (size_t i = 0; i < n; i++) {
		right[i] = has_right(&v[i], map_get(&wants, v[i].name));
		if (right[i])
			(void)map_set(&taken, a, v[i].name, &v[i]);
	}
	for (size_t i = 0; i < n; i++) {
		if (right[i])
			continue;
		v[i].name = hashed(a, &v[i], 0);
		/* A hash that is taken: by a tool of that very name, or once in 2^32. */
		for (unsigned salt = 1; map_get(&taken, v[i].name); salt++)
			v[i].name = hashed(a, &v[i], salt);
		(void)map_set(&taken, a, v[i].name, &v[i]);
	}
}

bool mcp_names_pass(const struct str_list *tools, const struct str_list *exclude, str tool)
{
	bool pass = !tools->n;

	for (size_t i = 0; i < tools->n && !pass; i++)
		pass = str_eq(tools->v[i], tool);
	for (size_t i = 0; i < exclude->n && pass; i++)
		pass = !str_eq(exclude->v[i], tool) && !str_glob(exclude->v[i], tool);
	return pass;
}
