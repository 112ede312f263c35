"""`make release` on a scratch clone with a bare remote: all or nothing."""

import os
import re
import shutil
import subprocess

import pytest


class Clone:
    def __init__(self, tree, folder):
        self.remote, self.dir = folder / "remote.git", folder / "clone"
        self.git("init", "-q", "--bare", "-b", "main", self.remote, at=folder)
        self.git("clone", "-q", self.remote, self.dir, at=folder)
        self.git("checkout", "-q", "-B", "main")
        (self.dir / "scripts").mkdir()
        for name in "Makefile", "scripts/release":
            shutil.copy(tree / name, self.dir / name)
        (self.dir / "VERSION").write_text("0.1.0\n")
        self.changelog("## 0.1.0 (unreleased)\n\n- The first.\n")
        self.commit()
        self.git("push", "-q", "origin", "main")

    def git(self, *words, at=None):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *map(str, words)], cwd=at or self.dir,
                              check=True, capture_output=True, text=True).stdout.strip()

    def changelog(self, section):
        (self.dir / "CHANGELOG.md").write_text("# Changelog\n\nWords.\n\n%s" % section)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")

    def release(self, *words, code=0):
        env = {**os.environ, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid", "GIT_COMMITTER_NAME": "t",
               "GIT_COMMITTER_EMAIL": "t@example.invalid", "MAKEFLAGS": ""}
        r = subprocess.run(["make", "-s", "release", *words], cwd=self.dir, capture_output=True, text=True, env=env, timeout=120)
        assert (r.returncode == 0) == (code == 0), r.stdout + r.stderr
        return r.stdout + r.stderr

    def pushed(self):
        return self.git("ls-remote", "--tags", self.remote), self.git("ls-remote", "--heads", self.remote).split()[0]


@pytest.fixture
def clone(tree, tmp_path):
    return Clone(tree, tmp_path)


def next_changes(clone):
    text = (clone.dir / "CHANGELOG.md").read_text()
    (clone.dir / "CHANGELOG.md").write_text(text.replace("Words.\n\n", "Words.\n\n## Next (unreleased)\n\n- More.\n\n", 1))
    clone.commit()


def test_versions_go_up(clone):
    assert "released v0.1.0" in clone.release()
    tags, head = clone.pushed()
    assert "refs/tags/v0.1.0" in tags and head == clone.git("rev-parse", "HEAD")
    assert re.search(r"^## 0\.1\.0 \(\d{4}-\d\d-\d\d\)$", (clone.dir / "CHANGELOG.md").read_text(), re.M)
    assert clone.git("cat-file", "-t", "v0.1.0") == "tag"
    for words, version in ((), "0.1.1"), (("BUMP=minor",), "0.2.0"), (("BUMP=major",), "1.0.0"), (("TAG=v2.3.4",), "2.3.4"):
        next_changes(clone)
        assert "released v" + version in clone.release(*words)
        assert (clone.dir / "VERSION").read_text() == version + "\n"
        assert "refs/tags/v" + version in clone.pushed()[0]
        assert clone.git("status", "--porcelain") == ""


def refused(clone, why, *words):
    before = clone.git("rev-parse", "HEAD"), clone.git("tag"), clone.pushed(), (clone.dir / "VERSION").read_text()
    assert why in clone.release(*words, code=1)
    assert (clone.git("rev-parse", "HEAD"), clone.git("tag"), clone.pushed(), (clone.dir / "VERSION").read_text()) == before


def test_changes_that_are_not_committed_refuse(clone):
    (clone.dir / "new").write_text("x")
    refused(clone, "not committed")


def test_another_branch_refuses(clone):
    clone.git("checkout", "-q", "-b", "side")
    refused(clone, "not on main")


@pytest.mark.parametrize("words, why", [(("BUMP=huge",), "BUMP is"), (("TAG=2.0.0",), "TAG is"), (("TAG=v1.2",), "TAG is"),
                                        (("TAG=v01.2.3",), "TAG is"), (("TAG=v0.0.9",), "older"),
                                        (("BUMP=minor", "TAG=v1.0.0"), "not both")])
def test_wrong_words_refuse(clone, words, why):
    refused(clone, why, *words)


def test_nothing_to_tell_refuses(clone):
    clone.changelog("## 0.1.0 (unreleased)\n\n## 0.0.9 (2026-01-01)\n\n- Old.\n")
    clone.commit()
    refused(clone, "no change")
    clone.changelog("## 0.1.0 (2026-01-01)\n\n- Old.\n")
    clone.commit()
    refused(clone, "unreleased")


def test_a_tag_that_exists_refuses(clone):
    clone.git("tag", "v0.2.0")
    refused(clone, "tagged already", "BUMP=minor")


def test_a_clone_that_is_behind_refuses(clone, tmp_path):
    clone.git("clone", "-q", clone.remote, tmp_path / "other", at=tmp_path)
    (tmp_path / "other/new").write_text("x")
    clone.git("add", "-A", at=tmp_path / "other")
    clone.git("commit", "-q", "-m", "theirs", at=tmp_path / "other")
    clone.git("push", "-q", at=tmp_path / "other")
    refused(clone, "behind")


def test_a_push_that_fails_leaves_nothing(clone):
    hook = clone.remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    refused(clone, "the push failed")
    hook.unlink()
    clone.release()


def test_without_a_remote_it_refuses(clone):
    clone.git("remote", "set-url", "origin", clone.dir / "nowhere")
    assert "cannot be reached" in clone.release(code=1)
    assert clone.git("tag") == ""


def test_the_workflows_call_targets_that_exist(tree):
    yaml = pytest.importorskip("yaml")
    targets = set(re.findall(r"^([a-z][a-z-]*):", (tree / "Makefile").read_text(), re.M))
    for name in "ci", "release":
        flow = yaml.safe_load((tree / ".github/workflows" / (name + ".yml")).read_text())
        assert flow["jobs"]
        for job in flow["jobs"].values():
            for step in job["steps"]:
                assert ("run" in step) != ("uses" in step)
                for line in re.findall(r"^make ([^|\n]*)", re.sub(r"\$\{\{.*?\}\}", "X", step.get("run", "")), re.M):
                    for word in line.split():
                        assert "=" in word or word in targets, word
                for script in re.findall(r"\bscripts/[a-z-]+", step.get("run", "")):
                    assert os.access(tree / script, os.X_OK), script


def test_the_badge_shows_the_total(tree, tmp_path):
    (tmp_path / "out").write_text(" 12.5%     99 lines  src/a.c\n 87.6%  12345 lines  in all\n")
    svg = subprocess.run([tree / "scripts/badge", tmp_path / "out"], check=True, capture_output=True, text=True).stdout
    assert "87%" in svg and "<svg" in svg
    (tmp_path / "out").write_text("nothing\n")
    assert subprocess.run([tree / "scripts/badge", tmp_path / "out"], capture_output=True).returncode == 1
