/*
 * Threads that take turns, on stacks of their own; time; random bytes; and HTTP.
 */
#include "stage.h"

#include "base/buf.h"
#include "os/clock.h"
#include "os/seam.h"
#include "os/thread.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define FIBERS 48
#define STACK ((size_t)2 << 20)
#define START_MS INT64_C(1800000000000)

void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);

struct fiber {
	ucontext_t ctx;
	void *stack, *save;
	void *(*fn)(void *arg);
	void *arg;
	bool used, over;
	/* What it waits for: */
	struct pollfd *fds;
	nfds_t n;
	int64_t wake_ms;
	const struct fiber *joins;
};

static struct {
	const uint8_t *p;
	size_t n;
	int64_t mono_ms, wall_ms;
	uint64_t random;
	struct fiber fibers[FIBERS];
	struct fiber *running; /* NULL: the fuzzer itself */
	ucontext_t home;
	void *home_save;
	const void *home_stack;
	size_t home_size;
	struct stage_request *requests;
	int64_t requests_n;
	void (*on_request)(void *arg, struct stage_request *r);
	void *on_request_arg;
} stage;

/* --- the bytes ------------------------------------------------------------------------ */

bool stage_more(void)
{
	return stage.n > 0;
}

unsigned stage_byte(void)
{
	if (!stage.n)
		return 0;
	stage.n--;
	return *stage.p++;
}

unsigned stage_below(unsigned n)
{
	return stage_byte() % n;
}

str stage_text(size_t max)
{
	size_t n = stage_byte();
	str out;

	n = n > max ? max : n;
	n = n > stage.n ? stage.n : n;
	out = (str){ (const char *)stage.p, n };
	stage.p += n;
	stage.n -= n;
	return out;
}

/* --- time and chance ------------------------------------------------------------------ */

int seam_clock(clockid_t id, struct timespec *out)
{
	int64_t ms = stage.mono_ms + (id == CLOCK_REALTIME ? stage.wall_ms : 0);

	*out = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	return 0;
}

int seam_slice(int ms)
{
	return ms;
}

ssize_t getrandom(void *out, size_t n, unsigned flags)
{
	unsigned char *p = out;

	(void)flags;
	for (size_t i = 0; i < n; i++) {
		stage.random = stage.random * 6364136223846793005u + 1442695040888963407u;
		p[i] = (unsigned char)(stage.random >> 33);
	}
	return (ssize_t)n;
}

void stage_set_clock(int64_t by_ms)
{
	stage.wall_ms += by_ms;
}

/* --- threads -------------------------------------------------------------------------- */

static int look(struct pollfd *fds, nfds_t n)
{
	return (int)syscall(SYS_poll, fds, n, 0);
}

static void entry(void)
{
	struct fiber *f = stage.running;

	__sanitizer_finish_switch_fiber(NULL, &stage.home_stack, &stage.home_size);
	(void)f->fn(f->arg);
	f->over = true;
	__sanitizer_start_switch_fiber(NULL, stage.home_stack, stage.home_size);
	(void)swapcontext(&f->ctx, &stage.home);
}

static void go_on(struct fiber *f)
{
	stage.running = f;
	__sanitizer_start_switch_fiber(&stage.home_save, f->stack, STACK);
	(void)swapcontext(&stage.home, &f->ctx);
	__sanitizer_finish_switch_fiber(stage.home_save, NULL, NULL);
	stage.running = NULL;
}

static void give_way(struct fiber *f)
{
	__sanitizer_start_switch_fiber(&f->save, stage.home_stack, stage.home_size);
	(void)swapcontext(&f->ctx, &stage.home);
	__sanitizer_finish_switch_fiber(f->save, &stage.home_stack, &stage.home_size);
}

static bool ready(struct fiber *f)
{
	if (!f->used || f->over)
		return false;
	if (f->joins)
		return f->joins->over;
	return stage.mono_ms >= f->wake_ms || look(f->fds, f->n) > 0;
}

/* Run each that has something to do once. */
static bool step(void)
{
	bool any = false;

	must(!stage.running);
	for (size_t i = 0; i < FIBERS; i++)
		if (ready(&stage.fibers[i])) {
			go_on(&stage.fibers[i]);
			any = true;
		}
	return any;
}

