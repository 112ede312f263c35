"""
When schedules are due, reckoned by the documented rules over Python's time zones: day by day, with no
code of the program's.
"""

import bisect
import datetime

UTC = datetime.timezone.utc
HOUR = 3600
NAMES = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10,
         "nov": 11, "dec": 12, "sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}


def stamp(*ymd):
    return int(datetime.datetime(*ymd, tzinfo=UTC).timestamp())


def offset(zone, at):
    return int(zone.fromutc(datetime.datetime.fromtimestamp(at, UTC).replace(tzinfo=zone)).utcoffset().total_seconds())


def changes(zone, spans):
    """Instants at which the offset changes, a little beyond the spans of years."""
    out = []
    for first, last in spans:
        at, end = stamp(first - 1, 12, 1), stamp(last + 3, 2, 1)
        before = offset(zone, at)
        while at < end:
            after = offset(zone, at + 6 * HOUR)
            if after != before:
                low, high = at, at + 6 * HOUR
                while high - low > 1:
                    mid = (low + high) // 2
                    low, high = (mid, high) if offset(zone, mid) == before else (low, mid)
                out.append(high)
                before = after
            at += 6 * HOUR
    return out


def numbers(text, low, high):
    out = set()
    for item in text.lower().split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            first, last = low, high
        else:
            first = NAMES.get(first, first)
            last = NAMES.get(last, last) if last else (high if step else first)
        out |= set(range(int(first), int(last) + 1, int(step or 1)))
    return out


class Reckoning:
    """Our documented rules, day by day, over Python's zones."""

    def __init__(self, zones, spans):
        self.zones, self.changes = zones, {name: changes(z, spans) for name, z in zones.items()}

    def near(self, name, at, reach):
        all_ = self.changes[name]
        i = bisect.bisect_left(all_, at - reach)
        return i < len(all_) and all_[i] <= at + reach

    def instant(self, name, wall):
        """The first instant at which the clock shows wall or later."""
        zone, at = self.zones[name], wall - 15 * HOUR
        all_ = self.changes[name]
        i = bisect.bisect_right(all_, at - 30 * HOUR)
        at -= 30 * HOUR
        while True:
            until = all_[i] if i < len(all_) else at + 10 ** 9
            got = max(wall - offset(zone, at), at)
            if got < until:
                return got
            at, i = until, i + 1

    def next(self, expr, name, start):
        zone = self.zones[name]
        f = expr.split()
        minutes, hours = sorted(numbers(f[0], 0, 59)), sorted(numbers(f[1], 0, 23))
        days, months = numbers(f[2], 1, 31), numbers(f[3], 1, 12)
        weekdays = {d % 7 for d in numbers(f[4], 0, 6)}
        both = f[2].startswith("*") or f[4].startswith("*")

        def day_fits(day):
            d, w = day.day in days, day.isoweekday() % 7 in weekdays
            return day.month in months and ((d and w) if both else (d or w))

        day = datetime.datetime.fromtimestamp(start + offset(zone, start), UTC).date() - datetime.timedelta(days=2)
        for _ in range(366 * 30):
            if day_fits(day):
                base = stamp(day.year, day.month, day.day)
                if len(hours) == 24:
                    at = self.real(name, base, minutes, start)
                else:
                    at = min((t for t in (self.instant(name, base + h * HOUR + m * 60) for h in hours for m in minutes)
                              if t > start), default=None)
                    # What the clock had shown by then already is not due again.
                if at is not None:
                    return at
            day += datetime.timedelta(days=1)
        return None

    def real(self, name, base, minutes, start):
        """Of all hours: each real minute whose clock shows it, first and second pass alike."""
        zone, wanted = self.zones[name], set(minutes)
        at = max(start + 60 - start % 60, base - 15 * HOUR)
        if at > base + 40 * HOUR:
            return None
        while at < base + 40 * HOUR:
            wall = at + offset(zone, at)
            if base <= wall < base + 24 * HOUR and wall // 60 % 60 in wanted:
                return at
            at += 60
        return None
