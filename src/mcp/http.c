/*
 * The callers' side of a link over HTTP, and what both sides share, under one lock that is held
 * for looks and copies only.
 */
#include "mcp/http_link.h"

#include "os/file.h"
#include "os/thread.h"

#include <string.h>

#define CONNECT_MS 15000
#define HEARD_MAX 256
#define HEARD_BYTES_MAX ((size_t)32 << 20)
#define HEADER_FILE_MAX ((size_t)64 << 10)
#define MIRROR_MAX 72

static void lock(struct mcp_http *h)
{
	(void)pthread_mutex_lock(&h->lock);
}

static void unlock(struct mcp_http *h)
{
	(void)pthread_mutex_unlock(&h->lock);
}

/* ---- what both sides share ------------------------------------------------------------- */

static void copy_place(struct arena *a, struct mcp_place *to, const struct mcp_place *from)
{
	*to = *from;
	to->url = arena_dup(a, from->url);
	to->session = arena_dup(a, from->session);
}

void mcp_http_place(struct mcp_http *h, const struct mcp_place *place)
{
	struct arena fresh = { 0 }, old;
	struct mcp_place copy;

	copy_place(&fresh, &copy, place);
	lock(h);
	old = h->place_arena;
	h->place_arena = fresh;
	h->place = copy;
	h->life++;
	unlock(h);
	arena_free(&old);
}

int64_t mcp_http_where(struct mcp_http *h, struct arena *a, struct mcp_place *place,
		       struct mcp_wire *wire)
{
	int64_t life;

	*wire = (struct mcp_wire){
		.pool = h->pool,
		.auth = h->auth,
		.headers_n = h->headers_n,
		.message_max = h->opt->line_max,
		.connect_ms = CONNECT_MS,
	};
	lock(h);
	copy_place(a, place, &h->place);
	wire->headers = h->shown;
	life = h->life;
	unlock(h);
	return life;
}

void mcp_http_hear(struct mcp_http *h, struct arena *line, const struct mcp_msg *m,
		   int64_t call, int64_t life)
{
	struct mcp_heard *n = NEW(line, struct mcp_heard);
	size_t bytes = line->used;
	bool kept;

	n->m = *m;
	n->call = call;
	lock(h);
	kept = life < 0 || ((!life || life == h->life) && h->heard_n < HEARD_MAX &&
			    h->heard_bytes + bytes <= HEARD_BYTES_MAX);
	if (kept) {
		n->a = *line;
		*h->heard_tail = n;
		h->heard_tail = &n->next;
		h->heard_n++;
		h->heard_bytes += bytes;
		*line = (struct arena){ 0 };
	}
	unlock(h);
	bell_ring(mcp_calls_bell(h->calls));
}

struct mcp_heard *mcp_http_heard(struct mcp_http *h)
{
	struct mcp_heard *list;

	lock(h);
	list = h->heard;
	h->heard = NULL;
	h->heard_tail = &h->heard;
	h->heard_n = h->heard_bytes = 0;
	unlock(h);
	return list;
}

void mcp_http_forget(struct mcp_http *h)
{
	for (struct mcp_heard *n = mcp_http_heard(h), *next; n; n = next) {
		struct arena line = n->a;

		next = n->next;
		arena_free(&line);
	}
}

void mcp_http_mark(struct mcp_http *h, struct arena *a, struct mcp_marked *list)
{
	struct arena old;

	lock(h);
	old = h->marked_arena;
	h->marked_arena = *a;
	h->marked = list;
	unlock(h);
	*a = (struct arena){ 0 };
	arena_free(&old);
}

static struct mcp_mark *marks_of(struct mcp_http *h, struct arena *a, str tool)
{
	struct mcp_mark *marks = NULL;
	const struct mcp_marked *m;

	lock(h);
	for (m = h->marked; m && !str_eq(m->tool, tool);)
		m = m->next;
	if (m)
		marks = mcp_marks_copy(a, m->marks);
	unlock(h);
	return marks;
}

size_t mcp_http_mirror(struct mcp_http *h, struct arena *a, str method,
		       const struct json *params, struct http_header *v, size_t max)
{
	bool tool = str_is(method, "tools/call");
	str name = json_str(params, "name");
	size_t n = 0;

	v[n++] = (struct http_header){ S("Mcp-Method"), mcp_marks_value(a, method) };
	if (str_is(method, "resources/read"))
		name = json_str(params, "uri");
	else if (!tool && !str_is(method, "prompts/get"))
		name = (str){ 0 };
	if (name.n)
		v[n++] = (struct http_header){ S("Mcp-Name"), mcp_marks_value(a, name) };
	if (tool)
		n += mcp_marks_headers(marks_of(h, a, name), a, json_get(params, "arguments"),
				       v + n, max - n);
	return n;
}

