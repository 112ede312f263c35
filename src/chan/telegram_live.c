/*
 * What a chat sees while a turn works: typing, the answer as it grows, and answers to presses.
 *
 * A turn leaves its latest text in a mailbox and goes on; one thread takes what is there when
 * the chat may be written to again.  Nothing of it has to arrive: the answer itself goes
 * through the outbox, and from the first message on a reserved row there stands for it.
 *
 * One lock guards the mailboxes, the holds and the answers; it is never held across a call.
 */
#include "chan/telegram_asks.h"
#include "chan/telegram_hold.h"
#include "chan/telegram_internal.h"
#include "chan/telegram_show.h"
#include "chan/trace.h"

#include "base/utf.h"
#include "os/clock.h"
#include "text/text.h"

#include <string.h>

#define BOXES 64 /* as many turns as can run */
#define ANSWERS 32
#define TYPING_MS 4000
#define EDIT_MS 1000
#define EDIT_GROUP_MS 3000 /* groups may be written to 20 times a minute */
#define TEXT_MAX 16384 /* bytes of a text that are kept: more cannot be shown */
#define TRACE_MAX 1200
#define FAULTS_MAX 5
#define IDLE_MS 60000
#define END_LOOK_MS 1
#define END_TYPING_MS 100 /* an answer does not wait longer for "typing" to arrive before it */
#define SHOWN 64
#define WATCHES 32
#define WATCH_MS 1000 /* how soon a question that ended by itself loses its buttons */

struct box {
	char turn[ID_LEN + 1]; /* "": free */
	int64_t chat, thread;
	struct arena arena; /* owns text */
	char *text; /* NULL: none yet */
	size_t text_n;
	char trace[TRACE_MAX];
	size_t trace_n;
	bool fresh; /* there is something that is not shown yet */
	bool busy, typing; /* a call for it is on its way, and it is only that */
	bool over; /* the turn has ended */
	int faults;
	int64_t message_id; /* that shows it, 0 none yet */
	int64_t typing_at_ms, edit_at_ms; /* not before (monotonic) */
};

struct answer {
	char press_id[64], text[200], verdict[200], approval[ID_LONG_LEN + 1];
	int64_t chat, message_id, field;
	bool marks;
};

/* What a message was last made to show. */
struct shown {
	int64_t chat, message_id;
	uint64_t hash;
};

/* A question with buttons. */
struct watch {
	char approval[ID_LONG_LEN + 1];
	int64_t chat, message_id;
};

/* A line that stands in no row. */
struct notice {
	int64_t chat, thread; /* chat 0: there is none */
	char text[300];
};

struct telegram_live {
	struct telegram *t;
	pthread_mutex_t lock; /* guards what follows */
	struct shown shown[SHOWN];
	size_t shown_next;
	struct watch watch[WATCHES];
	size_t watches_n;
	int64_t watch_at_ms;
	struct box box[BOXES];
	struct telegram_holds holds;
	struct answer answer[ANSWERS];
	size_t answers_n;
	struct notice notice;

	struct thread thread;
	struct bell bell;
};

/* What the thread does next, copied out. */
struct job {
	enum {
		JOB_NONE,
		JOB_TYPING,
		JOB_TEXT,
		JOB_ANSWER,
		JOB_WATCH,
		JOB_NOTICE,
		JOB_REPORT
	} kind;
	size_t i;
	char turn[ID_LEN + 1];
	struct telegram_view view; /* in the job's arena */
	struct answer answer;
	struct notice notice;
	struct watch watch[WATCHES];
	size_t watches_n;
};

static void lock(struct telegram_live *l)
{
	(void)pthread_mutex_lock(&l->lock);
}

static void unlock(struct telegram_live *l)
{
	(void)pthread_mutex_unlock(&l->lock);
}

/* --- holds ------------------------------------------------------------------------------ */

void telegram_hold(struct telegram *t, int64_t chat, int64_t ms)
{
	int64_t now = clock_mono_ms();

	lock(t->live);
	telegram_holds_add(&t->live->holds, chat, now, now + ms);
	unlock(t->live);
}

