"""The way to the model is encrypted and checked: unknown authorities, wrong names and old TLS are refused."""

import json
import socket
import ssl

import pytest

from fakes.model import call
from harness.tls import Front, certificate


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return {"ours": certificate(folder, "ours", "IP:127.0.0.1"),
            "other": certificate(folder, "other", "DNS:elsewhere.example")}


@pytest.fixture
def front(model, certificates):
    made = []

    def make(which, configure=None):
        made.append(Front(model.url, *certificates[which], configure))
        return made[-1]
    yield make
    for f in made:
        f.close()


def test_a_certificate_of_the_given_bundle_is_taken(gantry, model, front, certificates):
    f = front("ours")
    model.reply("Hello")
    r = gantry.talk("hi", LLM_BASE_URL=f.url, SSL_CERT_FILE=str(certificates["ours"][0]))
    assert r.out == "Hello\n"
    assert f.versions[0] in ("TLSv1.2", "TLSv1.3")


def test_rounds_of_a_turn_share_one_tls_connection(gantry, model, front, mcp, certificates):
    mcp.add("srv", tools=["echo"])
    f = front("ours")
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("Hello")
    r = gantry.talk("hi", LLM_BASE_URL=f.url, SSL_CERT_FILE=str(certificates["ours"][0]))
    assert r.out == "Hello\n"
    assert len(f.versions) == 1


@pytest.mark.parametrize("which, trusted", [("ours", None), ("ours", "other"), ("other", "other")],
                         ids=["unknown authority", "another authority", "another name"])
def test_a_certificate_that_proves_nothing_is_refused(gantry, model, front, certificates, which, trusted):
    f = front(which)
    r = gantry.talk("hi", LLM_BASE_URL=f.url,
                    SSL_CERT_FILE=str(certificates[trusted][0]) if trusted else None)
    assert "certificate" in r.out + r.err
    assert not model.requests


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_before_1_2_is_refused(gantry, model, front, certificates):
    def old(context):
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    r = gantry.talk("hi", LLM_BASE_URL=front("ours", old).url,
                    SSL_CERT_FILE=str(certificates["ours"][0]))
    assert "TLS" in r.out + r.err
    assert not model.requests


def test_of_two_authorities_with_one_name_the_right_one_is_found(gantry, model, front, certificates, tmp_path):
    rival = certificate(tmp_path, "ours", "IP:127.0.0.1")[0].read_bytes()
    right = certificates["ours"][0].read_bytes()
    bundle = tmp_path / "bundle.pem"
    model.reply("Hello")
    for text, answer in ((b"words before\n" + rival + right, True), (right + b"\n" + rival, True), (rival, False)):
        bundle.write_bytes(text)
        model.reply("Hello")
        r = gantry.talk("hi", LLM_BASE_URL=front("ours").url, SSL_CERT_FILE=str(bundle))
        assert (r.out == "Hello\n") == answer
        assert answer or "certificate" in r.out + r.err


@pytest.mark.parametrize("text", [None, "", "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"],
                         ids=["missing", "empty", "nonsense"])
def test_a_bundle_that_holds_nothing_is_said(gantry, model, front, tmp_path, text):
    bundle = tmp_path / "bundle.pem"
    if text is not None:
        bundle.write_text(text)
    r = gantry.talk("hi", LLM_BASE_URL=front("ours").url, SSL_CERT_FILE=str(bundle))
    assert f"CA file {bundle} holds no certificate that can be read" in r.out + r.err
    assert not model.requests


BROKEN = {"nonsense": lambda right: b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n",
          "no end": lambda right: right[:len(right) // 2 + 7].rstrip() + b"\n",
          "shortened": lambda right: b"\n".join(right.splitlines()[:3] + right.splitlines()[-1:]) + b"\n"}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_certificate_is_left_out_and_named(gantry, model, front, certificates, tmp_path, how):
    right = certificates["ours"][0].read_bytes()
    other = certificates["other"][0].read_bytes()
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(other + BROKEN[how](right) + right)
    model.reply("Hello")
    r = gantry.talk("hi", LLM_BASE_URL=front("ours").url, SSL_CERT_FILE=str(bundle))
    assert r.out == "Hello\n"
    said = [json.loads(line) for line in r.err.splitlines() if '"http.ca"' in line]
    assert [(line["certificate"], line["file"]) for line in said] == [(2, str(bundle))]
