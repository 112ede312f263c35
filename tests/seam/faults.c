/*
 * What is to fail, and when: GANTRY_FAULT is read once, and each call asks here.  Counts and
 * what has failed are in memory shared with the children, since a fault may be theirs.
 */
#include "seam/faults.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAULTS_MAX 16
#define SHORT (-1)

static const char *const call_names[CALL_N] = {
#define SEAM_NAME(name) #name,
	SEAM_CALLS(SEAM_NAME)
#undef SEAM_NAME
};

struct fault {
	enum seam_call call;
	int64_t nth, last;
	uint64_t place;
	bool onwards, fatal, child;
	int errnum;
};

/* Written before main() and only read after. */
static struct fault faults[FAULTS_MAX];
static size_t faults_n;
static bool watched[2][CALL_N], places_wanted;
static char only_when[PATH_MAX]; /* empty: always */
static pid_t owner;
static struct book *book;

static NORETURN void refuse(const char *what, const char *word)
{
	(void)fprintf(stderr, "seam: %s: %s\n", what, word);
	_exit(2);
}

static int errno_of(str name)
{
	static const struct {
		const char *name;
		int value;
	} known[] = {
		{ "EIO", EIO },
		{ "ENOSPC", ENOSPC },
		{ "EINTR", EINTR },
		{ "EAGAIN", EAGAIN },
		{ "EACCES", EACCES },
		{ "EPERM", EPERM },
		{ "EROFS", EROFS },
		{ "EMFILE", EMFILE },
		{ "ENFILE", ENFILE },
		{ "ENOENT", ENOENT },
		{ "EDQUOT", EDQUOT },
		{ "ENOMEM", ENOMEM },
		{ "EPIPE", EPIPE },
		{ "EBUSY", EBUSY },
		{ "EFBIG", EFBIG },
		{ "ENOLCK", ENOLCK },
		{ "ENOBUFS", ENOBUFS },
		{ "ENOSYS", ENOSYS },
		{ "ECONNRESET", ECONNRESET },
		{ "ECONNREFUSED", ECONNREFUSED },
		{ "ENETUNREACH", ENETUNREACH },
		{ "ETIMEDOUT", ETIMEDOUT },
		{ "SHORT", SHORT },
	};
	int64_t number;

	for (size_t i = 0; i < COUNT(known); i++)
		if (str_eq(name, str_of(known[i].name)))
			return known[i].value;
	return str_i64(name, &number) && number > 0 && number < 4096 ? (int)number : 0;
}

static bool is_prefix(str *word, str prefix)
{
	if (!str_starts(*word, prefix))
		return false;
	*word = str_sub(*word, prefix.n, word->n);
	return true;
}

static bool hex_of(str text, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < text.n; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, text.p[i]);
		if (!d || !*d)
			return false;
		v = v << 4 | (uint64_t)(d - digits);
	}
	*out = v;
	return text.n > 0 && text.n <= 16 && v;
}

static bool parse_when(str text, bool place, struct fault *f)
{
	f->onwards = str_ends(text, S("+"));
	text.n -= f->onwards;
	if (place)
		return hex_of(text, &f->place);
	str first = str_cut(&text, '-');
	if (!str_i64(first, &f->nth) || f->nth <= 0)
		return false;
	f->last = f->onwards ? INT64_MAX : f->nth;
	return (!text.n || str_i64(text, &f->last)) && f->last >= f->nth;
}

static bool parse_fault(str word, struct fault *f)
{
	*f = (struct fault){ .errnum = EIO, .call = CALL_N };
	f->child = is_prefix(&word, S("child:"));
	f->fatal = is_prefix(&word, S("kill:"));
	str part = str_cut(&word, ':');
	str name = str_cut(&part, '@');
	bool place = part.n > 0;
	for (int c = 0; c < CALL_N; c++)
		if (str_eq(name, str_of(call_names[c])))
			f->call = (enum seam_call)c;
	if (!place)
		part = str_cut(&word, ':');
	if (word.n)
		f->errnum = errno_of(word);
	return parse_when(part, place, f) && f->call != CALL_N && f->errnum != 0;
}

