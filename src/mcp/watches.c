/*
 * The set of watched resources, under a lock of its own, which is held for looks and copies.
 */
#include "mcp/watches.h"

#include "os/thread.h"

#define URI_MAX 4096

struct mcp_watches {
	struct arena a; /* owns this */
	struct bell bell;
	pthread_mutex_t lock;
	/* Under the lock: */
	struct arena uris_arena;
	str *uris; /* MCP_WATCHES_MAX */
	size_t n;
};

int mcp_watches_new(struct mcp_watches **out, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_watches *w = NEW(&a, struct mcp_watches);
	int rc = bell_init(&w->bell, e);

	if (rc < 0) {
		arena_free(&a);
		return rc;
	}
	(void)pthread_mutex_init(&w->lock, NULL);
	w->a = a;
	*out = w;
	return OK;
}

void mcp_watches_free(struct mcp_watches *w)
{
	struct arena a;

	if (!w)
		return;
	bell_done(&w->bell);
	(void)pthread_mutex_destroy(&w->lock);
	arena_free(&w->uris_arena);
	a = w->a;
	arena_free(&a);
}

/* Replace the set by itself with uri and without gone, of which one is empty. */
static void renew(struct mcp_watches *w, str uri, str gone)
{
	struct arena fresh = { 0 };
	str *v = NEWN(&fresh, str, w->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		if (!str_eq(w->uris[i], gone))
			v[n++] = arena_dup(&fresh, w->uris[i]);
	if (uri.n)
		v[n++] = arena_dup(&fresh, uri);
	arena_free(&w->uris_arena);
	w->uris_arena = fresh;
	w->uris = v;
	w->n = n;
	bell_ring(&w->bell);
}

static bool has(const struct mcp_watches *w, str uri)
{
	for (size_t i = 0; i < w->n; i++)
		if (str_eq(w->uris[i], uri))
			return true;
	return false;
}

int mcp_watches_add(struct mcp_watches *w, str uri, struct err *e)
{
	int rc = OK;

	if (!uri.n || uri.n > URI_MAX)
		return err_set(e, E_LIMIT, "the URI of a resource has 1 to %d bytes", URI_MAX);
	(void)pthread_mutex_lock(&w->lock);
	if (!has(w, uri) && w->n == MCP_WATCHES_MAX)
		rc = err_set(e, E_LIMIT, "more than %d resources of one server are watched",
			     MCP_WATCHES_MAX);
	else if (!has(w, uri))
		renew(w, uri, (str){ 0 });
	(void)pthread_mutex_unlock(&w->lock);
	return rc;
}

void mcp_watches_remove(struct mcp_watches *w, str uri)
{
	(void)pthread_mutex_lock(&w->lock);
	if (has(w, uri))
		renew(w, (str){ 0 }, uri);
	(void)pthread_mutex_unlock(&w->lock);
}

size_t mcp_watches_copy(struct mcp_watches *w, struct arena *a, str **uris)
{
	size_t n;

	(void)pthread_mutex_lock(&w->lock);
	n = w->n;
	*uris = NEWN(a, str, n);
	for (size_t i = 0; i < n; i++)
		(*uris)[i] = arena_dup(a, w->uris[i]);
	(void)pthread_mutex_unlock(&w->lock);
	return n;
}

const struct bell *mcp_watches_bell(const struct mcp_watches *w)
{
	return &w->bell;
}