void mcp_http_lose(struct mcp_http *h, int64_t life)
{
	lock(h);
	if (h->lost < life)
		h->lost = life;
	unlock(h);
	bell_ring(mcp_calls_bell(h->calls));
}

bool mcp_http_is_lost(struct mcp_http *h)
{
	bool lost;

	lock(h);
	lost = h->lost >= h->life;
	unlock(h);
	return lost;
}

/* ---- headers of the manifest ----------------------------------------------------------- */

/* ${NAME} and ${env:NAME} are what the variable holds. */
static void expand(struct arena *a, const struct env *vars, str s, struct mcp_http_header *out)
{
	struct buf b = buf_in(a, (size_t)1 << 20);
	str before, name;

	while (mcp_http_variable(&s, &before, &name)) {
		str value = str_trim(env_get(vars, arena_cstr(a, name)));

		if (!value.n)
			out->missing = arena_dup(a, name);
		buf_add(&b, before);
		buf_add(&b, value);
	}
	buf_add(&b, s);
	out->value = arena_dup(a, buf_str(&b));
}

static struct mcp_http_header *add_header(struct mcp_http *h, str item)
{
	struct mcp_http_header *out = &h->headers[h->headers_n++];

	out->name = str_cut(&item, '=');
	out->value = item;
	return out;
}

static void find_headers(struct mcp_http *h, const struct env *vars)
{
	const struct mcp_http_cfg *cfg = &h->opt->server->http;
	size_t n = cfg->headers.n + cfg->headers_env.n + cfg->headers_file.n;

	h->headers = NEWN(&h->a, struct mcp_http_header, n);
	for (size_t i = 0; i < cfg->headers.n; i++) {
		struct mcp_http_header *v = add_header(h, cfg->headers.v[i]);

		expand(&h->a, vars, v->value, v);
	}
	for (size_t i = 0; i < cfg->headers_env.n; i++) {
		struct mcp_http_header *v = add_header(h, cfg->headers_env.v[i]);
		str name = v->value;

		v->value = arena_dup(&h->a, str_trim(env_get(vars, arena_cstr(&h->a, name))));
		v->missing = v->value.n ? (str){ 0 } : name;
	}
	for (size_t i = 0; i < cfg->headers_file.n; i++)
		add_header(h, cfg->headers_file.v[i])->file = true;
}

/* What stands in a header is nobody's business, and what a server says back of it neither. */
static void find_secrets(struct mcp_http *h)
{
	str *v = NEWN(&h->a, str, h->opt->secrets_n + h->headers_n);

	for (size_t i = 0; i < h->opt->secrets_n; i++)
		v[h->secrets_n++] = h->opt->secrets[i];
	for (size_t i = 0; i < h->headers_n; i++)
		if (!h->headers[i].file && h->headers[i].value.n >= 8)
			v[h->secrets_n++] = h->headers[i].value;
	h->secrets = v;
}

static int read_header(const struct mcp_http_header *v, struct arena *a, str *out,
		       struct err *e)
{
	int rc;

	if (v->missing.n)
		return err_set(e, E_DENIED,
			       "the variable %.*s for the header %.*s is not set or empty",
			       STRF(v->missing), STRF(v->name));
	*out = v->value;
	if (!v->file)
		return OK;
	rc = file_read(out, a, arena_cstr(a, v->value), HEADER_FILE_MAX, e);
	if (rc < 0)
		return err_wrap(e, E_DENIED, "the header %.*s", STRF(v->name));
	*out = str_trim(*out);
	for (size_t i = 0; i < out->n; i++)
		if ((unsigned char)out->p[i] < 0x20)
			return err_set(e, E_DENIED,
				       "the header %.*s: %.*s has more than one line",
				       STRF(v->name), STRF(v->value));
	return OK;
}

static bool same_headers(const struct http_header *x, const struct http_header *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!x || !str_eq(x[i].value, y[i].value))
			return false;
	return true;
}

int mcp_http_headers(struct mcp_http *h, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct http_header *now = NEWN(&a, struct http_header, h->headers_n), *kept;

	for (size_t i = 0; i < h->headers_n; i++) {
		int rc = read_header(&h->headers[i], &a, &now[i].value, e);

		if (rc < 0)
			return rc;
		now[i].name = h->headers[i].name;
	}
	if (same_headers(h->shown, now, h->headers_n))
		return OK;
	/* Callers may look at the old ones for a while. */
	kept = NEWN(&h->a, struct http_header, h->headers_n);
	for (size_t i = 0; i < h->headers_n; i++) {
		kept[i].name = now[i].name;
		kept[i].value = arena_dup(&h->a, now[i].value);
	}
	lock(h);
	h->shown = kept;
	unlock(h);
	return OK;
}

/* ---- a caller's request ---------------------------------------------------------------- */

struct errand {
	struct mcp_http *h;
	struct mcp_load *load;
	int64_t life;
};