static int64_t next_wake(void)
{
	int64_t at = INT64_MAX;

	for (size_t i = 0; i < FIBERS; i++) {
		const struct fiber *f = &stage.fibers[i];
		if (f->used && !f->over && !f->joins && f->wake_ms < at)
			at = f->wake_ms;
	}
	return at;
}

void stage_settle(void)
{
	while (step())
		;
}

void stage_pass(int64_t ms)
{
	int64_t end = stage.mono_ms + ms, at;

	stage_settle();
	while ((at = next_wake()) <= end) {
		stage.mono_ms = at > stage.mono_ms ? at : stage.mono_ms;
		stage_settle();
	}
	stage.mono_ms = end > stage.mono_ms ? end : stage.mono_ms;
}

/* The fuzzer itself waits: the others run meanwhile, and time passes if it has to. */
static void run_on(int64_t until_ms)
{
	int64_t at;

	if (step())
		return;
	at = next_wake();
	at = until_ms < at ? until_ms : at;
	if (at == INT64_MAX) {
		(void)fprintf(stderr, "stage: everybody waits for ever\n");
		abort();
	}
	stage.mono_ms = at > stage.mono_ms ? at : stage.mono_ms;
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	int64_t until = ms < 0 ? INT64_MAX : stage.mono_ms + ms;
	struct fiber *f = stage.running;
	int got = look(fds, n);

	if (got != 0 || ms == 0)
		return got;
	if (f) {
		f->fds = fds;
		f->n = n;
		f->wake_ms = until;
		give_way(f);
		return look(fds, n);
	}
	while ((got = look(fds, n)) == 0 && stage.mono_ms < until)
		run_on(until);
	return got;
}

int thread_start(struct thread *t, const char *name, void *(*fn)(void *), void *arg,
		 struct err *e)
{
	struct fiber *f = stage.fibers;

	(void)name;
	(void)e;
	while (f->used)
		must(++f < stage.fibers + FIBERS);
	if (!f->stack)
		f->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(f->stack != MAP_FAILED && getcontext(&f->ctx) == 0);
	f->fn = fn;
	f->arg = arg;
	f->used = true;
	f->over = false;
	f->joins = NULL;
	f->n = 0;
	f->wake_ms = 0;
	f->ctx.uc_stack.ss_sp = f->stack;
	f->ctx.uc_stack.ss_size = STACK;
	f->ctx.uc_link = NULL;
	makecontext(&f->ctx, entry, 0);
	t->id = (pthread_t)(f - stage.fibers);
	t->running = true;
	return OK;
}

void thread_join(struct thread *t)
{
	struct fiber *f;

	if (!t->running)
		return;
	f = &stage.fibers[t->id];
	if (stage.running && !f->over) {
		stage.running->joins = f;
		give_way(stage.running);
		stage.running->joins = NULL;
	}
	while (!f->over)
		run_on(INT64_MAX);
	f->used = false;
	t->running = false;
}

/* --- a run ---------------------------------------------------------------------------- */

void stage_begin(const uint8_t *data, size_t size)
{
	(void)signal(SIGPIPE, SIG_IGN);
	stage.p = data;
	stage.n = size;
	stage.mono_ms = 1000000;
	stage.wall_ms = START_MS;
	stage.random = 1;
	stage.requests_n = 0;
}

void stage_end(void)
{
	for (size_t i = 0; i < FIBERS; i++)
		must(!stage.fibers[i].used);
	must(!stage.requests);
	stage.on_request = NULL;
}

/* --- HTTP ------------------------------------------------------------------------------ */

#define HEADERS 16
#define BODY_MAX ((size_t)16 << 20)

struct stage_news {
	struct stage_news *next;
	enum { NEWS_HEAD, NEWS_DATA, NEWS_END, NEWS_FAIL } kind;
	int code; /* the status, or why it failed */
	bool sent;
	struct arena a;
	struct http_header headers[HEADERS];
	size_t headers_n;
	str bytes;
};

struct http_pool {
	int unused;
};

struct http {
	int unused;
};

