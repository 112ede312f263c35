"""
The least that could be called an agent, as a floor for tests/bench/compare.py: it polls, asks the
model with the last twenty messages and sends what it says.  No tools, no database, no policy, no
second try.  That it answers after a death is Telegram's doing, which gives once more what no
later poll has confirmed; what was said before is forgotten then.

usage: reference.py MODEL_URL KEY MODEL BOT_API TOKEN USER
"""

import http.client
import json
import sys
import urllib.parse

MODEL, KEY, NAME, API, TOKEN, USER = sys.argv[1:7]


class Link:
    """A connection that is kept."""

    def __init__(self, url):
        self.url = urllib.parse.urlsplit(url)
        kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
        self.conn = kind(self.url.hostname, self.url.port, timeout=90)

    def post(self, path, body, **headers):
        self.conn.request("POST", self.url.path + path, json.dumps(body), {"Content-Type": "application/json", **headers})
        return json.load(self.conn.getresponse())


poll, send, model = Link(API), Link(API), Link(MODEL)
offset, past = 0, []
poll.post("/bot%s/getMe" % TOKEN, {})
while True:
    got = poll.post("/bot%s/getUpdates" % TOKEN, {"offset": offset, "timeout": 30, "allowed_updates": ["message"]})
    for update in got["result"]:
        offset, message = update["update_id"] + 1, update["message"]
        if str(message["from"]["id"]) != USER:
            continue
        past.append({"role": "user", "content": message["text"]})
        answer = model.post("/chat/completions", {"model": NAME, "messages": past[-20:]}, Authorization="Bearer " + KEY)
        text = answer["choices"][0]["message"]["content"]
        past.append({"role": "assistant", "content": text})
        past = past[-20:]
        send.post("/bot%s/sendMessage" % TOKEN, {"chat_id": message["chat"]["id"], "text": text})
