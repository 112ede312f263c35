"""Figures that a test wants to be read, beside whether it passed."""

import pytest


@pytest.fixture
def figures(record_property):
    """figures(text): a line that stands at the end of the run, also when the test passed."""
    return lambda text: record_property("figures", text)


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        if report.when == "call":
            for name, text in report.user_properties:
                if name == "figures":
                    terminalreporter.write_line("%s: %s" % (report.nodeid.rpartition("::")[2], text))
