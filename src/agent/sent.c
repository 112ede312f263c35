/*
 * Records of requests, written and read.  Ranges are "12-40,45": message numbers have no gaps
 * but where turns were left out, so there are few.  Digests of messages that the turn's
 * request before had at the same place are not repeated.
 */
#include "agent/sent.h"

#include "text/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define RECORD_MAX (1u << 20)

static void add_range(struct buf *b, int64_t from, int64_t to)
{
	buf_fmt(b, "%s%" PRId64, b->n ? "," : "", from);
	if (to > from)
		buf_fmt(b, "-%" PRId64, to);
}

/* The numbers of all rows, or of those in their short form; what is neither ends no range. */
static str ranges(struct arena *a, const struct message *rows, size_t n, bool thin)
{
	struct buf b = buf_in(a, RECORD_MAX);
	int64_t from = 0, to = -1;

	for (size_t i = 0; i < n; i++) {
		bool assistant = str_eq(rows[i].role, S("assistant"));
		if (rows[i].seq == INT64_MAX)
			continue;
		if (thin && assistant) {
			to += to == rows[i].seq - 1;
			continue;
		}
		if (thin && !rows[i].collapsed)
			continue;
		if (to >= from && rows[i].seq == to + 1) {
			to++;
			continue;
		}
		if (to >= from)
			add_range(&b, from, to);
		from = to = rows[i].seq;
	}
	if (to >= from)
		add_range(&b, from, to);
	return buf_str(&b);
}

uint16_t sent_part(const struct model_msg *m)
{
	return (uint16_t)str_digest(m->wire);
}

uint16_t sent_head(str text)
{
	return (uint16_t)str_digest(text);
}

static void set_part(struct sent_parts *p, struct arena *keep, size_t i, uint16_t v)
{
	if (i == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		p->v = arena_grow(keep, p->v, p->cap * sizeof *p->v, cap * sizeof *p->v);
		p->cap = cap;
	}
	p->v[i] = v;
}

static void add_parts(struct buf *b, const struct sent_of *of, struct sent_parts *parts,
		      struct arena *keep)
{
	size_t same = 0;

	while (same < parts->n && same < of->msgs_n &&
	       parts->v[same] == sent_part(&of->msgs[same]))
		same++;
	buf_json_member_i64(b, "same", (int64_t)same);
	buf_add(b, S(",\"parts\":\""));
	for (size_t i = same; i < of->msgs_n; i++) {
		set_part(parts, keep, i, sent_part(&of->msgs[i]));
		buf_fmt(b, "%04x", parts->v[i]);
	}
	buf_addc(b, '"');
	parts->n = of->msgs_n;
}

str sent_write(struct arena *a, const struct sent_of *of, struct sent_parts *parts,
	       struct arena *keep)
{
	const struct model_sent *s = of->sent;
	struct buf b = buf_in(a, RECORD_MAX);

	if (s->bytes == 0 || of->msgs_n > SENT_PARTS_MAX)
		return (str){ 0 };
	buf_fmt(&b, "{\"digest\":\"%016" PRIx64 "\",\"bytes\":%zu", s->digest, s->bytes);
	buf_fmt(&b, ",\"head\":\"%04x%04x\"", sent_head(of->system), sent_head(of->tools));
	if (s->quirks)
		buf_json_member_i64(&b, "quirks", s->quirks);
	if (s->gemini)
		buf_add(&b, S(",\"gemini\":true"));
	if (s->max_tokens)
		buf_json_member_i64(&b, "max_tokens", s->max_tokens);
	if (s->has_temperature)
		buf_fmt(&b, ",\"temperature\":\"%.17g\"", s->temperature);
	if (s->effort.n)
		buf_json_member(&b, "effort", s->effort);
	if (of->no_images)
		buf_add(&b, S(",\"no_images\":true"));
	if (of->note.n)
		buf_json_member(&b, "note", of->note);
	buf_json_member(&b, "rows", ranges(a, of->rows, of->rows_n, false));
	str thin = ranges(a, of->rows, of->rows_n, true);
	if (thin.n)
		buf_json_member(&b, "thin", thin);
	add_parts(&b, of, parts, keep);
	buf_addc(&b, '}');
	return b.full ? (str){ 0 } : buf_str(&b);
}