static void read_faults(const char *text)
{
	str rest = str_of(text);

	while (rest.n) {
		str word = str_cut(&rest, ',');
		if (is_prefix(&word, S("when:"))) {
			(void)snprintf(only_when, sizeof only_when, "%.*s", STRF(word));
			continue;
		}
		if (faults_n == COUNT(faults) || !parse_fault(word, &faults[faults_n]))
			refuse("GANTRY_FAULT not understood", text);
		const struct fault *f = &faults[faults_n++];
		watched[f->child][f->call] = true;
		places_wanted |= f->place != 0;
	}
}

/* The book in the file, or in memory alone when there is none. */
static void open_book(const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	int flags = path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;

	if (path && (fd < 0 || ftruncate(fd, sizeof *book) != 0))
		refuse("GANTRY_PLACES cannot be written", path);
	void *p = mmap(NULL, sizeof *book, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		(void)close(fd);
	if (p == MAP_FAILED)
		refuse("no memory for the places", "");
	book = p;
	memcpy(book->magic, "places1", sizeof book->magic);
}

void faults_begin(void)
{
	const char *fault = getenv("GANTRY_FAULT"), *path = getenv("GANTRY_PLACES");

	fault = fault && *fault ? fault : NULL;
	path = path && *path ? path : NULL;
	if (!fault && !path)
		return;
	open_book(path);
	if (fault)
		read_faults(fault);
	places_wanted |= path != NULL;
	if (places_wanted)
		places_begin(book);
	owner = getpid();
	if (!fault)
		memset(watched, true, sizeof watched);
}

static bool is_meant(const struct fault *f, int64_t nth, const struct place *p, bool again)
{
	if (f->place)
		return p && p->hash == f->place && (f->onwards || !again);
	return nth >= f->nth && nth <= f->last;
}

static enum fate befall(const struct fault *f, struct place *p)
{
	(void)atomic_fetch_add(&book->failed, 1);
	if (p)
		(void)atomic_fetch_add(&p->failed, 1);
	if (f->fatal)
		(void)kill(getpid(), SIGKILL);
	if (f->errnum == SHORT)
		return FATE_SHORT;
	errno = f->errnum;
	return FATE_FAIL;
}

/* Files and pipes on the one hand, sockets on the other; neither of eventfds and their like. */
static bool is_of_kind(enum seam_call call, int fd)
{
	struct stat st;

	if (fd < 0 || call == CALL_poll)
		return true;
	if (fstat(fd, &st) != 0)
		return false;
	bool sock = S_ISSOCK(st.st_mode);
	return call == CALL_send || call == CALL_recv ? sock
						      : !sock && (st.st_mode & S_IFMT) != 0;
}

__attribute__((noinline)) enum fate faults_fate(enum seam_call call, int fd)
{
	static _Thread_local bool inside;
	int saved = errno;

	if (!book || inside || !owner)
		return FATE_NONE;
	bool child = getpid() != owner;
	if (!watched[child][call])
		return FATE_NONE;
	inside = true;
	enum fate fate = FATE_NONE;
	if (is_of_kind(call, fd) && (!only_when[0] || access(only_when, F_OK) == 0)) {
		int64_t nth = atomic_fetch_add(&book->counts[child][call], 1) + 1;
		struct place *p = places_wanted ? places_note(book, call, child, nth) : NULL;
		bool again = p && atomic_fetch_add(&p->times, 1) > 0;
		errno = saved;
		for (size_t i = 0; i < faults_n && fate == FATE_NONE; i++)
			if (faults[i].call == call && faults[i].child == child &&
			    is_meant(&faults[i], nth, p, again))
				fate = befall(&faults[i], p);
	}
	inside = false;
	if (fate != FATE_FAIL)
		errno = saved;
	return fate;
}
