/*
 * The log.  A line is built whole in a small arena and leaves in one write(2), short enough
 * to stay in one piece on a pipe.  The text is redacted before it is escaped, so that a
 * secret is found whatever bytes it holds, and a JSON line is made of the redacted pairs,
 * so that it stays JSON whatever the redactor took out.
 */
#include "os/log.h"

#include "base/buf.h"
#include "base/date.h"
#include "base/utf.h"
#include "os/clock.h"
#include "os/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 4096 /* PIPE_BUF: longer writes may be mixed with those of others */
#define TEXT_BYTES 3000 /* of the caller's text */
#define VALUE_BYTES 200 /* log_q() */
#define KEPT_BYTES 3000
#define KEPT_LINE 600
#define ELLIPSIS "\xE2\x80\xA6"

/* Guards the plain members; taken for a copy, never held across a write. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	_Atomic int level;
	bool json;
	int fd; /* where lines go */
	int file_fd; /* -1 until a file was asked for; then kept, whatever it shows */
	str (*redact)(struct arena *a, str line);
} sink = { .level = LOG_INFO, .fd = STDERR_FILENO, .file_fd = -1 };

/* Lines for whoever tells them on; guarded by log_lock too. */
static struct {
	_Atomic int level; /* above LOG_ERROR: none are kept */
	struct bell bell;
	char text[KEPT_BYTES];
	size_t n;
	unsigned left_out;
} kept = { .level = LOG_ERROR + 1, .bell = { -1 } };

static _Thread_local bool keep_none;

static _Thread_local char turn[ID_LONG_LEN + 1];

/* Open the file on the descriptor number that the log has for files: a thread that is about
 * to write to it must never find someone else's file there. */
static int open_file(const char *path, int keep, struct err *e)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);

	if (fd < 0)
		return err_sys(e, "log file %s", path);
	if (keep < 0)
		return fd;
	int rc = dup3(fd, keep, O_CLOEXEC);
	(void)close(fd);
	return rc < 0 ? err_sys(e, "log file %s", path) : keep;
}

int log_open(const struct log_opt *opt, struct err *e)
{
	bool to_file = opt->file && *opt->file;
	int rc = OK;

	(void)pthread_mutex_lock(&log_lock);
	if (to_file)
		rc = open_file(opt->file, sink.file_fd, e);
	if (rc >= 0) {
		if (to_file)
			sink.file_fd = rc;
		sink.fd = to_file ? rc : STDERR_FILENO;
		sink.json = opt->json;
		sink.redact = opt->redact;
		atomic_store(&sink.level, (int)opt->level);
	}
	(void)pthread_mutex_unlock(&log_lock);
	return rc < 0 ? rc : OK;
}

int log_keep(enum log_level least, int *fd, struct err *e)
{
	int rc = kept.bell.fd < 0 ? bell_init(&kept.bell, e) : OK;

	if (rc < 0)
		return rc;
	atomic_store(&kept.level, (int)least);
	*fd = kept.bell.fd;
	return OK;
}

str log_kept(struct arena *a, unsigned *left_out)
{
	(void)pthread_mutex_lock(&log_lock);
	bell_hear(&kept.bell);
	str all = arena_dup(a, (str){ kept.text, kept.n });
	*left_out = kept.left_out;
	kept.n = kept.left_out = 0;
	(void)pthread_mutex_unlock(&log_lock);
	return all;
}

void log_keep_none(bool none)
{
	keep_none = none;
}

void log_turn(const char *turn_id)
{
	(void)snprintf(turn, sizeof turn, "%s", turn_id ? turn_id : "");
}

/* Characters that could move the cursor, break the line or turn the text around. */
static bool hidden(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x2028 || cp == 0x2029 ||
	       (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069);
}

static void add_cp(struct buf *b, uint32_t cp)
{
	char bytes[4];

	buf_add(b, (str){ bytes, utf_put(bytes, cp) });
}

static void add_hidden(struct buf *b, uint32_t cp)
{
	if (cp == '\n' || cp == '\t')
		buf_add(b, cp == '\n' ? S("\\n") : S("\\t"));
	else
		buf_fmt(b, cp < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)cp);
}

/* Escape for a text line; quoted: also the quote and the backslash. */
static void add_visible(struct buf *b, str s, bool quoted)
{
	size_t len;

	for (; s.n; s = str_sub(s, len, s.n)) {
		uint32_t cp = utf_next(s, &len);
		if (hidden(cp)) {
			add_hidden(b, cp);
			continue;
		}
		if (quoted && (cp == '"' || cp == '\\'))
			buf_addc(b, '\\');
		add_cp(b, cp);
	}
}

