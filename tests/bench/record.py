"""
What a run of `make bench` leaves: the figures as JSON, each with its target and whether it is
met, and a plot of the series as SVG.  Nothing is run or measured here.
"""

import datetime
import html
import json
import os
import re
import subprocess

WIDTH, HEIGHT, LEFT, TOP, PLOT_W, PLOT_H, GAP = 1080, 340, 60, 64, 270, 200, 80
COLOURS = {"p50": "#1f6feb", "p99": "#d1242f"}


def said_by(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def machine():
    """What the figures depend on, as far as it can be read."""
    with open("/proc/cpuinfo") as f:
        model = re.search(r"^model name\s*:\s*(.*)$", f.read(), re.M)
    with open("/proc/meminfo") as f:
        kib = int(re.search(r"^MemTotal:\s+(\d+)", f.read(), re.M).group(1))
    return {"processor": model.group(1) if model else os.uname().machine, "cores": os.cpu_count(),
            "memory_mib": kib // 1024, "kernel": os.uname().release, "load": round(os.getloadavg()[0], 2)}


def origin():
    """Of which commit this is, when it was run and where."""
    return {"commit": said_by("git", "rev-parse", "HEAD") or "unknown",
            "changed": bool(said_by("git", "status", "--porcelain", "--untracked-files=no")),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "compiler": said_by(os.environ.get("CC", "gcc"), "--version").partition("\n")[0],
            "machine": machine()}


def number(text):
    """A figure as it is printed, or None where there is none."""
    return float(text) if re.fullmatch(r"-?\d+(\.\d+)?", str(text)) else None


def limit(target, others):
    """The number that "<= 25" or "<= 1.5 + commits" asks for, None for none or when it is not known."""
    m = re.match(r"(<=|>=) ([\d.]+)( \+ commits)?$", target)
    if not m:
        return None
    if not m[3]:
        return float(m[2])
    each, n = others.get("store commit p50, on disk"), others.get("commits per turn")
    return None if each is None or n is None else round(float(m[2]) + each * n, 3)


def figure(row, others):
    value, wanted = number(row["value"]), limit(row["target"], others)
    met = None
    if value is not None and wanted is not None:
        met = value >= wanted if row["target"].startswith(">=") else value <= wanted
    text = row["target"]
    out = {"name": row["name"], "value": value, "unit": row["unit"], "target": wanted, "met": met}
    if text and (wanted is None or "commits" in text):
        out["note"] = text
    return out


def figures(rows):
    others = {r["name"]: number(r["value"]) for r in rows}
    return [figure(r, others) for r in rows]


def verdict(found):
    """One line about the targets, and one for each that is missed."""
    judged = [f for f in found if f["met"] is not None]
    missed = [f for f in judged if not f["met"]]
    lines = ["%d of %d targets met" % (len(judged) - len(missed), len(judged))]
    return lines + ["  missed: %(name)s: %(value)g %(unit)s, wanted %(target)g" % f for f in missed]


# --- the plot --------------------------------------------------------------------------------


def nice(top):
    """A round number that is not below top, and how it is divided."""
    size = 1e-6
    while True:
        for step in (1, 2, 5):
            if step * size * 5 >= top:
                return step * size * 5, step * size
        size *= 10


def text(x, y, what, **more):
    attrs = "".join(' %s="%s"' % (k.replace("_", "-"), v) for k, v in more.items())
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (x, y, attrs, html.escape(str(what)))


def short(n):
    return "%dk" % (n // 1000) if n >= 1000 and n % 1000 == 0 else str(n)


def panel(left, title, unit, points):
    """points: [(x, {"p50": y, ...})]; x stands at equal distances, as the sizes are powers of ten."""
    top, step = nice(max(v for _, ys in points for v in ys.values()) * 1.05)
    out = [text(left, TOP - 12, title, font_weight="bold")]
    for i in range(6):
        y = TOP + PLOT_H - PLOT_H * i / 5
        out.append('<path d="M%d %.1fh%d" stroke="#8884" fill="none"/>' % (left, y, PLOT_W))
        out.append(text(left - 6, y + 4, "%g" % round(step * i, 6), text_anchor="end"))
    at = [left + PLOT_W * (i + .5) / len(points) for i in range(len(points))]
    for x, (size, _) in zip(at, points):
        out.append(text(x, TOP + PLOT_H + 18, short(size), text_anchor="middle"))
    for name in points[0][1]:
        ys = [TOP + PLOT_H - PLOT_H * ys[name] / top for _, ys in points]
        line = " ".join("%.1f,%.1f" % p for p in zip(at, ys))
        dash = "" if name == "p50" else ' stroke-dasharray="5 4"'
        out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>' % (line, COLOURS[name], dash))
        for x, y, (size, v) in zip(at, ys, points):
            out.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %s %g %s</title></circle>'
                       % (x, y, COLOURS[name], size, name, v[name], unit))
            out.append(text(x, y - 8, "%.2f" % v[name], text_anchor="middle", fill=COLOURS[name]))
    return out


def plot(series, where):
    """The series, side by side: [{"title", "unit", "points"}]."""
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">'
           % (WIDTH, HEIGHT), '<rect width="100%" height="100%" fill="#fff"/>']
    out.append(text(LEFT, 24, "gantry: own time of a turn, ms (%s), solid p50, dashed p99" % where["how"],
                    font_size=15, font_weight="bold"))
    for i, s in enumerate(series):
        out += panel(LEFT + i * (PLOT_W + GAP), s["title"], s["unit"], s["points"])
    m = where["machine"]
    out.append(text(LEFT, HEIGHT - 16, "%.12s%s, %s, %d x %s, Linux %s, %s" % (
        where["commit"], " with changes" if where["changed"] else "", where["date"], m["cores"], m["processor"],
        m["kernel"], where["compiler"]), fill="#666"))
    return "\n".join(out + ["</svg>", ""])


def write(path, rows, series, failures, more):
    """path, and the plot beside it when there are series; (the figures, the files)."""
    found = figures(rows)
    about = {**origin(), **more}
    parts = {path: json.dumps({**about, "figures": found, "series": series, "failed": failures}, indent=1) + "\n"}
    if series:
        parts[os.path.splitext(path)[0] + ".svg"] = plot(series, about)
    for name, content in parts.items():
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name + ".part", "w", encoding="utf-8") as f:
            f.write(content)
        os.replace(name + ".part", name)
    return found, list(parts)
