"""Figures are shown here as they are in the scenes."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "scenes"))

from harness.figures import figures, pytest_terminal_summary  # noqa: E402,F401