str log_q(struct arena *a, str s)
{
	str head = utf_head(s, VALUE_BYTES);
	struct buf b = buf_in(a, VALUE_BYTES * 6 + 16);

	buf_addc(&b, '"');
	add_visible(&b, head, true);
	if (head.n < s.n)
		buf_add(&b, S(ELLIPSIS));
	buf_addc(&b, '"');
	return buf_str(&b);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What one backslash escape of add_visible() stood for, and its length. */
static uint32_t unescape(str s, size_t *len)
{
	size_t digits = 0;
	uint32_t cp = 0;

	*len = 2;
	if (s.n < 2)
		return *len = 1, '\\';
	if (s.p[1] == 'n' || s.p[1] == 't')
		return s.p[1] == 'n' ? '\n' : '\t';
	if (s.p[1] == '"' || s.p[1] == '\\')
		return (unsigned char)s.p[1];
	if (s.p[1] == 'x' || s.p[1] == 'u')
		digits = s.p[1] == 'x' ? 2 : 4;
	for (size_t i = 0; i < digits; i++) {
		int d = s.n > 2 + i ? hex_digit(s.p[2 + i]) : -1;
		if (d < 0)
			return *len = 1, '\\';
		cp = cp * 16 + (uint32_t)d;
	}
	bool scalar = digits && (cp < 0xD800 || cp > 0xDFFF);
	*len = scalar ? 2 + digits : 1;
	return scalar ? cp : '\\';
}

static void add_json(struct buf *b, str s, bool escaped)
{
	size_t len;

	buf_addc(b, '"');
	for (; s.n; s = str_sub(s, len, s.n)) {
		uint32_t cp = utf_next(s, &len);
		if (cp == '\\' && escaped)
			cp = unescape(s, &len);
		if (cp == '"' || cp == '\\')
			buf_addc(b, '\\');
		if (hidden(cp))
			buf_fmt(b, "\\u%04x", (unsigned)cp);
		else
			add_cp(b, cp);
	}
	buf_addc(b, '"');
}

/* A number as a JSON reader would write it back; long digit strings are names. */
static bool plain_number(str s)
{
	str digits = str_starts(s, S("-")) ? str_sub(s, 1, s.n) : s;
	int64_t v;

	return digits.n > 0 && digits.n <= 15 && str_i64(s, &v) &&
	       (digits.p[0] != '0' || s.n == 1);
}

/* The next blank-separated word; a quoted part of it may hold blanks. */
static str next_word(str *rest)
{
	str s = *rest;
	bool quoted = false;
	size_t i = 0;

	for (; i < s.n && (quoted || s.p[i] != ' '); i++) {
		if (s.p[i] == '"' && (quoted || (i > 0 && s.p[i - 1] == '=')))
			quoted = !quoted;
		else if (quoted && s.p[i] == '\\' && i + 1 < s.n)
			i++;
	}
	*rest = str_sub(s, i + 1, s.n);
	return str_sub(s, 0, i);
}

static void add_member(struct buf *b, str key, str value)
{
	buf_addc(b, ',');
	add_json(b, key, false);
	buf_addc(b, ':');
	if (value.n >= 1 && value.p[0] == '"') {
		value = str_sub(value, 1, value.n);
		if (str_ends(value, S("\"")))
			value.n--;
		add_json(b, value, true);
	} else if (plain_number(value)) {
		buf_add(b, value);
	} else {
		add_json(b, value, false);
	}
}

/* Add the pair, with the value cut to what leaves room for the end of the line; was it
 * whole? */
static bool add_pair(struct buf *b, str key, str value)
{
	size_t before = b->n;

	for (bool whole = true;; whole = false) {
		add_member(b, key, value);
		if (!b->full && b->n <= LINE_BYTES - sizeof ",\"cut\":true}\n")
			return whole;
		b->n = before;
		b->full = false;
		if (value.n < 8)
			return false;
		value = utf_head(value, value.n / 2);
	}
}

static void json_line(struct buf *b, str when, str level, str event, str text)
{
	struct buf loose = buf_in(b->a, TEXT_BYTES * 2);
	bool fits = true;

	buf_add(b, S("{\"time\":"));
	add_json(b, when, false);
	(void)add_pair(b, S("level"), level);
	(void)add_pair(b, S("msg"), event);
	if (turn[0])
		(void)add_pair(b, S("turn"), str_of(turn));
	while (text.n) {
		str word = next_word(&text), value = word, key = str_cut(&value, '=');
		if (key.n > 0 && key.n < word.n) {
			fits = add_pair(b, key, value) && fits;
		} else if (word.n) {
			buf_add(&loose, loose.n ? S(" ") : S(""));
			buf_add(&loose, word);
		}
	}
	if (loose.n)
		fits = add_pair(b, S("text"), buf_str(&loose)) && fits;
	buf_add(b, fits ? S("}\n") : S(",\"cut\":true}\n"));
}

static void text_line(struct buf *b, str when, str level, str event, str text)
{
	struct buf v = buf_in(b->a, TEXT_BYTES * 6);

	buf_fmt(b, "%.*s %-5.*s ", STRF(when), STRF(level));
	add_visible(b, event, false);
	if (turn[0])
		buf_fmt(b, " turn=%s", turn);
	if (text.n)
		buf_addc(b, ' ');
	add_visible(&v, text, false);
	size_t room = LINE_BYTES - b->n - sizeof ELLIPSIS;
	str head = utf_head(buf_str(&v), room);
	buf_add(b, head);
	if (head.n < v.n)
		buf_add(b, S(ELLIPSIS));
	buf_addc(b, '\n');
}

/* The caller's text, redacted and cut to TEXT_BYTES. */
static str caller_text(struct arena *a, str (*redact)(struct arena *a, str line),
		       const char *fmt, va_list ap)
{
	char *text = arena_alloc(a, 1, TEXT_BYTES * 2);
	int n = vsnprintf(text, TEXT_BYTES * 2, fmt, ap);
	str s = { text, n < 0 ? 0 : (size_t)n };

	/* Cut after redaction, for half a secret would not be recognised. */
	if (s.n >= TEXT_BYTES * 2)
		s = utf_head(s, TEXT_BYTES * 2 - 1);
	if (redact)
		s = redact(a, s);
	return s.n > TEXT_BYTES ? arena_cat(a, utf_head(s, TEXT_BYTES), S(ELLIPSIS)) : s;
}

static void keep(struct arena *a, const char *level, str event, str text)
{
	struct buf b = buf_in(a, TEXT_BYTES * 8);

	buf_fmt(&b, "%s ", level);
	add_visible(&b, event, false);
	buf_add(&b, text.n ? S(" ") : S(""));
	add_visible(&b, text, false);
	str head = utf_head(buf_str(&b), KEPT_LINE);
	str line = arena_fmt(a, "%.*s%s\n", STRF(head), head.n < b.n ? ELLIPSIS : "");
	(void)pthread_mutex_lock(&log_lock);
	if (kept.n + line.n <= sizeof kept.text) {
		memcpy(kept.text + kept.n, line.p, line.n);
		kept.n += line.n;
	} else {
		kept.left_out++;
	}
	(void)pthread_mutex_unlock(&log_lock);
	bell_ring(&kept.bell);
}

static void emit(enum log_level level, const char *event, const char *fmt, va_list ap)
{
	static const char *const names[] = { "DEBUG", "INFO", "WARN", "ERROR" };
	SCOPED(arena_free) struct arena a = { 0 };
	int saved = errno;

	bool told = (int)level >= atomic_load(&kept.level) && !keep_none;
	bool written = (int)level >= atomic_load(&sink.level);
	if (!told && !written)
		return;
	(void)pthread_mutex_lock(&log_lock);
	bool json = sink.json;
	int fd = sink.fd;
	str (*redact)(struct arena *, str) = sink.redact;
	(void)pthread_mutex_unlock(&log_lock);

	struct buf b = buf_in(&a, LINE_BYTES * 8);
	str when = date_rfc3339(&a, clock_now_ms());
	str text = caller_text(&a, redact, fmt, ap);
	str name = utf_head(str_of(event), 64);
	if (told)
		keep(&a, names[level], name, text);
	(json ? json_line : text_line)(&b, when, str_of(names[level]), name, text);
	ssize_t n = 0;
	do
		n = written ? write(fd, b.p, b.n) : 0;
	while (n < 0 && errno == EINTR);
	errno = saved;
}

#define EMIT(level)                                                                            \
	do {                                                                                   \
		va_list ap;                                                                    \
		va_start(ap, fmt);                                                             \
		emit(level, event, fmt, ap);                                                   \
		va_end(ap);                                                                    \
	} while (0)

void log_debug(const char *event, const char *fmt, ...)
{
	EMIT(LOG_DEBUG);
}

void log_info(const char *event, const char *fmt, ...)
{
	EMIT(LOG_INFO);
}

void log_warn(const char *event, const char *fmt, ...)
{
	EMIT(LOG_WARN);
}

void log_error(const char *event, const char *fmt, ...)
{
	EMIT(LOG_ERROR);
}
