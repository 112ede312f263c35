"""
The container image: no engine here, so its root is laid out by the script that the Dockerfile calls
and run as an engine would: uid 65532, a root that is read-only, the mounts alone writable.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from fakes.model import Model

UID = "65532"


@pytest.fixture
def root(tree, static, tmp_path):
    made = tmp_path / "root"
    subprocess.run([tree / "scripts/container-root", made, static], check=True)
    return made


@pytest.fixture
def mounts(tree, tmp_path):
    """Seed one's layout, below deploy/."""
    deploy = tmp_path / "deploy"
    for name in "persona", "data", "secrets":
        (deploy / name).mkdir(parents=True)
    (deploy / "persona/PERSONA.md").write_text("You are a test.\n")
    (deploy / "mcp.toml").write_text("")
    (deploy / "secrets/key").write_text("k")
    if os.geteuid() == 0:
        for path in [deploy, *deploy.rglob("*")]:
            os.chown(path, int(UID), int(UID))
        (deploy / "secrets/key").chmod(0o400)
    return deploy


def dockerfile(tree):
    return (tree / "packaging/Dockerfile").read_text()


def inside(tree, root, mounts, env, *words):
    """The command line that runs words in the image, with the environment of the Dockerfile."""
    if not shutil.which("bwrap"):
        pytest.skip("bwrap is not installed")
    settings = dict(pair.split("=", 1) for pair in re.search(r"^ENV (.*)$", dockerfile(tree), re.M)[1].split())
    line = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--uid", UID, "--gid", UID,
            "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
            "--ro-bind", mounts / "persona", "/persona", "--ro-bind", mounts / "mcp.toml", "/etc/gantry/mcp.toml",
            "--bind", mounts / "data", "/data", "--ro-bind", mounts / "secrets", "/secrets",
            "--chdir", "/data", "--clearenv"]
    for name, value in {**settings, **env}.items():
        line += ["--setenv", name, value]
    return [str(w) for w in (*line, "/usr/local/bin/gantry", *words)]


def as_user(command):
    if os.geteuid() != 0:
        return command
    return ["setpriv", "--reuid", UID, "--regid", UID, "--clear-groups", *command]


@pytest.fixture
def reachable(tmp_path):
    """The user of the image has to be able to come here."""
    if os.geteuid() == 0:
        for path in [tmp_path, *tmp_path.parents]:
            if path.owner() == "root" and path != pathlib.Path("/") and not path.stat().st_mode & 0o001:
                path.chmod(path.stat().st_mode | 0o011)


