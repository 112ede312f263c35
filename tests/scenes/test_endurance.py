"""An hour of what `make endurance` runs for days: nothing is late, lost or left behind."""

import argparse
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "endurance"))
import endurance  # noqa: E402


@pytest.mark.long
def test_an_hour_with_everything_on_lose_nothing_and_are_never_late(tmp_path):
    opt = argparse.Namespace(hours=1, warm=0, seed=7, step=15)
    found = endurance.run(opt, tmp_path)
    # In the first hour the database fills and the program warms up: growth is judged by the long run.
    bad = ["%s: %s" % (what, figures) for what, good, figures in found if not good and not what.endswith("grow")]
    assert len(found) > 10 and not bad, "\n".join(bad)
