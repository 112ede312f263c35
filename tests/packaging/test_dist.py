"""What a release consists of: the same bytes twice, a bill of materials, a package that comes and goes."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from conftest import architecture


def run(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, **more).stdout


def deb(packed):
    return next(packed.glob("*.deb"))


def test_packing_twice_gives_the_same_bytes(tree, static, packed, tmp_path):
    """Also a day later, by another umask and in another zone."""
    copy = tmp_path / "gantry"
    shutil.copy(static, copy)
    os.utime(copy, (1, 1))
    subprocess.run(["sh", "-c", 'umask 077; exec "$@"', "sh", tree / "scripts/dist", architecture(), copy, tmp_path / "again"],
                   check=True, env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"})
    names = sorted(p.name for p in packed.iterdir())
    assert sorted(p.name for p in (tmp_path / "again").iterdir()) == names and len(names) == 2
    for name in names:
        assert (packed / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_the_tarball_holds_one_folder_of_nobody(packed, static):
    with tarfile.open(next(packed.glob("*.tar.gz"))) as tar:
        members = tar.getmembers()
        gantry = next(m for m in members if m.name.endswith("/gantry") and m.isfile())
        assert tar.extractfile(gantry).read() == static.read_bytes()
    assert {(m.uid, m.gid, m.uname) for m in members} == {(0, 0, "")}
    assert gantry.mode == 0o755
    tops = {m.name.split("/")[1] for m in members if m.name.count("/")}
    assert len(tops) == 1
    for wanted in "README.md", "LICENSE", "CHANGELOG.md", "docs/operating.md", "systemd/gantry.service":
        assert any(m.name.endswith("/" + wanted) for m in members)


# The bill of materials ------------------------------------------------------------------------

@pytest.fixture(scope="module")
def sbom(tree):
    return json.loads(run(tree / "scripts/sbom", architecture()))


def test_the_bill_is_valid_spdx(sbom):
    assert sbom["spdxVersion"] == "SPDX-2.3" and sbom["dataLicense"] == "CC0-1.0"
    assert sbom["SPDXID"] == "SPDXRef-DOCUMENT" and sbom["documentNamespace"].startswith("https://")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", sbom["creationInfo"]["created"])
    assert all(re.match(r"(Tool|Person|Organization): ", c) for c in sbom["creationInfo"]["creators"])
    ids = [p["SPDXID"] for p in sbom["packages"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i) for i in ids)
    for p in sbom["packages"]:
        assert p["name"] and p["versionInfo"] and p["downloadLocation"] and p["filesAnalyzed"] is False
        assert re.fullmatch(r"[A-Za-z0-9.+-]+( WITH [A-Za-z0-9.-]+)?", p["licenseConcluded"])
    for r in sbom["relationships"]:
        assert {r["spdxElementId"], r["relatedSpdxElement"]} <= {*ids, "SPDXRef-DOCUMENT"}
        assert r["relationshipType"] in ("DESCRIBES", "STATIC_LINK", "PATCH_FOR")
    assert {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-gantry"} in sbom["relationships"]


def test_every_part_of_the_program_is_in_the_bill(tree, sbom):
    linked = set(re.search(r"^pkg_libs := (-lcurl .*)$", (tree / "Makefile").read_text(), re.M)[1].split())
    part = {"-lcurl": "curl", "-lssl": "openssl", "-lcrypto": "openssl", "-lz": "zlib",
            "-lsqlite3": "sqlite", "-ljansson": "jansson", "-lyaml": "libyaml", "-lpcre2-8": "pcre2", "-lmd4c": "md4c",
            "-lgumbo": "gumbo", "-lm": "musl"}
    named = {p["name"]: p for p in sbom["packages"]}
    for library in linked:
        assert part[library] in named
    hashes = {p["packageFileName"]: p["checksums"][0]["checksumValue"] for p in sbom["packages"] if "packageFileName" in p}
    for line in (tree / "scripts/static/sources").read_text().splitlines():
        if line and not line.startswith("#") and not re.search(r"_(amd64|arm64)\.deb\s", line.replace(architecture(), "")):
            _, file, sha, *_ = line.split()
            assert hashes[file] == sha
    assert named["libgcc"]["checksums"]


def test_a_part_without_a_licence_is_an_error(tree, tmp_path):
    shutil.copytree(tree / "scripts", tmp_path / "scripts")
    shutil.copy(tree / "VERSION", tmp_path)
    with open(tmp_path / "scripts/static/sources", "a") as f:
        f.write("newlib newlib_1.0.orig.tar.gz %s D/n/newlib\n" % ("0" * 64))
    r = subprocess.run([tmp_path / "scripts/sbom"], capture_output=True, text=True)
    assert r.returncode != 0 and "newlib" in r.stderr


# The Debian package -------------------------------------------------------------------------

def test_the_package_holds_what_it_should(packed):
    listing = run("dpkg-deb", "--contents", deb(packed))
    rows = {line.split()[-1]: line.split()[:2] for line in listing.splitlines()}
    assert rows["./usr/bin/gantry"] == ["-rwxr-xr-x", "root/root"]
    assert rows["./etc/gantry/"][0] == "drwxr-x---"
    assert rows["./etc/gantry/gantry.env"][0] == "-rw-r-----"
    for wanted in "./lib/systemd/system/gantry.service", "./usr/share/doc/gantry/copyright", "./usr/share/doc/gantry/changelog.gz", \
            "./usr/share/doc/gantry/docs/operating.md", "./usr/share/doc/gantry/sbom.spdx.json":
        assert rows[wanted][0] == "-rw-r--r--"
    fields = run("dpkg-deb", "--field", deb(packed))
    assert "Depends: adduser, ca-certificates, tzdata" in fields
    assert "Architecture: %s\n" % architecture() in fields


def test_lintian_has_no_error(packed):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    # Static on purpose, without a bug number and packaged by itself.
    allowed = ("statically-linked-binary", "initial-upload-closes-no-bugs", "no-changelog", "embedded-library",
               "changelog-file-missing-in-native-package", "no-manual-page", "no-copyright-file")
    r = subprocess.run(["lintian", "--allow-root", "--fail-on", "none", deb(packed)], capture_output=True, text=True)
    errors = [line for line in r.stdout.splitlines() if line.startswith("E:") and not any(a in line for a in allowed)]
    assert not errors


BASE = os.environ.get("GANTRY_DEBIAN_ROOT", "")


@pytest.fixture
def machine(tmp_path, packed):
    """A bare Debian of its own; GANTRY_DEBIAN_ROOT names one made by debootstrap."""
    if not BASE or os.geteuid() != 0:
        pytest.skip("needs root, and GANTRY_DEBIAN_ROOT=a folder made by debootstrap")
    root = tmp_path / "debian"
    run("cp", "-a", "--reflink=auto", BASE, root)
    shutil.copy(deb(packed), root / "gantry.deb")
    (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")

    def inside(command, code=0):
        r = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c",
                            'mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -ec "$2"', "sh",
                            root, command], capture_output=True, text=True, timeout=300,
                           env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"})
        assert code is None or r.returncode == code, r.stdout + r.stderr
        return r.stdout
    inside.root = root
    # The dependencies are there, or taken as they are: this is about our own scripts.
    inside("dpkg -i /gantry.deb || dpkg -i --force-depends /gantry.deb")
    return inside


def test_install_start_upgrade_remove_purge(machine):
    root = machine.root
    assert "gantry" in machine("id -nu gantry")
    assert machine("stat -c '%a %U %G' /etc/gantry /etc/gantry/gantry.env /var/lib/gantry").split("\n")[:3] == \
        ["750 root gantry", "640 root gantry", "700 gantry gantry"]
    # It starts as its user, reads its settings, and answers.
    out = machine("""cd /var/lib/gantry
        setpriv --reuid gantry --regid gantry --clear-groups env -i HOME=/var/lib/gantry PATH=/usr/bin:/bin CHANNEL=stdio \
        LLM_BASE_URL=http://127.0.0.1:9/v1 LLM_API_KEY=k LLM_MODEL=m PERSONA_DIR=/etc/gantry/persona \
        MCP_MANIFEST=/etc/gantry/mcp.toml DATA_DIR=/var/lib/gantry gantry run </dev/null 2>&1; ls /var/lib/gantry""")
    assert '"ready"' in out and "gantry.db" in out
    # What the administrator wrote and what gantry remembers outlive an upgrade and a removal.
    (root / "etc/gantry/gantry.env").write_text("LLM_MODEL=mine\n")
    machine("dpkg -i --force-depends --force-confold /gantry.deb")
    assert (root / "etc/gantry/gantry.env").read_text() == "LLM_MODEL=mine\n"
    assert (root / "var/lib/gantry/gantry.db").exists()
    machine("dpkg --remove gantry")
    assert not (root / "usr/bin/gantry").exists()
    assert (root / "etc/gantry/gantry.env").exists() and (root / "var/lib/gantry/gantry.db").exists()
    machine("dpkg -i --force-depends /gantry.deb")
    assert (root / "var/lib/gantry/gantry.db").exists()
    machine("dpkg --purge gantry")
    assert not (root / "etc/gantry").exists() and not (root / "var/lib/gantry").exists()
    assert "gantry" in machine("id -nu gantry")


def test_the_package_holds_a_page_for_each_command_and_completions(packed, static):
    commands = re.findall(r"^  ([a-z]+) ", run(static, "--help"), re.M)
    held = run("dpkg-deb", "--contents", deb(packed))
    for name in ["man1/gantry.1.gz", "man5/gantry.yaml.5.gz", *("man1/gantry-%s.1.gz" % c for c in commands)]:
        assert "./usr/share/man/%s\n" % name in held
    for name in "bash-completion/completions/gantry", "zsh/vendor-completions/_gantry", "fish/vendor_completions.d/gantry.fish":
        assert "./usr/share/%s\n" % name in held
