"""
The schema checker against the public JSON-Schema-Test-Suite, each draft that it claims, optional
files and formats too.  What it judges otherwise is listed with the reason, and nothing else may be.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "build" / "unit" / "test_text_schema"

# Where a file does not say which draft it is meant for, its folder does.
DRAFTS = {"draft6": "http://json-schema.org/draft-06/schema#", "draft7": "http://json-schema.org/draft-07/schema#",
          "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
          "draft2020-12": "https://json-schema.org/draft/2020-12/schema"}


# What is judged otherwise than the suite says, and why.
FETCHED = "it is in another document, and none is ever fetched: what is there allows everything"
WORDS = "the words of a vocabulary that a fetched document leaves out are known all the same"
INTERNATIONAL = "names in all scripts are not held to the rules of each: a format of that name passes"
RARE = "a format that is not held to: it passes"
REQUIRED = {
    r"refRemote\.json: ": FETCHED,
    r"ref\.json: remote ref, containing refs itself: ": FETCHED,
    r"(definitions|defs)\.json: validate definition against metaschema: ": FETCHED,
    r"dynamicRef\.json: strict-tree schema, guards against misspelled properties: instance with correct field": FETCHED,
    r"dynamicRef\.json: tests for implementation dynamic anchor and reference link: ": FETCHED,
    r"dynamicRef\.json: \$ref and \$dynamicAnchor are independent of order - .* first: ": FETCHED,
    r"dynamicRef\.json: \$ref to \$dynamicRef finds detached \$dynamicAnchor: ": FETCHED,
    r"vocabulary\.json: schema that uses custom metaschema with with no validation vocabulary: ": WORDS,
}
OPTIONAL = {
    r"cross-draft\.json: refs to future drafts are processed as future drafts: ": FETCHED,
    r"format-assertion\.json: schema that uses custom metaschema with format-assertion: ":
        "whether formats count is the caller's choice, not that of a document that would have to be fetched",
    r"content\.json: ": "contentMediaType and contentEncoding are notes, as later drafts have them",
    r"unknownKeyword\.json: \$id inside an unknown keyword is not a real identifier: ":
        "an $id is one below any word but enum, const, default and examples",
}
FORMATS = {
    r"ecmascript-regex\.json: \\a is not an ECMA 262 control escape": "our own regular expressions know \\a",
    r"(idn-email|idn-hostname|iri|iri-reference)\.json: ": INTERNATIONAL,
    r"(uri-template|relative-json-pointer)\.json: ": RARE,
}


def judged(folder, draft, tmp_path, formats):
    """What is judged otherwise than the suite says, as "file: group: test", and how many are not."""
    for path in sorted(folder.glob("*.json")):
        groups = json.loads(path.read_text(encoding="utf-8"))
        for group in groups:
            if isinstance(group["schema"], dict):
                group["schema"] = dict({"$schema": DRAFTS[draft]}, **group["schema"])
        (tmp_path / path.name).write_text(json.dumps(groups), encoding="utf-8")
    env = dict(os.environ, GANTRY_SCHEMASUITE=str(tmp_path), **({"GANTRY_SCHEMASUITE_FORMATS": "1"} if formats else {}))
    done = subprocess.run([str(UNIT)], cwd=ROOT, stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=env, timeout=300)
    good, bad = map(int, re.search(r"(\d+) as the suite says, (\d+) not", done.stdout).groups())
    wrong = [m for m in re.findall(r"^([\w.-]+\.json: .*): -?\d+ .*$", done.stdout, re.M)]
    assert len(wrong) == bad, done.stdout
    return wrong, good


@pytest.fixture(scope="module")
def unit():
    subprocess.run(["make", "-s", "build/unit/test_text_schema"], cwd=ROOT, check=True)


@pytest.mark.parametrize("part, formats, reasons", [("", False, REQUIRED), ("optional", False, OPTIONAL),
                                                    ("optional/format", True, FORMATS)],
                         ids=["required", "optional", "formats"])
def test_drafts_are_judged_as_the_suite_says_and_no_reason_outlives_what_it_excused(unit, schema_suite, tmp_path, part,
                                                                                   formats, reasons):
    used = set()
    for draft in DRAFTS:
        place = tmp_path / draft
        place.mkdir()
        wrong, good = judged(schema_suite / draft / part, draft, place, formats)
        print("%s %s: %d as the suite says, %d not" % (draft, part, good, len(wrong)))
        assert good > 80
        assert [w for w in wrong if not any(re.match(r, w) for r in reasons)] == []
        used.update(r for r in reasons if any(re.match(r, w) for w in wrong))
    assert set(reasons) - used == set()
