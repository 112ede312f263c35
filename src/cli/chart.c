/*
 * Charts.  All geometry is in whole hundredths of a unit, so that the same numbers give the same
 * bytes everywhere.
 */
#include "cli/chart.h"

#include "cli/page.h"
#include "text/text.h"

#define W 440
#define H 220
#define LEFT 56
#define RIGHT 8
#define TOP 12
#define BOTTOM 28
#define PLOT_W (W - LEFT - RIGHT)
#define PLOT_H (H - TOP - BOTTOM)
#define GRID_N 4
#define X_LABELS 6
#define ROW_H 34
#define ROWS_MAX 12
#define NAME_MAX_CHARS 40

str chart_short(struct arena *a, int64_t value)
{
	static const char units[] = { 'k', 'M', 'G', 'T' };
	int64_t tenths = value;
	size_t unit = 0;

	if (value < 1000)
		return arena_fmt(a, "%lld", (long long)value);
	tenths = (value + 50) / 100;
	while (tenths >= 10000 && unit < sizeof units - 1) {
		tenths = (tenths + 500) / 1000;
		unit++;
	}
	return tenths % 10 ? arena_fmt(a, "%lld.%lld%c", (long long)(tenths / 10),
				       (long long)(tenths % 10), units[unit])
			   : arena_fmt(a, "%lld%c", (long long)(tenths / 10), units[unit]);
}

static int64_t value_at(const struct chart *c, size_t i, size_t s)
{
	int64_t v = c->values[i * c->series_n + s];

	return v > 0 ? v : 0;
}

static int64_t total_at(const struct chart *c, size_t i)
{
	int64_t sum = 0;

	for (size_t s = 0; s < c->series_n; s++)
		sum += value_at(c, i, s);
	return sum;
}

/* The highest there is: of stacks, or of single values. */
static int64_t highest(const struct chart *c)
{
	int64_t max = 0;

	for (size_t i = 0; i < c->n; i++) {
		int64_t v = c->kind == CHART_CURVES ? 0 : total_at(c, i);
		for (size_t s = 0; c->kind == CHART_CURVES && s < c->series_n; s++)
			v = value_at(c, i, s) > v ? value_at(c, i, s) : v;
		max = v > max ? v : max;
	}
	return max;
}

/* The top of the axis: GRID_N steps of 1, 2 or 5 times a power of ten. */
static int64_t axis_top(int64_t max)
{
	int64_t step = 1;

	for (;;) {
		static const int64_t nice[] = { 1, 2, 5 };
		for (size_t i = 0; i < COUNT(nice); i++)
			if (max <= GRID_N * step * nice[i])
				return GRID_N * step * nice[i];
		if (step > INT64_MAX / 100)
			return max;
		step *= 10;
	}
}

/* value of top, over length units, in hundredths. */
static int64_t scaled(int64_t value, int64_t top, int64_t length)
{
	return (int64_t)((double)value / (double)top * (double)length * 100);
}

static void number(struct buf *b, const char *name, int64_t hundredths)
{
	buf_fmt(b, " %s=\"%lld.%02lld\"", name, (long long)(hundredths / 100),
		(long long)(hundredths % 100));
}

static void rect(struct buf *b, int colour, int64_t x, int64_t y, int64_t w, int64_t h)
{
	buf_fmt(b, "<rect class=\"f%d\"", colour);
	number(b, "x", x);
	number(b, "y", y);
	number(b, "width", w);
	number(b, "height", h);
	buf_add(b, S("/>\n"));
}

static void grid(struct buf *b, struct arena *a, const struct chart *c, int64_t top)
{
	for (int64_t i = 0; i <= GRID_N; i++) {
		int64_t y = TOP + PLOT_H - PLOT_H * i / GRID_N;
		buf_fmt(b,
			"<line class=\"grid-line\" x1=\"%d\" x2=\"%d\" y1=\"%lld\" "
			"y2=\"%lld\"/>"
			"<text x=\"%d\" y=\"%lld\" text-anchor=\"end\">",
			LEFT, W - RIGHT, (long long)y, (long long)y, LEFT - 6,
			(long long)y + 4);
		page_text(b, a, c->show(a, top / GRID_N * i));
		buf_add(b, S("</text>\n"));
	}
}

/* Some of the labels, evenly, so that they do not touch. */
static void x_labels(struct buf *b, struct arena *a, const struct chart *c)
{
	size_t every = (c->n + X_LABELS - 1) / X_LABELS;

	for (size_t i = 0; i < c->n; i += every ? every : 1) {
		int64_t x =
			LEFT * 100 + PLOT_W * 100 * (2 * (int64_t)i + 1) / (2 * (int64_t)c->n);
		buf_add(b, S("<text text-anchor=\"middle\""));
		number(b, "x", x);
		buf_fmt(b, " y=\"%d\">", H - 8);
		page_text(b, a, text_line(a, c->labels[i], 10));
		buf_add(b, S("</text>\n"));
	}
}

static void columns(struct buf *b, const struct chart *c, int64_t top)
{
	int64_t slot = PLOT_W * 100 / (int64_t)c->n, width = slot * 3 / 4;

	width = width > 6000 ? 6000 : width < 100 ? 100 : width;
	for (size_t i = 0; i < c->n; i++) {
		int64_t x = LEFT * 100 + slot * (int64_t)i + (slot - width) / 2;
		int64_t y = (TOP + PLOT_H) * 100;
		for (size_t s = 0; s < c->series_n; s++) {
			int64_t h = scaled(value_at(c, i, s), top, PLOT_H);
			if (value_at(c, i, s) > 0 && h < 50)
				h = 50; /* little is still something */
			y -= h;
			if (h)
				rect(b, c->colours[s], x, y, width, h);
		}
	}
}

