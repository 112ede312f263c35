"""Certificates, and TLS before a plain endpoint."""

import socket
import ssl
import subprocess
import threading
import urllib.parse


def certificate(folder, name, san):
    """A self-signed certificate for san; (certificate, key)."""
    cert, key = folder / (name + ".pem"), folder / (name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=" + san,
                    "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


class Front:
    """TLS on a port of its own before a plain endpoint."""

    def __init__(self, backend, cert, key, configure=None, address=("127.0.0.1", 0)):
        self.backend = urllib.parse.urlsplit(backend)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(cert, key)
        if configure:
            configure(self.context)
        self.socket = socket.create_server(address)
        self.versions, self.threads, self.arrived, self.silent = [], [], [], False
        self.url = "https://%s:%d%s" % (*self.socket.getsockname(), self.backend.path)
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
            self.arrived.append(raw)
            if self.silent:             # accepted, and never a word of the handshake
                while raw.recv(4096):
                    pass
                return
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