/* What is known of an answer that is being read. */
struct reading {
	struct stage_request *r;
	struct arena *a;
	struct http_resp *out;
	struct buf body;
	int64_t since_ms, progress_ms, linger_ms; /* linger 0: not */
	bool progressed, over;
};

static void tell(struct stage_request *r, struct stage_news *news)
{
	if (r->last)
		r->last->next = news;
	else
		r->first = news;
	r->last = news;
	bell_ring(&r->bell);
}

static struct stage_news *news_of(int kind)
{
	struct stage_news *n = calloc(1, sizeof *n);

	must(n);
	n->kind = kind;
	return n;
}

static void news_free(struct stage_news *n)
{
	arena_free(&n->a);
	free(n);
}

struct stage_request *stage_requests(void)
{
	return stage.requests;
}

bool stage_is_open(int64_t n)
{
	for (const struct stage_request *r = stage.requests; r; r = r->next)
		if (r->n == n)
			return true;
	return false;
}

void stage_on_request(void (*fn)(void *arg, struct stage_request *r), void *arg)
{
	stage.on_request = fn;
	stage.on_request_arg = arg;
}

void stage_head(struct stage_request *r, int status, const struct stage_header *v, size_t n)
{
	struct stage_news *x = news_of(NEWS_HEAD);

	must(n <= HEADERS && !r->headed && !r->ended);
	r->headed = true;
	x->code = status;
	for (size_t i = 0; i < n; i++)
		x->headers[x->headers_n++] =
			(struct http_header){ arena_dup(&x->a, str_of(v[i].name)),
					      arena_dup(&x->a, v[i].value) };
	tell(r, x);
}

void stage_data(struct stage_request *r, str bytes)
{
	struct stage_news *x = news_of(NEWS_DATA);

	must(r->headed && !r->ended);
	x->bytes = arena_dup(&x->a, bytes);
	tell(r, x);
}

void stage_close(struct stage_request *r)
{
	must(r->headed && !r->ended);
	r->ended = true;
	tell(r, news_of(NEWS_END));
}

void stage_answer(struct stage_request *r, int status, str body)
{
	stage_head(r, status, NULL, 0);
	stage_data(r, body);
	stage_close(r);
}

void stage_fail(struct stage_request *r, int code, bool sent)
{
	struct stage_news *x = news_of(NEWS_FAIL);

	must(!r->ended);
	r->ended = true;
	x->code = code;
	x->sent = sent || r->headed;
	tell(r, x);
}

static int take_head(struct reading *g, struct stage_news *n)
{
	const struct http_req *q = g->r->req;
	struct http_header *v = NEWN(g->a, struct http_header, n->headers_n + 1);

	for (size_t i = 0; i < n->headers_n; i++)
		v[i] = (struct http_header){ arena_dup(g->a, n->headers[i].name),
					     arena_dup(g->a, n->headers[i].value) };
	g->out->status = n->code;
	g->out->headers = v;
	g->out->headers_n = n->headers_n;
	if (q->on_head)
		q->on_head(q->arg);
	return OK;
}

static int take_data(struct reading *g, struct stage_news *n, struct err *e)
{
	const struct http_req *q = g->r->req;
	int rc;

	if (!q->sink || g->out->status / 100 != 2) {
		g->progressed = true;
		buf_add(&g->body, n->bytes);
		return g->body.full ? err_set(e, E_LIMIT, "the answer is too long") : OK;
	}
	rc = q->sink(q->arg, n->bytes, e);
	if (rc >= 1) {
		g->progressed = true;
		g->progress_ms = stage.mono_ms;
	}
	if (rc > 1)
		g->linger_ms = stage.mono_ms + rc;
	return rc < 0 ? rc : OK;
}

static int take_news(struct reading *g, struct err *e)
{
	struct stage_news *n;
	int rc = OK;

	while (rc == OK && !g->over && (n = g->r->first)) {
		g->r->first = n->next;
		if (!n->next)
			g->r->last = NULL;
		switch (n->kind) {
		case NEWS_HEAD:
			rc = take_head(g, n);
			break;
		case NEWS_DATA:
			rc = take_data(g, n, e);
			break;
		case NEWS_END:
			g->over = true;
			break;
		case NEWS_FAIL:
			g->out->maybe_sent = n->sent;
			rc = err_set(e, n->code, "as the stage wanted");
			break;
		}
		news_free(n);
	}
	return rc;
}