int64_t telegram_held(struct telegram *t, int64_t chat, int64_t *all_ms)
{
	int64_t now = clock_mono_ms();

	lock(t->live);
	int64_t left = telegram_holds_until(&t->live->holds, chat) - now;
	int64_t all = t->live->holds.all_until_ms - now;
	unlock(t->live);
	*all_ms = all > 0 ? all : 0;
	return left > 0 ? left : 0;
}

/* --- what stands there ------------------------------------------------------------------ */

void telegram_live_shown(struct telegram *t, int64_t chat, int64_t message_id, str html)
{
	struct telegram_live *l = t->live;

	lock(l);
	l->shown[l->shown_next++ % SHOWN] =
		(struct shown){ chat, message_id, str_hash(STR_HASH, html) };
	unlock(l);
}

bool telegram_live_shows(struct telegram *t, int64_t chat, int64_t message_id, str html)
{
	struct telegram_live *l = t->live;
	uint64_t hash = str_hash(STR_HASH, html), last = ~hash;

	lock(l);
	/* The newest note of the message counts. */
	for (size_t i = 0; i < SHOWN; i++) {
		const struct shown *x = &l->shown[(l->shown_next + i) % SHOWN];
		if (x->chat == chat && x->message_id == message_id)
			last = x->hash;
	}
	unlock(l);
	return last == hash;
}

static void forget_watch(struct telegram_live *l, str approval, int64_t message_id)
{
	for (size_t i = 0; i < l->watches_n; i++)
		if (l->watch[i].message_id == message_id &&
		    str_eq(str_of(l->watch[i].approval), approval))
			l->watch[i--] = l->watch[--l->watches_n];
}

void telegram_live_watch(struct telegram *t, str approval_id, int64_t chat, int64_t message_id)
{
	struct telegram_live *l = t->live;
	struct watch x = { .chat = chat, .message_id = message_id };

	if (approval_id.n > ID_LONG_LEN || message_id <= 0)
		return;
	memcpy(x.approval, approval_id.p, approval_id.n);
	lock(l);
	if (l->watches_n < WATCHES)
		l->watch[l->watches_n++] = x;
	unlock(l);
	bell_ring(&l->bell);
}

/* --- mailboxes -------------------------------------------------------------------------- */

static struct box *find(struct telegram_live *l, str turn)
{
	for (size_t i = 0; i < BOXES; i++)
		if (l->box[i].turn[0] && str_eq(str_of(l->box[i].turn), turn))
			return &l->box[i];
	return NULL;
}

static void release(struct box *b)
{
	arena_free(&b->arena);
	*b = (struct box){ 0 };
}

static struct box *open_box(struct telegram_live *l, str turn, str address)
{
	struct box *b = find(l, turn);
	int64_t chat, thread;

	if (b || turn.n > ID_LEN || !telegram_address_read(address, &chat, &thread))
		return b;
	for (size_t i = 0; i < BOXES && !b; i++)
		if (!l->box[i].turn[0])
			b = &l->box[i];
	if (!b)
		return NULL;
	*b = (struct box){ .chat = chat, .thread = thread };
	memcpy(b->turn, turn.p, turn.n);
	return b;
}

/* As much as a message can show. */
static void put_text(struct box *b, str text)
{
	str head = utf_head(text, TEXT_MAX);

	if (!b->text)
		b->text = arena_alloc(&b->arena, 1, TEXT_MAX);
	memcpy(b->text, head.p ? head.p : "", head.n);
	b->text_n = head.n;
	b->fresh = true;
}

/* The last lines; older ones make room. */
static void put_trace(struct box *b, str line)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str one = text_line(&a, line, 200);

	b->trace_n = trace_in_place(b->trace, b->trace_n, one);
	while (b->trace_n && b->trace_n + one.n + 1 > TRACE_MAX) {
		char *end = memchr(b->trace, '\n', b->trace_n);
		size_t n = end ? (size_t)(end - b->trace) + 1 : b->trace_n;
		memmove(b->trace, b->trace + n, b->trace_n - n);
		b->trace_n -= n;
	}
	if (one.n + 1 > TRACE_MAX)
		return;
	memcpy(b->trace + b->trace_n, one.p, one.n);
	b->trace_n += one.n;
	b->trace[b->trace_n++] = '\n';
	b->fresh = true;
}

