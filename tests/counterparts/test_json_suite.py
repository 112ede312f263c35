"""The JSON reader against the public JSONTestSuite: y_ files are accepted, n_ files refused."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_json_reader_passes_the_public_suite(rig):
    cases = rig.modules / "json-test-suite" / "test_parsing"
    assert len(list(cases.glob("[yn]_*.json"))) > 250
    subprocess.run(["make", "-s", "build/unit/test_text_json"], cwd=ROOT, check=True)
    done = subprocess.run(["build/unit/test_text_json"], cwd=ROOT, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, GANTRY_JSONTESTSUITE=str(cases)), timeout=120)
    assert done.returncode == 0, done.stdout
    assert "[       OK ] the_public_suite_is_accepted_and_refused_as_its_names_say" in done.stdout