static void nearer(int64_t *until, int64_t from, int64_t ms)
{
	if (ms > 0 && from + ms < *until)
		*until = from + ms;
}

static int serve(struct reading *g, const struct cancel *c, struct err *e)
{
	const struct http_req *q = g->r->req;
	int64_t until = INT64_MAX, limit;
	struct pollfd fds[2] = { { .fd = g->r->bell.fd, .events = POLLIN },
				 { .fd = q->wake ? q->wake->fd : -1, .events = POLLIN } };
	bool due = q->wake_at_ms && *q->wake_at_ms && stage.mono_ms >= *q->wake_at_ms;

	if (q->on_wake && (due || (q->wake && look(&fds[1], 1) > 0))) {
		if (q->wake)
			bell_hear(q->wake);
		int64_t before = stage.mono_ms;
		int rc = q->on_wake(q->arg, e);
		g->since_ms += stage.mono_ms - before;
		g->progress_ms += stage.mono_ms - before;
		return rc;
	}
	nearer(&until, g->since_ms, q->total_ms);
	nearer(&until, g->progressed ? g->progress_ms : g->since_ms,
	       g->progressed ? q->idle_ms : q->first_ms);
	limit = until;
	if (g->linger_ms && g->linger_ms < until)
		until = g->linger_ms;
	if (q->on_wake && q->wake_at_ms && *q->wake_at_ms && *q->wake_at_ms < until)
		until = *q->wake_at_ms;
	int rc = wait_fds(fds, 2, until == INT64_MAX ? 0 : until, c, e);
	if (rc == OK && fds[0].revents)
		bell_hear(&g->r->bell);
	if (rc != E_TIMEOUT || cancel_reason(c) != CANCEL_NONE)
		return rc;
	if (g->linger_ms && stage.mono_ms >= g->linger_ms) {
		g->over = true;
		return OK;
	}
	return stage.mono_ms >= limit ? err_set(e, E_TIMEOUT, "no answer in time") : OK;
}

int http_do(struct http *h, const struct http_req *req, struct arena *a, struct http_resp *out,
	    const struct cancel *c, struct err *e)
{
	struct stage_request r = { .req = req, .n = ++stage.requests_n }, **at;
	struct reading g = { .r = &r, .a = a, .out = out };
	int rc = bell_init(&r.bell, e);

	(void)h;
	must(rc == OK && req->label);
	*out = (struct http_resp){ 0 };
	g.body = buf_in(a, req->body_max ? req->body_max : BODY_MAX);
	g.since_ms = g.progress_ms = stage.mono_ms;
	for (at = &stage.requests; *at; at = &(*at)->next)
		;
	*at = &r;
	if ((rc = cancel_check(c, e)) == OK) {
		out->maybe_sent = true;
		if (stage.on_request)
			stage.on_request(stage.on_request_arg, &r);
	}
	while (rc == OK && (rc = take_news(&g, e)) == OK && !g.over)
		rc = serve(&g, c, e);
	out->body = buf_str(&g.body);
	for (at = &stage.requests; *at != &r; at = &(*at)->next)
		;
	*at = r.next;
	for (struct stage_news *n; (n = r.first);) {
		r.first = n->next;
		news_free(n);
	}
	bell_done(&r.bell);
	return rc;
}

str http_header(const struct http_resp *r, const char *name)
{
	for (size_t i = 0; i < r->headers_n; i++)
		if (str_eq(r->headers[i].name, str_of(name)))
			return r->headers[i].value;
	return (str){ 0 };
}

int http_pool_open(struct http_pool **out, const struct http_opt *opt, struct err *e)
{
	(void)opt;
	(void)e;
	*out = calloc(1, sizeof **out);
	must(*out);
	return OK;
}

void http_pool_close(struct http_pool *p)
{
	free(p);
}

struct http *http_borrow(struct http_pool *p)
{
	(void)p;
	return calloc(1, sizeof(struct http));
}

void http_return(struct http **h)
{
	free(*h);
	*h = NULL;
}

void http_pool_tidy(struct http_pool *p, int64_t idle_ms)
{
	(void)p;
	(void)idle_ms;
}
