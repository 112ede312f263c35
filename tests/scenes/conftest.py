"""Fixtures of the scenes; see harness/fixtures.py for what they give and what they check."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from harness.fixtures import gantry, mcp, model, processes_of  # noqa: E402,F401

import pytest  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Attach what the processes said to the report of a failed test."""
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        text = processes_of(item)
        if text:
            report.sections.append(("processes", text[-20000:]))


def pytest_configure(config):
    config.addinivalue_line("markers", "concurrency: run under ThreadSanitizer too")
    config.addinivalue_line("markers", "long: floods and kills; run once, with the plain build")
