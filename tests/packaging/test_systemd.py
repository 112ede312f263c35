"""The unit is one that systemd takes, and it is as closed as gantry and its tools can bear."""

import json
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
# Of ten; 10 is a service that may do everything.  What the rest is made of stands in the unit.
EXPOSURE_MAX = 3.5


@pytest.fixture
def root(tree, static, tmp_path):
    """A root that holds what the unit speaks of."""
    unit = tmp_path / "etc/systemd/system/gantry.service"
    unit.parent.mkdir(parents=True)
    shutil.copy(tree / "packaging/systemd/gantry.service", unit)
    for path in "usr/bin/gantry", "bin/kill":
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(static, tmp_path / path)
    shutil.copytree("/lib/systemd/system", tmp_path / "lib/systemd/system", symlinks=True)
    return tmp_path


def analyze(*words):
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=120)


def test_systemd_takes_every_line(root):
    r = analyze("verify", "--root=%s" % root, "gantry.service")
    ours = [line for line in (r.stdout + r.stderr).splitlines() if "gantry" in line]
    assert not ours, ours


def test_a_wrong_line_would_be_seen(root):
    unit = root / "etc/systemd/system/gantry.service"
    unit.write_text(unit.read_text().replace("ProtectClock=yes", "ProtectClocks=yes"))
    r = analyze("verify", "--root=%s" % root, "gantry.service")
    assert "ProtectClocks" in r.stdout + r.stderr


def test_it_is_as_closed_as_it_can_be(root, figures):
    r = analyze("security", "--offline=true", "--root=%s" % root, "--no-pager", "gantry.service")
    exposure = float(re.search(r"Overall exposure level for gantry.service: ([0-9.]+)", r.stdout)[1])
    figures("exposure %.1f" % exposure)
    assert exposure <= EXPOSURE_MAX


def test_what_tools_need_is_left_to_them(tree):
    text = (tree / "packaging/systemd/gantry.service").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for taken in "MemoryDenyWriteExecute=", "RestrictNamespaces=", "ProcSubset=", "PrivateNetwork=":
        assert not any(line.startswith(taken) for line in lines)
    calls = next(line for line in lines if line.startswith("SystemCallFilter="))
    for call in "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp":
        assert call in calls