/* Where nothing is streamed, but something takes long: how far it is, and no more at its end. */
static void put_passing(struct box *b, str line)
{
	if (trace_passing(line))
		put_trace(b, line);
	else
		b->trace_n = trace_in_place(b->trace, b->trace_n, line);
	b->fresh = true;
}

void telegram_live(struct channel *self, str turn_id, str address, enum live_kind kind,
		   str text)
{
	struct telegram *t = (struct telegram *)self;
	struct telegram_live *l = t->live;
	struct box *b;

	lock(l);
	b = kind == LIVE_START ? open_box(l, turn_id, address) : find(l, turn_id);
	if (b && kind == LIVE_STOP) {
		b->over = true;
		if (!b->busy)
			release(b);
	} else if (b && !b->over && kind == LIVE_TEXT && t->opt.stream) {
		put_text(b, text);
	} else if (b && !b->over &&
		   (kind == LIVE_SLOW || (kind == LIVE_TRACE && t->opt.stream))) {
		put_trace(b, text);
	} else if (b && !b->over && kind == LIVE_TRACE && b->trace_n) {
		put_passing(b, text);
	}
	unlock(l);
	bell_ring(&l->bell);
}

void telegram_live_end(struct telegram *t, str turn_id, const struct cancel *c)
{
	struct telegram_live *l = t->live;
	int64_t typing_until = clock_mono_ms() + END_TYPING_MS;
	bool busy = true;

	while (busy) {
		lock(l);
		struct box *b = find(l, turn_id);
		busy = b && b->busy && !(b->typing && clock_mono_ms() >= typing_until);
		if (b)
			b->over = true;
		if (b && !busy && !b->busy)
			release(b);
		unlock(l);
		if (busy && wait_ms(END_LOOK_MS, c, NULL) < 0)
			return;
	}
}

static void put(char *out, size_t max, str s)
{
	size_t n = s.n < max ? s.n : 0;

	memcpy(out, s.p ? s.p : "", n);
	out[n] = '\0';
}

void telegram_live_answer(struct telegram *t, const struct telegram_event *ev,
			  const struct telegram_press *p)
{
	struct telegram_live *l = t->live;
	struct answer x = { .chat = ev->chat,
			    .message_id = ev->message_id,
			    .field = p->field,
			    .marks = p->marks };
	str id = p->question.n ? p->question : p->approval;

	put(x.press_id, sizeof x.press_id, ev->press_id);
	put(x.text, sizeof x.text, p->answer);
	lock(l);
	if (p->edit && id.n) {
		put(x.verdict, sizeof x.verdict, p->verdict);
		put(x.approval, sizeof x.approval, id);
	}
	/* When nobody can be told any more, the buttons still say it at the next press. */
	if (l->answers_n < ANSWERS)
		l->answer[l->answers_n++] = x;
	unlock(l);
	bell_ring(&l->bell);
}

void telegram_live_notice(struct channel *self, str address, str text)
{
	struct telegram *t = (struct telegram *)self;
	struct notice x = { 0 };

	if (!telegram_address_read(address, &x.chat, &x.thread))
		x.chat = telegram_owner_chat(t);
	put(x.text, sizeof x.text, text);
	lock(t->live);
	t->live->notice = x;
	unlock(t->live);
	bell_ring(&t->live->bell);
}

/* --- choosing --------------------------------------------------------------------------- */

/* No sooner may the chat be written to. */
static int64_t chat_free_at(const struct telegram_live *l, const struct box *b)
{
	int64_t at = telegram_holds_until(&l->holds, b->chat);

	for (size_t i = 0; i < BOXES; i++)
		if (l->box[i].turn[0] && l->box[i].chat == b->chat && l->box[i].edit_at_ms > at)
			at = l->box[i].edit_at_ms;
	return at;
}

