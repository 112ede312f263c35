"""The static program as it is shipped: one file, hardened, at home in an empty root."""

import json
import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
GANTRY = os.environ["GANTRY_STATIC"]
ECHO = os.environ["GANTRY_STATIC_ECHO"]
# More than that, and somebody has to look at what fills it.  The last to come in were tool servers behind
# URLs, signing in to them, and schemas.
SIZE_MAX = 5_200_000
EMPTY_NAMESPACE = ["unshare", "--map-root-user", "--net", "--mount"]


def readelf(*flags):
    return subprocess.run(["readelf", "-W", *flags, GANTRY], check=True, capture_output=True, text=True).stdout


def test_it_needs_no_library_and_no_loader():
    assert "INTERP" not in readelf("-l")
    assert "NEEDED" not in readelf("-d")


def test_it_is_hardened():
    headers, dynamic = readelf("-l"), readelf("-d")
    assert re.search(r"Elf file type is DYN", headers)      # its place is random
    assert re.search(r"GNU_STACK .* RW ", headers)
    assert "GNU_RELRO" in headers
    assert re.search(r"FLAGS_1.*NOW.*PIE", dynamic)
    assert not re.search(r"LOAD .* RWE", headers)


def test_it_is_small(figures):
    size = os.path.getsize(GANTRY)
    figures("%d bytes" % size)
    assert size <= SIZE_MAX


def test_it_holds_no_path_of_the_machine_that_made_it():
    data = pathlib.Path(GANTRY).read_bytes()
    for path in (os.path.expanduser("~/.cache"), str(HERE.parents[1]) + "/src"):
        assert path.encode() not in data


def test_a_conversation_in_an_empty_root(tmp_path):
    if subprocess.run([*EMPTY_NAMESPACE, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives no network namespace")
    r = subprocess.run([*EMPTY_NAMESPACE, "/usr/bin/python3", str(HERE / "inside.py"), GANTRY, ECHO,
                        str(tmp_path / "root")], capture_output=True, text=True, timeout=120)
    assert r.returncode == 0, r.stderr
    seen = json.loads(r.stdout)
    assert seen["code"] == 0, seen["err"]
    assert seen["out"] == "Done.\n"
    assert seen["results"] == ["from the empty root"]       # a child ran
    assert set(seen["tls"]) == {"TLSv1.3"}
    assert "0001" in seen["asked"]                          # the name server was asked
    assert seen["database"]