static bool is_progress(const struct errand *r, const struct mcp_msg *m)
{
	int64_t id;

	return m->kind == MCP_NOTICE && str_eq(m->method, S("notifications/progress")) &&
	       mcp_rpc_own_id(json_get(m->params, "progressToken"), &id) &&
	       id == r->load->frame->id;
}

static int on_message(void *arg, struct arena *line, const struct mcp_msg *m, struct err *e)
{
	struct errand *r = arg;
	struct mcp_event ev = { .result = m->result, .error = m->error };
	bool progress = is_progress(r, m);

	(void)e;
	if (m->kind == MCP_ANSWER && mcp_rpc_own_id(m->id, &ev.id) &&
	    ev.id == r->load->frame->id) {
		mcp_calls_answer(r->h->calls, &ev, line);
		return 2;
	}
	/* An answer to something else has no business here, and a question of a session that is
	 * over would be answered to another one. */
	if (m->kind == MCP_REQUEST || m->kind == MCP_NOTICE)
		mcp_http_hear(r->h, line, m, r->load->frame->id,
			      m->kind == MCP_REQUEST ? r->life : 0);
	return progress;
}

static int on_wake(void *arg, struct err *e)
{
	const struct errand *r = arg;

	return r->load->serve(r->load->arg, e);
}

static int carry(void *arg, struct mcp_load *load, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct errand r = { .h = arg, .load = load };
	struct mcp_place place;
	struct mcp_wire wire;
	struct http_header mirror[MIRROR_MAX];
	struct json *params = NULL;
	struct mcp_told told;
	size_t mirror_n = 0;
	int rc;

	r.life = mcp_http_where(r.h, &a, &place, &wire);
	if (!place.resumes && json_read(&params, &a, load->params, NULL) == OK)
		mirror_n = mcp_http_mirror(r.h, &a, str_of(load->method), params, mirror,
					   MIRROR_MAX);
	const struct mcp_talk t = {
		.wire = &wire,
		.at = &place,
		.label = load->method,
		.body = load->frame->text,
		.headers = mirror,
		.headers_n = mirror_n,
		.asks = true,
		.acts = str_is(str_of(load->method), "tools/call"),
		.call_ms = load->limit->call_ms,
		.max_ms = load->limit->max_ms,
		.ears = { .on_message = on_message,
			  .on_wake = on_wake,
			  .wake = load->bell,
			  .arg = &r },
	};
	rc = mcp_talk_post(&t, &a, &told, load->cancel, e);
	load->not_run = told.not_run;
	if (rc < 0 && told.lost) {
		mcp_http_lose(r.h, r.life);
		load->again = told.not_run;
	}
	return rc;
}

/* ---- new and free ---------------------------------------------------------------------- */

static int open_pool(struct mcp_http *h, const struct config *config, struct err *e)
{
	const struct mcp_http_cfg *cfg = &h->opt->server->http;
	const struct http_cfg *all = &config->http;
	bool own = cfg->proxy.n > 0;
	const char *proxy = arena_cstr(&h->a, str_is(cfg->proxy, "none") ? S("") : cfg->proxy);

	return http_pool_open(
		&h->pool,
		&(struct http_opt){
			.ca_file = cfg->ca.n ? arena_cstr(&h->a, cfg->ca) : all->ca_file.p,
			.http_proxy = own ? proxy : all->http_proxy.p,
			.https_proxy = own ? proxy : all->https_proxy.p,
			.all_proxy = own ? "" : all->all_proxy.p,
			.no_proxy = own ? "" : all->no_proxy.p,
		},
		e);
}

int mcp_http_new(struct mcp_http **out, const struct mcp_link_opt *opt,
		 const struct config *config, const struct env *vars, struct err *e)
{
	struct arena a = { 0 };
	struct mcp_http *h = NEW(&a, struct mcp_http);
	int rc;

	h->a = a;
	h->opt = opt;
	h->calls = opt->calls;
	h->carrier = (struct mcp_carrier){ carry, h };
	h->heard_tail = &h->heard;
	(void)pthread_mutex_init(&h->lock, NULL);
	find_headers(h, vars);
	find_secrets(h);
	rc = open_pool(h, config, e);
	if (rc == OK)
		rc = mcp_auth_new(&h->auth,
				  &(struct mcp_auth_opt){ .server = opt->server,
							  .config = config,
							  .env = vars },
				  e);
	if (rc < 0) {
		mcp_http_free(h);
		return rc;
	}
	*out = h;
	return OK;
}

void mcp_http_free(struct mcp_http *h)
{
	struct arena a;

	if (!h)
		return;
	mcp_http_forget(h);
	mcp_auth_free(h->auth);
	http_pool_close(h->pool);
	arena_free(&h->place_arena);
	arena_free(&h->marked_arena);
	(void)pthread_mutex_destroy(&h->lock);
	a = h->a;
	arena_free(&a);
}
