"""Figures are shown here as they are in the scenes; the fakes are theirs too."""

import os
import pathlib
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests" / "scenes"))

from harness.figures import figures, pytest_terminal_summary  # noqa: E402,F401


@pytest.fixture(scope="session")
def tree():
    return TREE


@pytest.fixture(scope="session")
def static():
    return pathlib.Path(os.environ["GANTRY_STATIC"]).resolve()


@pytest.fixture(scope="session")
def packed(tree, static, tmp_path_factory):
    """The tarball and the package of this machine's kind."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([tree / "scripts" / "dist", architecture(), static, out], check=True)
    return out


def architecture():
    return {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