struct message sent_note(struct arena *a, str turn_id, str note)
{
	return (struct message){ .seq = INT64_MAX,
				 .round = INT64_MAX,
				 .turn_id = turn_id,
				 .role = S("user"),
				 .wire = model_user_wire(a, note),
				 .text = note };
}

/* --- reading --------------------------------------------------------------------------- */

static bool next_range(str *rest, int64_t *from, int64_t *to)
{
	str to_text = str_cut(rest, ','), from_text = str_cut(&to_text, '-');

	if (!str_i64(from_text, from))
		return false;
	*to = *from;
	return to_text.n == 0 || (str_i64(to_text, to) && *to >= *from);
}

bool sent_has(str list, int64_t seq)
{
	int64_t from, to;

	while (list.n && next_range(&list, &from, &to))
		if (seq >= from && seq <= to)
			return true;
	return false;
}

/* All of a list, in ascending order. */
static bool read_ranges(str list, int64_t *first, int64_t *last)
{
	int64_t from, to, at = -1;

	while (list.n) {
		if (!next_range(&list, &from, &to) || from <= at)
			return false;
		if (at < 0)
			*first = from;
		*last = at = to;
	}
	return true;
}

static bool hex(str s, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (str_hex(s.p[i]) < 0)
			return false;
		*out = *out << 4 | (uint64_t)str_hex(s.p[i]);
	}
	return s.n > 0;
}

static bool read_parts(const struct json *v, struct sent_parts *parts, struct arena *a)
{
	str text = json_str(v, "parts");
	int64_t same = json_i64(v, "same", 0);
	uint64_t part;

	if (same < 0 || (uint64_t)same > parts->n || text.n % 4 || text.n / 4 > SENT_PARTS_MAX)
		return false;
	parts->n = (size_t)same;
	for (size_t i = 0; i < text.n; i += 4) {
		if (!hex(str_sub(text, i, i + 4), &part))
			return false;
		set_part(parts, a, parts->n++, (uint16_t)part);
	}
	return true;
}

int sent_read(struct sent_record *out, struct arena *a, str record, struct sent_parts *parts,
	      struct err *e)
{
	struct json *v;
	struct sent_record r = { 0 };
	uint64_t head = 0;
	int rc;

	if (record.n == 0)
		return err_set(e, E_NOENT, "nothing was kept of this request");
	if ((rc = json_read(&v, a, record, e)) < 0)
		return err_wrap(e, rc, "the record of this request");
	str temperature = json_str(v, "temperature");
	r.sent = (struct model_sent){
		.bytes = (size_t)json_i64(v, "bytes", 0),
		.quirks = (uint32_t)json_i64(v, "quirks", 0),
		.gemini = json_bool(v, "gemini", false),
		.max_tokens = json_i64(v, "max_tokens", 0),
		.has_temperature = temperature.n > 0,
		.temperature = temperature.n ? strtod(temperature.p, NULL) : 0,
		.effort = json_str(v, "effort"),
	};
	r.no_images = json_bool(v, "no_images", false);
	r.note = json_str(v, "note");
	r.rows = json_str(v, "rows");
	r.thin = json_str(v, "thin");
	if (!hex(json_str(v, "digest"), &r.sent.digest) || !hex(json_str(v, "head"), &head) ||
	    !r.rows.n || !read_ranges(r.rows, &r.first, &r.last) || !read_parts(v, parts, a))
		return err_set(e, E_PROTO, "the record of this request is damaged");
	r.system = (uint16_t)(head >> 16);
	r.tools = (uint16_t)head;
	*out = r;
	return OK;
}
