"""
A Bot API for very many bots at once, over TLS 1.3: it knows who they are, takes what they set,
and lets each wait for updates that never come.  One process, one thread, asyncio.

It judges nothing: tests/scenes/fakes/telegram.py is the strict one, for one bot.
"""

import asyncio
import json
import multiprocessing
import re
import ssl
import urllib.parse

REQUEST = re.compile(r"(?:GET|POST) /bot(\d+):[\w-]+/(\w+)")


class Polls:
    """The server as a process of its own; .waiting polls wait now, .served answers were given."""

    def __init__(self, cert, key):
        self.shared = multiprocessing.Array("q", 3)
        mine, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self._main, args=(str(cert), str(key), theirs), daemon=True)
        self.process.start()
        self.url = "https://127.0.0.1:%d" % mine.recv()

    @property
    def waiting(self):
        return self.shared[0]

    @property
    def served(self):
        return self.shared[1]

    @property
    def strange(self):
        """Connections that did not speak TLS 1.3."""
        return self.shared[2]

    def close(self):
        self.process.terminate()
        self.process.join()

    # In the process -----------------------------------------------------------------------

    def _main(self, cert, key, pipe):
        asyncio.run(self._run(cert, key, pipe))

    async def _run(self, cert, key, pipe):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(cert, key)
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context, backlog=4096, limit=1 << 14,
                                            ssl_handshake_timeout=600)
        pipe.send(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    async def _serve(self, reader, writer):
        if writer.get_extra_info("ssl_object").version() != "TLSv1.3":
            self.shared[2] += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"^content-length:\s*(\d+)", head, re.I | re.M)
                body = await reader.readexactly(int(length[1])) if length else b""
                answer = json.dumps(await self._answer(head, body)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                             % (len(answer), answer))
                await writer.drain()
                self.shared[1] += 1
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    async def _answer(self, head, body):
        m = REQUEST.match(head)
        if not m:
            return {"ok": False, "error_code": 404, "description": "Not Found"}
        if m[2] == "getMe":
            return {"ok": True, "result": {"id": int(m[1]), "is_bot": True, "first_name": "B", "username": "b%s_bot" % m[1],
                                           "can_join_groups": True, "can_read_all_group_messages": False,
                                           "supports_inline_queries": False}}
        if m[2] == "getWebhookInfo":
            return {"ok": True, "result": {"url": "", "has_custom_certificate": False, "pending_update_count": 0}}
        if m[2] != "getUpdates":
            return {"ok": True, "result": True}
        await self._wait(float(self._parameters(body).get("timeout", 0)))
        return {"ok": True, "result": []}

    @staticmethod
    def _parameters(body):
        if body[:1] == b"{":
            return json.loads(body)
        return dict(urllib.parse.parse_qsl(body.decode()))

    async def _wait(self, seconds):
        self.shared[0] += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self.shared[0] -= 1
