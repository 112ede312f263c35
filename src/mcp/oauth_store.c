/*
 * One flat JSON object a file, by a table of its members.
 */
#include "mcp/oauth_store.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/wait.h"
#include "text/json.h"
#include "text/sha256.h"

#define STATE_MAX ((size_t)1 << 20)
#define LOCK_MS 10000
#define FILES_MAX 4096
#define LOCK_PAUSE_MS 20
#define NAME_SHOWN 40
#define HASH_SHOWN 16

#define MEMBER(name, number)                                                                   \
	{                                                                                      \
#name, number, offsetof(struct oauth_state, name)                              \
	}

static const struct member {
	const char *name;
	bool number;
	size_t offset;
} members[] = {
	MEMBER(server, false),
	MEMBER(issuer, false),
	MEMBER(resource, false),
	MEMBER(token_endpoint, false),
	MEMBER(client_id, false),
	MEMBER(client_secret, false),
	MEMBER(client_auth, false),
	MEMBER(client_redirect, false),
	MEMBER(client_until_ms, true),
	MEMBER(access, false),
	MEMBER(type, false),
	MEMBER(refresh, false),
	MEMBER(scope, false),
	MEMBER(until_ms, true),
	MEMBER(renewed_ms, true),
	MEMBER(key, false),
	MEMBER(nonce, false),
	MEMBER(wanted_scope, false),
	MEMBER(wanted_metadata, false),
	MEMBER(wanted, true),
	MEMBER(wanted_proof, true),
	MEMBER(pending_state, false),
	MEMBER(pending_verifier, false),
	MEMBER(pending_scope, false),
	MEMBER(pending_device, false),
	MEMBER(pending_until_ms, true),
	MEMBER(pending_iss, true),
	MEMBER(pending_pause_ms, true),
};

str oauth_store_path(struct arena *a, str dir, str name, str url)
{
	str hash = sha256_hex(a, arena_fmt(a, "%.*s\n%.*s", STRF(name), STRF(url)));
	str shown = arena_dup(a, str_sub(name, 0, NAME_SHOWN));
	char *p = (char *)(uintptr_t)shown.p;

	for (size_t i = 0; i < shown.n; i++)
		if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
		      (p[i] >= '0' && p[i] <= '9') || p[i] == '-'))
			p[i] = '_';
	return arena_fmt(a, "%.*s/%.*s-%.*s.json", STRF(dir), STRF(shown),
			 STRF(str_sub(hash, 0, HASH_SHOWN)));
}

void oauth_store_read(struct oauth_state *out, struct arena *a, str path, str url)
{
	struct oauth_state s = { 0 };
	struct json *v;
	str text;

	if (file_read(&text, a, path.p, STATE_MAX, NULL) == OK &&
	    json_read(&v, a, text, NULL) == OK && str_eq(json_str(v, "server"), url)) {
		for (size_t i = 0; i < COUNT(members); i++) {
			void *field = (char *)&s + members[i].offset;

			if (members[i].number)
				*(int64_t *)field = json_i64(v, members[i].name, 0);
			else
				*(str *)field = json_str(v, members[i].name);
		}
	}
	s.server = url;
	*out = s;
}

int oauth_store_write(const struct oauth_state *s, str path, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, STATE_MAX);

	buf_addc(&b, '{');
	for (size_t i = 0; i < COUNT(members); i++) {
		const void *field = (const char *)s + members[i].offset;

		if (members[i].number && *(const int64_t *)field)
			buf_json_member_i64(&b, members[i].name, *(const int64_t *)field);
		else if (!members[i].number && ((const str *)field)->n)
			buf_json_member(&b, members[i].name, *(const str *)field);
	}
	buf_add(&b, S("}\n"));
	if (b.full)
		return err_set(e, E_LIMIT,
			       "what there is to keep of signing in is over %zu "
			       "bytes",
			       STATE_MAX);
	str now = buf_str(&b), was;

	if (file_read(&was, &a, path.p, STATE_MAX, NULL) == OK && str_eq(was, now))
		return OK;
	return file_write_atomic(path.p, now, 0600, e);
}

int oauth_store_remove(str path, struct err *e)
{
	if (unlink(path.p) < 0 && errno != ENOENT)
		return err_sys(e, "remove %.*s", STRF(path));
	return OK;
}

static str folder(struct arena *a, str path, str *name)
{
	str dir = path;

	while (dir.n && dir.p[dir.n - 1] != '/')
		dir.n--;
	*name = str_sub(path, dir.n, path.n);
	return arena_dup(a, dir);
}

/* Whoever died between the new file and its name left a token behind.  Under the lock. */
static void sweep(str path, struct arena *a)
{
	str name, dir = folder(a, path, &name), *names;
	size_t n = 0;

	if (dir_list(&names, &n, a, dir.p, FILES_MAX, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], name) && str_ends(names[i], S(".tmp")))
			(void)unlink(arena_cat(a, dir, names[i]).p);
}

int oauth_store_lock(int *fd, str path, const struct cancel *c, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *lock = arena_fmt(&a, "%.*s.lock", STRF(path)).p;
	int64_t until = clock_mono_ms() + LOCK_MS;
	str name, dir = folder(&a, path, &name);
	int rc = dir_make(dir.p, 0700, e);

	if (rc < 0)
		return rc;
	while ((rc = lock_take(fd, lock, e)) == E_BUSY && clock_mono_ms() < until) {
		int waited = wait_ms(LOCK_PAUSE_MS, c, e);

		if (waited < 0)
			return waited;
	}
	if (rc == OK)
		sweep(path, &a);
	return rc;
}
