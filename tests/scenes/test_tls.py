"""The way to the model is encrypted and checked: unknown authorities, wrong names and old TLS are refused."""

import socket
import ssl
import subprocess
import threading
import urllib.parse

import pytest

from fakes.model import call


def certificate(folder, name, san):
    """A self-signed certificate for san; (certificate, key)."""
    cert, key = folder / (name + ".pem"), folder / (name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=" + san,
                    "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    return {"ours": certificate(folder, "ours", "IP:127.0.0.1"),
            "other": certificate(folder, "other", "DNS:elsewhere.example")}


class Front:
    """TLS on a port of its own before a plain endpoint."""

    def __init__(self, backend, cert, key, configure=None):
        self.backend = urllib.parse.urlsplit(backend)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cert, key)
        if configure:
            configure(self.context)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.versions, self.threads = [], []
        self.url = "https://127.0.0.1:%d%s" % (self.socket.getsockname()[1], self.backend.path)
        self.thread = threading.Thread(target=self._accept)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                raw, _ = self.socket.accept()
            except OSError:
                return
            t = threading.Thread(target=self._serve, args=(raw,))
            t.start()
            self.threads.append(t)

    def _serve(self, raw):
        with raw:
            try:
                outer = self.context.wrap_socket(raw, server_side=True)
            except (ssl.SSLError, OSError):
                return
            with outer, socket.create_connection((self.backend.hostname, self.backend.port)) as inner:
                self.versions.append(outer.version())
                back = threading.Thread(target=self._copy, args=(inner, outer))
                back.start()
                self._copy(outer, inner)
                back.join()

    @staticmethod
    def _copy(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except (OSError, ssl.SSLError):
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for t in [self.thread, *self.threads]:
            t.join()


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