static void take_text(struct box *b, struct job *j, struct arena *a)
{
	j->kind = JOB_TEXT;
	j->view.text = arena_dup(a, (str){ b->text, b->text_n });
	j->view.trace = arena_dup(a, (str){ b->trace, b->trace_n });
	b->fresh = false;
}

/* The next edit or typing of a turn that runs. */
static void choose_box(struct telegram_live *l, struct job *j, struct arena *a, int64_t now,
		       int64_t *until)
{
	for (size_t i = 0; i < BOXES; i++) {
		struct box *b = &l->box[i];
		if (!b->turn[0] || b->over || b->faults > FAULTS_MAX)
			continue;
		int64_t edit_at = chat_free_at(l, b);
		int64_t typing_at = telegram_holds_until(&l->holds, b->chat);
		typing_at = typing_at > b->typing_at_ms ? typing_at : b->typing_at_ms;
		if (b->fresh && edit_at <= now)
			take_text(b, j, a);
		else if (typing_at <= now)
			j->kind = JOB_TYPING;
		if (j->kind != JOB_NONE) {
			j->i = i;
			memcpy(j->turn, b->turn, sizeof j->turn);
			j->view.chat = b->chat;
			j->view.thread = b->thread;
			j->view.message_id = b->message_id;
			b->busy = true;
			b->typing = j->kind == JOB_TYPING;
			return;
		}
		int64_t next = b->fresh && edit_at < typing_at ? edit_at : typing_at;
		*until = next < *until ? next : *until;
	}
}

/* Under the lock: the next thing to do, else when to look again. */
static void choose(struct telegram_live *l, struct job *j, struct arena *a, int64_t *until)
{
	int64_t now = clock_mono_ms();

	*until = now + IDLE_MS;
	if (l->answers_n) {
		j->kind = JOB_ANSWER;
		j->answer = l->answer[0];
		memmove(l->answer, l->answer + 1, --l->answers_n * sizeof *l->answer);
		return;
	}
	if (l->notice.chat && telegram_holds_until(&l->holds, l->notice.chat) <= now) {
		j->kind = JOB_NOTICE;
		j->notice = l->notice;
		l->notice.chat = 0;
		return;
	}
	if (l->watches_n && l->watch_at_ms <= now) {
		j->kind = JOB_WATCH;
		j->watches_n = l->watches_n;
		memcpy(j->watch, l->watch, sizeof j->watch);
		l->watch_at_ms = now + WATCH_MS;
		return;
	}
	if (l->watches_n)
		*until = l->watch_at_ms;
	if (l->notice.chat && telegram_holds_until(&l->holds, l->notice.chat) < *until)
		*until = telegram_holds_until(&l->holds, l->notice.chat);
	if (telegram_report_due(&l->t->report, now,
				telegram_holds_until(&l->holds, telegram_owner_chat(l->t)),
				until)) {
		j->kind = JOB_REPORT;
		return;
	}
	choose_box(l, j, a, now, until);
}

/* --- doing ------------------------------------------------------------------------------ */

/* The question says how it ended; else its buttons go at another time. */
static void show_end(struct telegram *t, const struct answer *x, struct arena *a)
{
	const struct telegram_over end = { x->chat,  x->message_id,      str_of(x->approval),
					   x->field, str_of(x->verdict), x->marks };

	if (!telegram_show_verdict(t, &end, a) || x->marks)
		return;
	lock(t->live);
	forget_watch(t->live, str_of(x->approval), x->message_id);
	unlock(t->live);
}

