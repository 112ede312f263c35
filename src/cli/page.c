/*
 * The frame of a page.  It is well-formed XML too, so that any parser can check it.
 */
#include "cli/page.h"

#include "text/entity.h"
#include "text/text.h"

#define CELL_MAX 160

/* The colours by name, as CSS variables, in light and dark.  Texts stand out from page and card by
 * 4.5 and marks by 3 (WCAG AA), which a test reckons. */
static const struct colour {
	const char *name, *light, *dark;
} colours[] = {
	{ "page", "#f3f4f7", "#101318" },  { "card", "#ffffff", "#191d24" },
	{ "line", "#d9dde4", "#323944" },  { "text", "#1c222b", "#e7eaf0" },
	{ "quiet", "#57606d", "#a5afbd" }, { "c0", "#2166ac", "#6aa9ea" },
	{ "c1", "#b25b06", "#eda159" },    { "c2", "#2b7a3d", "#74c182" },
	{ "c3", "#bf2a2a", "#f0807f" },    { "c4", "#6b4fa3", "#b59ce8" },
	{ "c5", "#667080", "#97a2b2" },
};

static const char style[] =
	"*{box-sizing:border-box}\n"
	"body{margin:0;padding:1rem;background:var(--page);color:var(--text);"
	"font:1rem/1.45 system-ui,sans-serif}\n"
	"main{max-width:74rem;margin:0 auto}\n"
	"h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.05rem;margin:0 0 .5rem}\n"
	"p{margin:.2rem 0 1rem}.quiet{color:var(--quiet)}\n"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:."
	"75rem;"
	"margin:0 0 .75rem;padding:0}\n"
	".tiles div,section{background:var(--card);border:1px solid var(--line);"
	"border-radius:.6rem;padding:.9rem}\n"
	".tiles dt{color:var(--quiet);font-size:.85rem}.tiles dd{margin:0;font-size:1.35rem;"
	"font-weight:600;overflow-wrap:break-word}\n"
	".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));"
	"gap:.75rem}\n"
	"section{min-width:0}svg{display:block;width:100%;height:auto}\n"
	"svg text{fill:var(--quiet);font:13px system-ui,sans-serif}\n"
	"svg .grid-line{stroke:var(--line);stroke-width:1}\n"
	"svg .name{fill:var(--text)}\n"
	".f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}.f3{fill:var(--c3)}"
	".f4{fill:var(--c4)}.f5{fill:var(--c5)}\n"
	".s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}"
	".s4{stroke:var(--c4)}.s5{stroke:var(--c5)}\n"
	".curve{fill:none;stroke-width:2.5;stroke-linejoin:round}\n"
	".legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.3rem 0 0;padding:0;"
	"list-style:none;font-size:.85rem}\n"
	".legend svg{display:inline-block;width:.8rem;height:.8rem;margin-right:.35rem;"
	"vertical-align:-.08rem}\n"
	"details{margin-top:.6rem;font-size:.85rem}summary{cursor:pointer;color:var(--quiet)}\n"
	".scroll{overflow-x:auto;max-height:22rem}\n"
	"table{border-collapse:collapse;margin-top:.4rem;width:100%}\n"
	"th,td{padding:.2rem .5rem;border-bottom:1px solid var(--line);text-align:right;"
	"white-space:nowrap}\n"
	"th:first-child,td:first-child{text-align:left;white-space:normal;min-width:9rem;"
	"overflow-wrap:anywhere}\n"
	"svg rect{stroke:var(--card);stroke-width:.5}\n"
	".wide{margin-top:.75rem}\n";

void page_text(struct buf *b, struct arena *a, str s)
{
	str rest = text_visible(a, s, true);

	while (rest.n) {
		bool quote = str_has(rest, S("'"));
		text_escape(b, str_cut(&rest, '\''));
		buf_add(b, quote ? S("&#39;") : S(""));
	}
}

static void variables(struct buf *b, bool dark)
{
	buf_add(b, S(":root{"));
	for (size_t i = 0; i < COUNT(colours); i++)
		buf_fmt(b, "--%s:%s;", colours[i].name,
			dark ? colours[i].dark : colours[i].light);
	buf_add(b, S("}"));
}

void page_begin(struct buf *b, str title)
{
	buf_fmt(b,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'\"/>\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		"<meta name=\"color-scheme\" content=\"light dark\"/>\n"
		"<meta name=\"referrer\" content=\"no-referrer\"/>\n"
		"<title>%.*s</title>\n<style>\n",
		STRF(title));
	variables(b, false);
	buf_add(b, S("\n@media (prefers-color-scheme: dark){"));
	variables(b, true);
	buf_add(b, S("}\n"));
	buf_add(b, str_of(style));
	buf_add(b, S("</style>\n</head>\n<body>\n<main>\n"));
}

void page_end(struct buf *b)
{
	buf_add(b, S("</main>\n</body>\n</html>\n"));
}

void page_table(struct buf *b, struct arena *a, const str *heads, size_t cols, const str *cells,
		size_t n)
{
	buf_add(b, S("<div class=\"scroll\"><table><thead><tr>"));
	for (size_t c = 0; c < cols; c++) {
		buf_add(b, S("<th scope=\"col\">"));
		page_text(b, a, heads[c]);
		buf_add(b, S("</th>"));
	}
	buf_add(b, S("</tr></thead><tbody>\n"));
	for (size_t i = 0; i < n; i++) {
		buf_add(b, S("<tr>"));
		for (size_t c = 0; c < cols; c++) {
			buf_add(b, c ? S("<td>") : S("<td><bdi>"));
			page_text(b, a, text_line(a, cells[i * cols + c], CELL_MAX));
			buf_add(b, c ? S("</td>") : S("</bdi></td>"));
		}
		buf_add(b, S("</tr>\n"));
	}
	buf_add(b, S("</tbody></table></div>"));
}
