/*
 * Where a reference of a schema leads: to a place in the same document, by pointer, anchor or
 * $id.  What would have to be fetched leads nowhere.
 */
#include "text/schema_parts.h"

#define SEARCH_MAX 64 /* levels */
#define FOLLOW_WORK 4000

/* A step of a pointer as it is meant: %XX, then ~1 and ~0. */
static str step_name(struct arena *a, str s)
{
	struct buf b = buf_in(a, s.n + 1);

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '%' && i + 2 < s.n && str_hex(s.p[i + 1]) >= 0 &&
		    str_hex(s.p[i + 2]) >= 0) {
			buf_addc(&b, (char)(str_hex(s.p[i + 1]) * 16 + str_hex(s.p[i + 2])));
			i += 2;
		} else {
			buf_addc(&b, s.p[i]);
		}
	}
	s = buf_str(&b);
	if (!memchr(s.p, '~', s.n))
		return s;
	b = buf_in(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		bool escape = s.p[i] == '~' && i + 1 < s.n &&
			      (s.p[i + 1] == '0' || s.p[i + 1] == '1');
		buf_addc(&b, !escape ? s.p[i] : s.p[i + 1] == '1' ? '/' : '~');
		i += escape;
	}
	return buf_str(&b);
}

bool schema_is_resource(const struct schema_run *k, const struct json *v)
{
	str id = json_str(v, "$id");

	return id.n && id.p[0] != '#' && !(k->old && json_get(v, "$ref"));
}

static const struct json *by_pointer(struct schema_run *k, str pointer,
				     const struct json **base)
{
	const struct json *v = *base;

	(void)str_cut(&pointer, '/');
	/* An empty last step is one too. */
	for (bool more = true; more && v;) {
		size_t slash = str_find(pointer, S("/"));
		str raw = str_sub(pointer, 0, slash);
		int64_t i;

		more = slash != SIZE_MAX;
		pointer = more ? str_sub(pointer, slash + 1, pointer.n) : S("");
		if (!schema_spend(k, 1 + v->n / 8 + raw.n / 64))
			return NULL;
		str step = step_name(k->a, raw);
		if (json_is(v, JSON_ARRAY))
			v = str_i64(step, &i) && i >= 0 ? json_at(v, (size_t)i) : NULL;
		else
			v = schema_member(k, v, step);
		if (v && schema_is_resource(k, v) && more)
			*base = v;
	}
	return v;
}

/* Values among schemas, in which "$id" is nothing. */
static bool data(str key)
{
	return str_is(key, "enum") || str_is(key, "const") || str_is(key, "default") ||
	       str_is(key, "examples");
}

/* An anchor below v, in the same resource. */
static const struct json *by_anchor(struct schema_run *k, const struct json *v, str name,
				    bool dynamic, int depth)
{
	if (depth > SEARCH_MAX || !schema_spend(k, 1 + v->n / 8 + name.n / 1024))
		return NULL;
	if (json_is(v, JSON_OBJECT)) {
		str id = json_str(v, "$id");
		if (depth && schema_is_resource(k, v))
			return NULL;
		if (str_eq(json_str(v, "$dynamicAnchor"), name) ||
		    (!dynamic &&
		     (str_eq(json_str(v, "$anchor"), name) ||
		      (str_starts(id, S("#")) && str_eq(str_sub(id, 1, id.n), name)))))
			return v;
	} else if (!json_is(v, JSON_ARRAY)) {
		return NULL;
	}
	for (const struct json *m = v->child; m; m = m->next) {
		const struct json *found =
			data(m->key) ? NULL : by_anchor(k, m, name, dynamic, depth + 1);
		if (found)
			return found;
	}
	return NULL;
}

/* A reference as it stands in a document called base. */
static str join(struct schema_run *k, str base, str ref)
{
	size_t scheme = str_find(ref, S(":")), slash = str_find(ref, S("/"));
	size_t host = str_find(base, S("://")), end = 0;

	if (!ref.n || !schema_spend(k, (base.n + ref.n) / 64))
		return base;
	if ((scheme != SIZE_MAX && scheme < slash) || !base.n)
		return ref;
	host = host == SIZE_MAX ? 0 : host + 3;
	if (ref.p[0] == '/') {
		end = str_find(str_sub(base, host, base.n), S("/"));
		end = end == SIZE_MAX ? base.n : host + end;
	} else {
		for (size_t i = host; i < base.n; i++)
			if (base.p[i] == '/')
				end = i + 1;
	}
	return arena_cat(k->a, str_sub(base, 0, end), ref);
}

static str without_fragment(str s)
{
	return str_sub(s, 0, str_find(s, S("#")));
}

/* The resource below v that is called so; base is the name of what v is in. */
static const struct json *by_id(struct schema_run *k, const struct json *v, str base,
				str wanted, int depth)
{
	if (depth > SEARCH_MAX || !schema_spend(k, 1 + v->n / 8) ||
	    (!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY)))
		return NULL;
	if (schema_is_resource(k, v)) {
		base = join(k, base, without_fragment(json_str(v, "$id")));
		if (str_eq(base, wanted))
			return v;
	}
	for (const struct json *m = v->child; m; m = m->next) {
		const struct json *found =
			data(m->key) ? NULL : by_id(k, m, base, wanted, depth + 1);
		if (found)
			return found;
	}
	return NULL;
}

/* What the resource v is called in full.  The names of those around it are not looked for but in
 * the document's own. */
static str name_of(struct schema_run *k, const struct json *v)
{
	str root = without_fragment(json_str(k->root, "$id"));

	return v == k->root ? root : join(k, root, without_fragment(json_str(v, "$id")));
}

const struct json *schema_resolve(struct schema_run *k, str ref, const struct json **base)
{
	str name = without_fragment(ref), fragment = str_sub(ref, name.n + 1, ref.n);

	if (!schema_spend(k, ref.n / 64))
		return NULL;
	if (name.n) {
		const struct json *r =
			by_id(k, k->root, S(""), join(k, name_of(k, k->base), name), 0);
		if (!r)
			return NULL;
		*base = r;
	}
	if (!fragment.n)
		return *base;
	if (fragment.p[0] == '/')
		return by_pointer(k, fragment, base);
	return by_anchor(k, *base, fragment, false, 0);
}

const struct json *schema_resolve_dynamic(struct schema_run *k, str ref,
					  const struct json **base)
{
	const struct json *found = schema_resolve(k, ref, base), *outer;
	size_t hash = str_find(ref, S("#"));
	str anchor = str_sub(ref, hash == SIZE_MAX ? ref.n : hash + 1, ref.n);

	if (!found || !anchor.n || !str_eq(json_str(found, "$dynamicAnchor"), anchor))
		return found;
	for (const struct schema_scope *s = k->scope; s; s = s->up) {
		outer = by_anchor(k, s->resource, anchor, true, 0);
		if (outer) {
			found = outer;
			*base = s->resource;
		}
	}
	return found;
}

const struct json *schema_resolve_recursive(struct schema_run *k, str ref,
					    const struct json **base)
{
	const struct json *found = schema_resolve(k, ref, base);

	if (!found || found != *base || !json_bool(found, "$recursiveAnchor", false))
		return found;
	for (const struct schema_scope *s = k->scope; s; s = s->up)
		if (json_bool(s->resource, "$recursiveAnchor", false))
			found = *base = s->resource;
	return found;
}

const struct json *schema_follow(const struct json *root, str ref, struct arena *a)
{
	struct schema_run k = { .root = root, .base = root, .a = a, .left = FOLLOW_WORK };
	const struct json *base = root;

	return schema_resolve(&k, ref, &base);
}