/* Questions that ended without a press: their time was over, or their turn was stopped. */
static void check_watches(struct telegram *t, struct job *j, struct arena *a)
{
	for (size_t i = 0; i < j->watches_n; i++) {
		struct answer x = { .chat = j->watch[i].chat,
				    .message_id = j->watch[i].message_id,
				    .field = -1 };
		str verdict;
		int64_t all;
		memcpy(x.approval, j->watch[i].approval, sizeof x.approval);
		if (!telegram_asks_over(t, str_of(x.approval), x.message_id, a, &verdict) ||
		    telegram_held(t, x.chat, &all) > 0)
			continue;
		put(x.verdict, sizeof x.verdict, verdict);
		show_end(t, &x, a);
	}
}

static void give_answer(struct telegram *t, const struct answer *x, struct arena *a)
{
	/* The buttons first: who hears that it counts sees that they are gone. */
	if (x->approval[0])
		show_end(t, x, a);
	telegram_show_answer(t, str_of(x->press_id), str_of(x->text), a);
}

/* What came of it goes back into the mailbox. */
static void settle(struct telegram_live *l, const struct job *j, bool failed)
{
	struct box *b = &l->box[j->i];
	int64_t now = clock_mono_ms();

	b->busy = false;
	if (j->kind == JOB_TYPING)
		b->typing_at_ms = now + TYPING_MS;
	if (j->kind == JOB_TEXT) {
		b->edit_at_ms = now + (b->chat < 0 ? EDIT_GROUP_MS : EDIT_MS);
		b->message_id = j->view.message_id;
		/* Having to wait is no fault. */
		if (!failed)
			b->faults = 0;
		else if (telegram_holds_until(&l->holds, b->chat) <= now)
			b->faults++;
		/* What was not taken is shown next time, with what came since. */
		b->fresh = b->fresh || failed;
	}
	if (b->over)
		release(b);
}

static void *live_main(void *arg)
{
	struct telegram_live *l = arg;
	struct telegram *t = l->t;

	telegram_asks_watch_old(t);
	while (cancel_reason(&t->stop) == CANCEL_NONE) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct job j = { 0 };
		bool failed = false;
		int64_t until;

		bell_hear(&l->bell);
		lock(l);
		choose(l, &j, &a, &until);
		unlock(l);
		if (j.kind == JOB_NONE) {
			int rc = telegram_report_wait(t, &l->bell, until);
			if (rc < 0 && rc != E_TIMEOUT)
				return NULL;
			continue;
		}
		j.view.turn = str_of(j.turn);
		if (j.kind == JOB_TYPING)
			telegram_show_typing(t, &j.view, &a);
		else if (j.kind == JOB_TEXT)
			failed = !telegram_show_text(t, &j.view, &a);
		else if (j.kind == JOB_ANSWER)
			give_answer(t, &j.answer, &a);
		else if (j.kind == JOB_NOTICE)
			telegram_show_notice(t, j.notice.chat, j.notice.thread,
					     str_of(j.notice.text), &a);
		else if (j.kind == JOB_REPORT)
			telegram_report_tell(t, &a);
		else
			check_watches(t, &j, &a);
		if (j.kind != JOB_TYPING && j.kind != JOB_TEXT)
			continue;
		lock(l);
		settle(l, &j, failed);
		unlock(l);
	}
	return NULL;
}

/* --- life ------------------------------------------------------------------------------- */

int telegram_live_open(struct telegram *t, struct err *e)
{
	struct telegram_live *l = NEW(&t->arena, struct telegram_live);
	int rc = bell_init(&l->bell, e);

	if (rc < 0)
		return rc;
	l->t = t;
	(void)pthread_mutex_init(&l->lock, NULL);
	t->live = l;
	return OK;
}

int telegram_live_start(struct telegram *t, struct err *e)
{
	return thread_start(&t->live->thread, "telegram-live", live_main, t->live, e);
}

/* The stop token has been fired. */
void telegram_live_stop(struct telegram *t)
{
	thread_join(&t->live->thread);
}

void telegram_live_close(struct telegram *t)
{
	if (!t->live)
		return;
	for (size_t i = 0; i < BOXES; i++)
		arena_free(&t->live->box[i].arena);
	bell_done(&t->live->bell);
	(void)pthread_mutex_destroy(&t->live->lock);
	t->live = NULL;
}