struct spot {
	int64_t x, y; /* hundredths */
	bool there; /* the value is more than nothing */
};

static struct spot spot_of(const struct chart *c, size_t i, size_t s, int64_t top)
{
	int64_t value = value_at(c, i, s);

	return (struct spot){
		.x = LEFT * 100 + PLOT_W * 100 * (2 * (int64_t)i + 1) / (2 * (int64_t)c->n),
		.y = (TOP + PLOT_H) * 100 - scaled(value, top, PLOT_H),
		.there = value > 0,
	};
}

static void curve(struct buf *b, const struct chart *c, size_t s, int64_t top)
{
	buf_fmt(b, "<polyline class=\"curve s%d\" points=\"", c->colours[s]);
	for (size_t i = 0; i < c->n; i++) {
		struct spot at = spot_of(c, i, s, top);
		if (at.there)
			buf_fmt(b, "%lld.%02lld,%lld.%02lld ", (long long)(at.x / 100),
				(long long)(at.x % 100), (long long)(at.y / 100),
				(long long)(at.y % 100));
	}
	buf_add(b, S("\"/>\n"));
	for (size_t i = 0; i < c->n; i++) {
		struct spot at = spot_of(c, i, s, top);
		if (!at.there)
			continue;
		buf_fmt(b, "<circle class=\"f%d\" r=\"3\"", c->colours[s]);
		number(b, "cx", at.x);
		number(b, "cy", at.y);
		buf_add(b, S("/>\n"));
	}
}

static void svg_begin(struct buf *b, int64_t height)
{
	buf_fmt(b, "<svg viewBox=\"0 0 %d %lld\" aria-hidden=\"true\">\n", W,
		(long long)height);
}

static void upright(struct buf *b, struct arena *a, const struct chart *c)
{
	int64_t top = axis_top(highest(c));

	svg_begin(b, H);
	grid(b, a, c, top);
	x_labels(b, a, c);
	if (c->kind == CHART_COLUMNS)
		columns(b, c, top);
	for (size_t s = 0; c->kind == CHART_CURVES && s < c->series_n; s++)
		curve(b, c, s, top);
	buf_add(b, S("</svg>\n"));
}

/* The name above its bar, so that long ones have room on a phone as well. */
static void lying(struct buf *b, struct arena *a, const struct chart *c)
{
	size_t n = c->n < ROWS_MAX ? c->n : ROWS_MAX;
	int64_t top = highest(c);

	svg_begin(b, (int64_t)n * ROW_H + 4);
	for (size_t i = 0; i < n; i++) {
		int64_t y = (int64_t)i * ROW_H, x = 0;
		buf_fmt(b, "<text class=\"name\" x=\"0\" y=\"%lld\">", (long long)y + 14);
		page_text(b, a, text_line(a, c->labels[i], NAME_MAX_CHARS));
		buf_fmt(b, "</text><text x=\"%d\" y=\"%lld\" text-anchor=\"end\">", W,
			(long long)y + 14);
		page_text(b, a, c->show(a, total_at(c, i)));
		buf_add(b, S("</text>\n"));
		for (size_t s = 0; s < c->series_n; s++) {
			int64_t w = scaled(value_at(c, i, s), top, W);
			if (value_at(c, i, s) > 0 && w < 100)
				w = 100;
			if (w)
				rect(b, c->colours[s], x, (y + 19) * 100, w, 900);
			x += w;
		}
	}
	buf_add(b, S("</svg>\n"));
}

static void legend(struct buf *b, struct arena *a, const struct chart *c)
{
	buf_add(b, S("<ul class=\"legend\">"));
	for (size_t s = 0; s < c->series_n; s++) {
		buf_fmt(b,
			"<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect "
			"class=\"f%d\" "
			"width=\"10\" height=\"10\"/></svg>",
			c->colours[s]);
		page_text(b, a, str_of(c->series[s]));
		buf_add(b, S("</li>"));
	}
	buf_add(b, S("</ul>\n"));
}

static void table(struct buf *b, struct arena *a, const struct chart *c)
{
	size_t cols = c->series_n + 1;
	str *heads = NEWN(a, str, cols), *cells = NEWN(a, str, c->n * cols);

	heads[0] = str_of(c->label);
	for (size_t s = 0; s < c->series_n; s++)
		heads[s + 1] = str_of(c->series[s]);
	for (size_t i = 0; i < c->n; i++) {
		cells[i * cols] = c->labels[i];
		for (size_t s = 0; s < c->series_n; s++)
			cells[i * cols + s + 1] = c->show(a, value_at(c, i, s));
	}
	buf_add(b, S("<details><summary>The numbers</summary>\n"));
	page_table(b, a, heads, cols, cells, c->n);
	buf_add(b, S("</details>\n"));
}

void chart_write(struct buf *b, struct arena *a, const struct chart *c)
{
	buf_fmt(b, "<section><h2>%s</h2>\n", c->title);
	if (c->n == 0 || highest(c) == 0) {
		buf_add(b, S("<p class=\"quiet\">Nothing in this time.</p></section>\n"));
		return;
	}
	if (c->kind == CHART_ROWS)
		lying(b, a, c);
	else
		upright(b, a, c);
	if (c->series_n > 1)
		legend(b, a, c);
	if (c->note)
		buf_fmt(b, "<p class=\"quiet\">%s</p>\n", c->note);
	table(b, a, c);
	buf_add(b, S("</section>\n"));
}