def test_a_daemon_talks_in_a_root_that_is_read_only(tree, root, mounts, reachable):
    model = Model().start()
    model.reply("Hello from the image")
    env = {"CHANNEL": "stdio", "LLM_BASE_URL": model.url, "LLM_API_KEY_FILE": "/secrets/key", "LLM_MODEL": "m",
           "CRON_TZ": "Asia/Tokyo"}
    p = subprocess.Popen(as_user(inside(tree, root, mounts, env, "run")), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.stdin.write("hi\n")
    p.stdin.flush()
    answer = p.stdout.readline()
    if answer != "Hello from the image\n":
        p.kill()
        raise AssertionError(answer + p.stderr.read())
    healthy = subprocess.run(as_user(inside(tree, root, mounts, env, *health(tree)[1:])), capture_output=True, text=True, timeout=60)
    assert healthy.returncode == 0, healthy.stderr
    p.stdin.close()
    assert p.wait(60) == 0
    log = p.stderr.read()
    p.stdout.close()
    p.stderr.close()
    model.stop()
    assert (mounts / "data/gantry.db").exists()
    assert "JST" in model.requests[0].user or "+09" in model.requests[0].user or "Tokyo" in model.requests[0].user
    assert "Read-only file system" not in log


def health(tree):
    return json.loads(re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", dockerfile(tree), re.M)[1])


def test_without_a_daemon_the_health_check_fails(tree, root, mounts, reachable):
    env = {"LLM_BASE_URL": "http://127.0.0.1:9", "LLM_API_KEY": "k", "LLM_MODEL": "m", "CHANNEL": "stdio"}
    r = subprocess.run(as_user(inside(tree, root, mounts, env, *health(tree)[1:])), capture_output=True, text=True, timeout=60)
    assert r.returncode == 1
    assert "no daemon" in r.stderr
    assert not (mounts / "data/gantry.db").exists()


def test_nothing_else_is_in_the_image(root):
    files = sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir() and "zoneinfo" not in p.parts)
    assert files == ["etc/gantry/mcp.toml", "etc/group", "etc/passwd", "etc/ssl/certs/ca-certificates.crt",
                     "usr/local/bin/gantry"]
    assert "65532:65532:gantry:/data" in (root / "etc/passwd").read_text()


# The Dockerfile ------------------------------------------------------------------------------

def instructions(text):
    """(word, rest) of each instruction, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M)
    text = re.sub(r"\\\n", " ", text)
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def faults(text):
    """What a linter would say of it, as far as it matters here."""
    found, stages = [], 0
    rows = instructions(text)
    known = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME", "HEALTHCHECK", "ENTRYPOINT", "CMD", "ARG", "LABEL"}
    for word, rest in rows:
        if word not in known:
            found.append("%s is no instruction that is used here" % word)
        if word == "FROM":
            stages += 1
            image = rest.split()[0]
            if image != "scratch" and (":" not in image or image.endswith(":latest")):
                found.append("%s has no version" % image)
        if word == "RUN" and "apt-get install" in rest:
            if "--no-install-recommends" not in rest or "rm -rf /var/lib/apt/lists" not in rest or "apt-get update" not in rest:
                found.append("apt-get install leaves something behind, or has no lists")
        if word in ("ENTRYPOINT", "CMD") or (word == "HEALTHCHECK" and rest != "NONE"):
            form = rest[rest.find("CMD") + 3:].strip() if word == "HEALTHCHECK" else rest
            try:
                ok = isinstance(json.loads(form), list)
            except ValueError:
                ok = False
            if not ok:
                found.append("%s needs a shell, and there is none" % word)
        if word == "RUN" and stages and rows[[i for i, r in enumerate(rows) if r[0] == "FROM"][stages - 1]][1].startswith("scratch"):
            found.append("RUN in an image without a shell")
        if word == "ADD":
            found.append("ADD fetches and unpacks; use COPY")
    last = [r for r in rows if r[0] == "USER"]
    if not last or last[-1][1].split(":")[0] in ("0", "root"):
        found.append("the last USER is root")
    return found


def test_the_dockerfile_has_no_fault(tree):
    text = dockerfile(tree)
    assert faults(text) == []
    rows = instructions(text)
    froms = [rest for word, rest in rows if word == "FROM"]
    assert len(froms) == 2 and froms[-1] == "scratch"
    assert health(tree) == ["/usr/local/bin/gantry", "status"]
    assert ("USER", "65532:65532") in rows
    assert any(word == "ENV" and "HOME=/data" in rest for word, rest in rows)
    for word, rest in rows:
        if word == "COPY" and not rest.startswith("--from"):
            assert rest == ". ."
    for ignored in "deploy", ".env", "build":
        assert ignored in (tree / ".dockerignore").read_text().split()


@pytest.mark.parametrize("change", [("FROM debian:12-slim", "FROM debian"), ("USER 65532:65532\n", "USER root\n"),
                                    ("FROM scratch\n", "FROM scratch\nRUN true\n"),
                                    ('CMD ["/usr/local/bin/gantry", "status"]', "CMD gantry status"),
                                    (" --no-install-recommends", ""), ("COPY . .", "ADD . .")])
def test_each_fault_of_a_dockerfile_is_seen(tree, change):
    text = dockerfile(tree)
    assert change[0] in text
    assert faults(text.replace(*change))


# Compose and Kubernetes --------------------------------------------------------------------

def test_compose_has_the_layout_of_the_mounts(tree):
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load((tree / "packaging/compose.yml").read_text())["services"]["gantry"]
    assert service["volumes"] == ["./deploy/persona:/persona:ro", "./deploy/mcp.toml:/etc/gantry/mcp.toml:ro",
                                  "./deploy/data:/data", "./deploy/secrets:/secrets:ro"]
    assert service["healthcheck"]["test"] == ["CMD", *health(tree)]
    assert service["read_only"] is True and service["user"] == "65532:65532"
    assert service["build"]["dockerfile"] == "packaging/Dockerfile"
    assert "ports" not in service


def test_kubernetes_runs_one_of_it(tree):
    yaml = pytest.importorskip("yaml")
    doc = yaml.safe_load((tree / "packaging/kubernetes/gantry.yaml").read_text())
    assert doc["kind"] == "StatefulSet" and doc["spec"]["replicas"] == 1
    assert doc["spec"]["selector"]["matchLabels"].items() <= doc["spec"]["template"]["metadata"]["labels"].items()
    pod = doc["spec"]["template"]["spec"]
    box = pod["containers"][0]
    assert pod["securityContext"]["runAsUser"] == 65532 and pod["securityContext"]["runAsNonRoot"]
    assert box["securityContext"]["readOnlyRootFilesystem"] and not box["securityContext"]["allowPrivilegeEscalation"]
    assert box["livenessProbe"]["exec"]["command"] == health(tree)
    volumes = {v["name"] for v in pod["volumes"]} | {v["metadata"]["name"] for v in doc["spec"]["volumeClaimTemplates"]}
    assert {m["name"] for m in box["volumeMounts"]} == volumes
    assert {m["mountPath"] for m in box["volumeMounts"] if not m.get("readOnly")} == {"/data", "/tmp"}
    assert "ports" not in box
