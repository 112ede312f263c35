"""Markdown for Telegram against every example of CommonMark's specification."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = "console.log(JSON.stringify(require(process.argv[1]).tests))"


def test_every_example_renders_to_what_telegram_takes(rig, tmp_path):
    made = subprocess.run([rig.node, "-e", EXAMPLES, str(rig.modules / "commonmark-spec")], check=True,
                          stdout=subprocess.PIPE, timeout=60).stdout
    assert len(json.loads(made)) > 600
    (tmp_path / "examples.json").write_bytes(made)
    subprocess.run(["make", "-s", "build/unit/test_text_tghtml"], cwd=ROOT, check=True)
    done = subprocess.run(["build/unit/test_text_tghtml"], cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, GANTRY_COMMONMARK=str(tmp_path / "examples.json")), timeout=300)
    assert done.returncode == 0, done.stdout
    assert "[       OK ] every_example_of_commonmark_is_valid" in done.stdout
