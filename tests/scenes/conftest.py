"""Fixtures of the scenes; see harness/fixtures.py for what they give and what they check."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness.bot import bot, chats_of  # noqa: E402,F401
from harness.figures import figures, pytest_terminal_summary  # noqa: E402,F401
from harness.fixtures import gantry, mcp, model  # noqa: E402,F401

import pytest  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Attach what the processes said to the report of a failed test."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        text = chats_of(item)
        if text:
            report.sections.append(("processes", text[-30000:]))


def pytest_configure(config):
    config.addinivalue_line("markers", "concurrency: run under ThreadSanitizer too")
    config.addinivalue_line("markers", "long: floods and kills; run once, with the plain build")
