/*
 * Pictures: marked in the text of the message they came with, shown to the model through
 * their own turn, and only mentioned afterwards.
 */
#include "agent/run.h"

#include "base/buf.h"
#include "os/file.h"
#include "os/log.h"
#include "text/base64.h"

#define IMAGES_MAX (16u << 20) /* bytes of all pictures of a turn */
#define TEXT_MAX (16u << 20)

#define NOTE_REFUSED                                                                           \
	"[note: this model cannot see pictures, so they were left out. Say so if they "        \
	"matter.]"
#define NOTE_LOST "[note: a picture could not be read and was left out.]"
#define NOTE_LARGE "[note: a picture was left out: together they are too large.]"

static bool is_photo(const struct attachment *f)
{
	return str_eq(f->kind, S("photo"));
}

str run_text_of(struct arena *a, const struct inbox_row *rows, size_t n)
{
	struct buf b = buf_in(a, TEXT_MAX);
	size_t photos = 0, number = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < rows[i].files_n; j++)
			photos += is_photo(&rows[i].files[j]);
	for (size_t i = 0; i < n; i++) {
		bool marked = false;
		if (i)
			buf_add(&b, S("\n\n"));
		for (size_t j = 0; j < rows[i].files_n; j++) {
			if (!is_photo(&rows[i].files[j]))
				continue;
			buf_add(&b, marked ? S(" ") : S(""));
			if (photos > 1)
				buf_fmt(&b, "[photo %zu]", ++number);
			else
				buf_add(&b, S("[photo]"));
			marked = true;
		}
		buf_add(&b, marked && rows[i].text.n ? S(" ") : S(""));
		buf_add(&b, rows[i].text);
	}
	return buf_str(&b);
}

/* One picture, or what is said in its place. */
static void load(str dir, const struct attachment *f, size_t *total, struct arena *to,
		 struct prompt_image *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str bytes;
	struct err why = { 0 };

	if (*total + (size_t)f->bytes > IMAGES_MAX) {
		out->note = S(NOTE_LARGE);
		return;
	}
	str path = arena_fmt(&a, "%.*s/%.*s", STRF(dir), STRF(f->file));
	int rc = str_has(f->file, S("/")) || f->file.n == 0
			 ? err_set(&why, E_INVAL, "no name of a file")
			 : file_read(&bytes, &a, path.p, IMAGES_MAX - *total, &why);
	if (rc < 0) {
		log_warn("photo.unread", "file=%.*s err=%.*s", STRF(log_q(&a, f->file)),
			 STRF(log_q(&a, str_of(why.msg))));
		out->note = S(NOTE_LOST);
		return;
	}
	*total += bytes.n;
	out->url = arena_fmt(to, "data:%.*s;base64,%.*s",
			     STRF(f->mime.n ? f->mime : S("image/jpeg")),
			     STRF(base64_of(&a, bytes)));
}

int turn_images(struct store *s, str turn_id, bool none, struct arena *a,
		const struct prompt_image **out, size_t *n, struct err *e)
{
	struct turn_file *files;
	size_t files_n, used = 0, total = 0;
	int rc = store_turn_files(s, turn_id, a, &files, &files_n, e);

	if (rc < 0)
		return rc;
	struct prompt_image *v = NEWN(a, struct prompt_image, files_n + 1);
	for (size_t i = 0; i < files_n; i++) {
		struct prompt_image *last = used ? &v[used - 1] : NULL;
		if (!is_photo(&files[i].file))
			continue;
		if (none && last && last->seq == files[i].seq)
			continue; /* said once a message */
		v[used] = (struct prompt_image){ .seq = files[i].seq };
		if (none)
			v[used].note = S(NOTE_REFUSED);
		else
			load(store_blobs(s), &files[i].file, &total, a, &v[used]);
		used++;
	}
	*out = v;
	*n = used;
	return OK;
}

int run_images(struct run *r, struct err *e)
{
	r->no_images |= r->t->no_images;
	return turn_images(r->ag->opt.store, r->t->id, r->no_images, r->a, &r->images,
			   &r->images_n, e);
}

int run_images_refused(struct run *r, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_turn_no_images(&tx, r->t->id, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	r->no_images = true;
	log_info("photo.refused", "issuer=%.*s", STRF(r->issuer));
	return run_images(r, e);
}
