#!/usr/bin/python3
"""
A Bot API server on 127.0.0.1, stricter than the real one, with the chats as people see them.

In a test (fixture bot):
    bot.say("hello")                              a message of the allowed user in the private chat
    bot.say("@test_bot hi", chat=GROUP)           chats are made by group(), forum(), user()
    bot.photo(PNG, "what is this?", album="g1")
    bot.press(message, "Yes")                     by a button's label or data
    bot.wait_text("tulip")                        wait until a person sees it; the Message
    bot.seen(chat)                                what the bot's messages there say now
    bot.fail("sendMessage", flood=3)              the next call ends so: see Fault

Whatever it refuses is also a violation, which fails the test at its end, unless a substring of
it stands in bot.tolerate.  Errors made on command are none.

Alone: fakes/telegram.py [--port N] [--token T] reads "CHAT TEXT" lines and prints what is seen.
"""

import asyncio
import collections
import copy
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness.telegram_check import Api, Refused, bad, check_buttons, text_of, utf16  # noqa: E402
from harness.watch import Board  # noqa: E402

TOKEN = "123456789:AAtest-T0ken_0123456789abcdefghijkl"
BOT_ID, NAME = 123456789, "test_bot"
ALLOWED, STRANGER = 111, 999
ACTIONS = ("typing", "upload_photo", "upload_document", "record_video", "upload_video", "record_voice",
           "upload_voice", "choose_sticker", "find_location")
TO_CHAT = ("sendMessage", "editMessageText", "editMessageReplyMarkup", "sendPhoto", "sendDocument", "sendChatAction")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
                    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082")


class Fault:
    """How a call ends instead of well.  One of:

    flood=SECONDS           429 with retry_after
    error=(CODE, TEXT[, PARAMETERS])
    http=STATUS, body=BYTES a raw answer, of kind text/html unless told
    cut=BYTES               the real answer, and after so many bytes of its body the end
    hang=True               no answer, the connection stays open until the client leaves
    dead=True               the head of a chunked answer and then nothing
    reset=True              the connection is reset
    gate=Gate               the real answer, once the gate opens

    done: whether the call takes effect first (of cut, hang, dead and reset; always with a gate).
    skip: so many calls pass before.  times: so many fail (None: all).
    """

    def __init__(self, method, chat=None, *, times=1, skip=0, match=None, flood=None, error=None, http=None,
                 body=b"<html><body>Bad Gateway</body></html>", kind="text/html", cut=None, hang=False, dead=False,
                 reset=False, gate=None, done=False):
        self.method, self.chat, self.times, self.skip, self.match = method, chat, times, skip, match
        self.flood, self.error, self.http, self.body, self.kind = flood, error, http, body, kind
        self.cut, self.hang, self.dead, self.reset, self.gate = cut, hang, dead, reset, gate
        self.done = done or bool(gate) or cut is not None
        self.hits = 0

    def takes(self, call):
        if self.method not in (None, call.method) or self.times == 0:
            return False
        if self.chat is not None and call.params.get("chat_id") != self.chat:
            return False
        if self.match and not re.search(self.match, call.params.get("text", call.params.get("caption", ""))):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        self.hits += 1
        return True


class Call:
    """One request.  Times are monotonic; description is None when it was answered with ok."""

    def __init__(self, number, connection, method, params, files):
        self.number, self.connection, self.method, self.params, self.files = number, connection, method, params, files
        self.arrived, self.departed, self.dropped = time.monotonic(), None, None
        self.description, self.fault, self.result, self.raw = None, None, None, ("", b"")

    @property
    def chat(self):
        return self.params.get("chat_id")

    @property
    def text(self):
        return self.params.get("text", self.params.get("caption", ""))

    def __repr__(self):
        return "%s(%s)%s" % (self.method, json.dumps(self.params, ensure_ascii=False)[:300],
                             " -> " + self.description if self.description else "")


class Message:
    """A message as it is in its chat now."""

    def __init__(self, chat, message_id, sender):
        self.chat, self.id, self.sender = chat, message_id, sender
        self.text, self.entities, self.html, self.buttons = "", [], None, []
        self.photo = self.document = self.reply_to = self.thread = self.update = None
        self.edits, self.deleted, self.stamps = [], False, [time.monotonic()]
        self.extra = {}

    @property
    def by_bot(self):
        return self.sender["id"] == BOT_ID

    def kinds(self):
        return [e["type"] for e in self.entities]

    def json(self, deep=True):
        out = {"message_id": self.id, "date": 1700000000 + self.id, "from": self.sender, "chat": self.chat.json()}
        if self.thread is not None:
            out["message_thread_id"] = self.thread
            out["is_topic_message"] = True
        field = "caption" if self.photo or self.document else "text"
        if self.text:
            out[field] = self.text
            if self.entities:
                out["entities" if field == "text" else "caption_entities"] = self.entities
        if self.photo:
            out["photo"] = self.photo
        if self.document:
            out["document"] = self.document
        if self.reply_to and deep:
            out["reply_to_message"] = self.reply_to.json(False)
        if self.buttons:
            out["reply_markup"] = {"inline_keyboard": [[{"text": t, "callback_data": d}] for t, d in self.buttons]}
        out.update(self.extra)
        return out

    def __repr__(self):
        return "%d %s%s: %s%s%s%s" % (
            self.id, self.sender["first_name"], " [topic %s]" % self.thread if self.thread else "",
            "(photo) " if self.photo else "(file) " if self.document else "", self.text,
            "".join(" [%s]" % t for t, _ in self.buttons), " (deleted)" if self.deleted else "")


class Chat:
    def __init__(self, chat_id, kind, **more):
        self.id, self.kind, self.more = chat_id, kind, more
        self.messages, self.topics = [], set()
        self.blocked = self.gone = False
        self.moved_to, self.quiet_from, self.quiet_until = None, 0.0, 0.0

    def json(self):
        return {"id": self.id, "type": self.kind, **self.more}

    def get(self, message_id):
        return next((m for m in self.messages if m.id == message_id and not m.deleted), None)


def person(user_id, **more):
    return {"id": user_id, "is_bot": False, "first_name": more.pop("first_name", "U%d" % user_id), **more}


def entities_of(text):
    """Commands and mentions as Telegram marks them."""
    out = []
    for m in re.finditer(r"(?<![\w/@])(/[A-Za-z0-9_]{1,32}(?:@\w{3,32})?|@[A-Za-z]\w{2,31})(?!\w)", text):
        out.append({"type": "bot_command" if m[0][0] == "/" else "mention",
                    "offset": utf16(text[:m.start()]), "length": utf16(m[0])})
    return out


class World:
    """Chats, messages, files and waiting updates; everything under the board's lock."""

    def __init__(self):
        self.board = Board()
        self.me = {"id": BOT_ID, "is_bot": True, "first_name": "Test", "username": NAME,
                   "can_join_groups": True, "can_read_all_group_messages": False, "supports_inline_queries": False}
        self.chats, self.files, self.updates, self.queries = {}, {}, collections.deque(), {}
        self.next_update, self.tail, self.next_message = 926831434, 926831434, 1
        self.album_n = self.file_n = self.query_n = 0
        self.given = []             # ids of updates in the order in which they were confirmed
        self.user(ALLOWED)

    # Chats and what people do in them -----------------------------------------------------------

    def _chat(self, chat):
        with self.board.cond:
            self.chats[chat.id] = chat
        return chat.id

    def user(self, user_id):
        """A private chat whose person has started the bot."""
        return self._chat(Chat(user_id, "private", first_name="U%d" % user_id))

    def group(self, chat_id=-1001132277055, kind="supergroup"):
        return self._chat(Chat(chat_id, kind, title="G"))

    def forum(self, *topics, chat_id=-1001557912345):
        self._chat(Chat(chat_id, "supergroup", title="F", is_forum=True))
        self.chats[chat_id].topics = set(topics)
        return chat_id

    def migrate(self, old, new, announce=True):
        """A group becomes a supergroup."""
        self.group(new)
        with self.board.cond:
            self.chats[old].moved_to = new
        if announce:
            self.say("", old, migrate_to_chat_id=new)
            self.say("", new, migrate_from_chat_id=old)
        return new

    def _new(self, chat, sender):
        m = Message(chat, self.next_message, sender)
        self.next_message += 1
        chat.messages.append(m)
        return m

    def jump_back(self, to=363897059):
        """As after a week without an update: the next ids are lower (only when none waits)."""
        with self.board.cond:
            self.next_update = self.tail = to

    def raw(self, kind, obj):
        """Queue an update of that kind; its id."""
        with self.board.cond:
            update = {"update_id": self.next_update, kind: obj}
            self.next_update += 1
            self.tail = self.next_update
            self.updates.append(update)
            self.board.cond.notify_all()
        self.changed()
        return update["update_id"]

    def changed(self):
        """Something waits for a poll."""

    def say(self, text="", chat=ALLOWED, user=ALLOWED, *, thread=None, reply_to=None, entities=None, **extra):
        """A person writes; the Message.  extra are further members of the Bot API's Message."""
        with self.board.cond:
            m = self._new(self.chats[chat], user if isinstance(user, dict) else person(user))
            m.text, m.thread, m.reply_to, m.extra = text, thread, reply_to, extra
            m.entities = entities_of(text) if entities is None else entities
            obj = copy.deepcopy(m.json())
        m.update = self.raw("message", obj)
        return m

    def _file(self, data, name):
        self.file_n += 1
        file_id = "FILE-%d" % self.file_n
        self.files[file_id] = {"data": data, "path": "photos/%s_%d" % (name, self.file_n)}
        return {"file_id": file_id, "file_unique_id": "u%d" % self.file_n, "file_size": len(data)}

    def photo(self, data=PNG, caption="", chat=ALLOWED, user=ALLOWED, *, album=None, thread=None, **extra):
        """A photo in two sizes, of which data is the larger."""
        small = dict(self._file(b"small", "small.jpg"), width=90, height=90)
        large = dict(self._file(data, "large.jpg"), width=1280, height=1280)
        if album:
            extra["media_group_id"] = album
        with self.board.cond:
            m = self._new(self.chats[chat], person(user))
            m.text, m.photo, m.thread, m.extra = caption, [small, large], thread, extra
            m.entities = entities_of(caption)
            obj = copy.deepcopy(m.json())
        m.update = self.raw("message", obj)
        return m

    def document(self, data, name, mime, caption="", chat=ALLOWED, user=ALLOWED, **extra):
        with self.board.cond:
            m = self._new(self.chats[chat], person(user))
            m.text, m.extra = caption, extra
            m.document = dict(self._file(data, name), file_name=name, mime_type=mime)
            obj = copy.deepcopy(m.json())
        m.update = self.raw("message", obj)
        return m

    def edit(self, message, text):
        """A person edits a message of theirs."""
        with self.board.cond:
            message.text, message.entities = text, entities_of(text)
            obj = dict(copy.deepcopy(message.json()), edit_date=1700009999)
        return self.raw("edited_message", obj)

    def press(self, message, button, user=ALLOWED, chat=None):
        """Press a button, named by its data or the end of its label; the query's id.  chat: pretend it stands there."""
        data = next((d for t, d in message.buttons if button == d or t.endswith(button)), button)
        obj = dict(copy.deepcopy(message.json()))
        if chat is not None:
            obj["chat"] = self.chats[chat].json()
        with self.board.cond:
            self.query_n += 1
            query = str(4611686018427387904 + self.query_n)
            self.queries[query] = None
        self.raw("callback_query", {"id": query, "from": person(user), "message": obj,
                                    "chat_instance": "77", "data": data})
        return query

    # What is seen ------------------------------------------------------------------------------

    def messages(self, chat=ALLOWED, thread=None):
        """The bot's visible messages, oldest first."""
        return [m for m in self.chats[chat].messages if m.by_bot and not m.deleted
                and (thread is None or m.thread == thread)]

    def seen(self, chat=ALLOWED, thread=None):
        return [m.text for m in self.messages(chat, thread)]

    def view(self):
        """All chats as text, for reports."""
        return "\n".join("--- chat %d\n%s" % (c.id, "\n".join("%r" % m for m in c.messages))
                         for c in self.chats.values())

    def wait_text(self, pattern, chat=ALLOWED, thread=None, seconds=None, n=1):
        """Wait until n of the bot's messages match; the n-th."""
        rx = re.compile(pattern, re.S | re.M)

        def look():
            found = [m for m in self.messages(chat, thread) if rx.search(m.text)]
            return found[n - 1] if len(found) >= n else None
        return self.board.wait(look, "%r in chat %s" % (pattern, chat), seconds, self.view)

    def wait_seen(self, n, chat=ALLOWED, thread=None, seconds=None):
        """Wait until the bot has n messages there."""
        self.board.wait(lambda: len(self.messages(chat, thread)) >= n, "%d messages in chat %s" % (n, chat),
                        seconds, self.view)
        return self.messages(chat, thread)


class Methods(World):
    """The methods: each takes checked parameters and returns the result or raises Refused."""

    def __init__(self):
        super().__init__()
        self.commands = None
        self.webhook = ""
        self.allowed_updates = None
        self.bad_photos = set()     # URLs that cannot be fetched

    def _to(self, params):
        chat_id = params["chat_id"]
        if not isinstance(chat_id, int):
            raise bad("chat_id %r is no number" % chat_id)
        chat = self.chats.get(chat_id)
        if chat and chat.moved_to:
            raise Refused("Bad Request: group chat was upgraded to a supergroup chat",
                          migrate_to_chat_id=chat.moved_to)
        if not chat:
            raise bad("chat not found")
        if chat.gone:
            raise Refused("Forbidden: the group chat was deleted", 403)
        if chat.blocked:
            raise Refused("Forbidden: bot was blocked by the user", 403)
        thread = params.get("message_thread_id")
        if thread is not None and thread not in chat.topics:
            raise bad("message thread not found")
        return chat

    def _post(self, params, **content):
        chat = self._to(params)
        reply = params.get("reply_parameters")
        target = chat.get(reply["message_id"]) if reply else None
        if reply and not target and not reply.get("allow_sending_without_reply"):
            raise bad("message to be replied not found")
        markup = params.get("reply_markup")
        buttons = check_buttons(markup)
        m = self._new(chat, {k: self.me[k] for k in ("id", "is_bot", "first_name", "username")})
        m.thread, m.reply_to, m.buttons = params.get("message_thread_id"), target, buttons
        for k, v in content.items():
            setattr(m, k, v)
        return m.json()

    def sendMessage(self, params, files):
        text, entities = text_of(params, "text", 4096)
        return self._post(params, text=text.strip(), entities=entities, html=params["text"])

    def _upload(self, params, files, field):
        if field in files:
            return files[field]
        where = params[field]
        if where.startswith("attach://"):
            if where[9:] not in files:
                raise bad("there is no upload %s" % where[9:])
            return files[where[9:]]
        if not re.match(r"https?://[^\s/]+", where):
            raise bad("wrong file identifier/HTTP URL specified")
        if where in self.bad_photos:
            raise bad("failed to get HTTP URL content")
        return None

    def sendPhoto(self, params, files):
        upload = self._upload(params, files, "photo")
        if upload and not upload[1]:
            raise bad("file must be non-empty")
        text, entities = text_of(params, "caption", 1024)
        size = {"file_id": "sent", "file_unique_id": "s", "width": 1, "height": 1}
        return self._post(params, text=text.strip(), entities=entities, html=params.get("caption"),
                          photo=[size])

    def sendDocument(self, params, files):
        upload = self._upload(params, files, "document")
        text, entities = text_of(params, "caption", 1024)
        if upload and not upload[1]:
            raise bad("file must be non-empty")
        out = {"file_id": "sent", "file_unique_id": "s"}
        if upload:
            self.files["sent-%d" % self.next_message] = {"data": upload[1], "path": "documents/sent"}
            out.update(file_name=upload[0], file_size=len(upload[1]), file_id="sent-%d" % self.next_message)
        return self._post(params, text=text.strip(), entities=entities, html=params.get("caption"), document=out)

    def _mine(self, params):
        chat = self._to(params)
        m = chat.get(params.get("message_id"))
        if not m:
            raise bad("message to edit not found")
        if not m.by_bot:
            raise bad("message can't be edited")
        return m

    def _changed(self, m, text, entities, html, buttons):
        if (m.text, m.entities, m.buttons) == (text, entities, buttons):
            raise bad("message is not modified: specified new message content and reply markup are exactly the "
                      "same as a current content and reply markup of the message")
        m.edits.append(m.text)
        m.stamps.append(time.monotonic())
        m.text, m.entities, m.html, m.buttons = text, entities, html, buttons
        return dict(m.json(), edit_date=1700009999)

    def editMessageText(self, params, files):
        if "text" not in params:
            raise bad("message text is empty")
        text, entities = text_of(params, "text", 4096)
        m = self._mine(params)
        if m.photo or m.document:
            raise bad("there is no text in the message to edit")
        return self._changed(m, text.strip(), entities, params["text"], check_buttons(params.get("reply_markup")))

    def editMessageReplyMarkup(self, params, files):
        m = self._mine(params)
        return self._changed(m, m.text, m.entities, m.html, check_buttons(params.get("reply_markup")))

    def deleteMessage(self, params, files):
        m = self._to(params).get(params["message_id"])
        if not m:
            raise bad("message to delete not found")
        m.deleted = True
        return True

    def sendChatAction(self, params, files):
        self._to(params)
        if params["action"] not in ACTIONS:
            raise bad("wrong parameter action in request")
        return True

    def answerCallbackQuery(self, params, files):
        query = params["callback_query_id"]
        if self.queries.get(query, "") is not None:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        if utf16(params.get("text", "")) > 200:
            raise Refused("Bad Request: MESSAGE_TOO_LONG")
        self.queries[query] = params.get("text", "")
        return True

    def setMyCommands(self, params, files):
        names = [c["command"] for c in params["commands"]]
        for c in params["commands"]:
            if not re.fullmatch(r"[a-z0-9_]{1,32}", c["command"]):
                raise Refused("Bad Request: BOT_COMMAND_INVALID")
            if not 1 <= len(c["description"]) <= 256:
                raise Refused("Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        if len(names) != len(set(names)) or len(names) > 100:
            raise bad("commands are doubled or too many")
        self.commands = params["commands"]
        return True

    def getMe(self, params, files):
        return self.me

    def getFile(self, params, files):
        f = self.files.get(params["file_id"])
        if not f:
            raise bad("wrong file_id or the file is temporarily unavailable")
        if len(f["data"]) > 20 << 20:
            raise bad("file is too big")
        return {"file_id": params["file_id"], "file_unique_id": "u", "file_size": len(f["data"]), "file_path": f["path"]}

    def getWebhookInfo(self, params, files):
        return {"url": self.webhook, "has_custom_certificate": False, "pending_update_count": len(self.updates)}

    def deleteWebhook(self, params, files):
        if params.get("drop_pending_updates"):
            raise bad("drop_pending_updates would lose messages")
        self.webhook = ""
        return True


class Telegram(Methods):
    """The server, on a thread of its own."""

    def __init__(self, token=TOKEN, port=0, api=None):
        super().__init__()
        self.token, self.api = token, api or Api()
        self.calls, self.violations, self.tolerate, self.faults = [], [], [], []
        self.calls_n = 0
        self.strangers = 0              # calls with another token
        self.patient = True             # False: an empty poll is answered at once
        self.waiting = None             # the poll that waits: its end by another one
        self.keep_calls = True
        self.on_update = None
        self._started, self._port = threading.Event(), port
        self._connections = 0
        self._wakers = set()
        self.thread = threading.Thread(target=self._run, daemon=True, name="fake telegram")

    # For tests ---------------------------------------------------------------------------------

    def fail(self, method, chat=None, **how):
        f = Fault(method, chat, **how)
        with self.board.cond:
            self.faults.append(f)
        return f

    def heal(self):
        with self.board.cond:
            self.faults.clear()

    def of(self, *methods, chat=None):
        """The calls of these methods so far."""
        return [c for c in list(self.calls) if c.method in methods and chat in (None, c.chat)]

    def wait_calls(self, method, n=1, seconds=None, test=None):
        """Wait for n calls of a method (that pass test); the n-th."""
        def look():
            found = [c for c in self.of(method) if not test or test(c)]
            return found[n - 1] if len(found) >= n else None
        return self.board.wait(look, "call %d of %s" % (n, method), seconds,
                               lambda: "\n".join("%r" % c for c in self.calls[-30:]))

    def wait_confirmed(self, update, seconds=None):
        """Wait until a poll has confirmed an update (an id or a Message)."""
        update = update.update if isinstance(update, Message) else update
        self.board.wait(lambda: update in self.given, "update %d to be confirmed" % update, seconds, self.view)

    def violation(self, text):
        if not any(t in text for t in self.tolerate):
            self.violations.append(text)

    def changed(self):
        for wake in list(self._wakers):
            self.loop.call_soon_threadsafe(wake)

    @property
    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def start(self):
        self.thread.start()
        self._started.wait(10)
        return self

    def open_again(self, port):
        """After stop(): the same server at the same port."""
        self._port, self._wakers, self.waiting = port, set(), None
        self._started.clear()
        self.thread = threading.Thread(target=self._run, daemon=True, name="fake telegram")
        return self.start()

    def stop(self):
        self.loop.call_soon_threadsafe(self._stop.set)
        self.thread.join(10)

    # Server ------------------------------------------------------------------------------------

    def _run(self):
        asyncio.run(self._main())

    async def _main(self):
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=1 << 26)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        async with server:
            await self._stop.wait()
            for t in asyncio.all_tasks():
                if t is not asyncio.current_task():
                    t.cancel()

    async def _serve(self, reader, writer):
        self._connections += 1
        connection = self._connections
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while await self._one(reader, writer, connection):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader, writer, connection):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = head.split("\r\n")
        verb, path, _ = first.split(" ", 2)
        headers = {k.strip().lower(): v.strip() for k, s, v in (x.partition(":") for x in rest) if s}
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        m = re.fullmatch(r"/(file/)?bot([^/]+)/(.+)", urllib.parse.unquote(path))
        if not m or m[2] != self.token:
            self.strangers += 1
            code = 401 if m and re.fullmatch(r"\d+:[\w-]+", m[2]) else 404
            return await self._json(writer, Refused({401: "Unauthorized", 404: "Not Found"}[code], code).answer(), code)
        if m[1]:
            return await self._download(writer, m[3])
        call = self._read(connection, verb, m[3], headers, body)
        return await self._answer(reader, writer, call)

    async def _download(self, writer, path):
        call = Call(0, 0, "file", {"file_path": path}, {})
        with self.board.cond:
            fault = next((f for f in self.faults if f.takes(call)), None)
            self.calls.append(call)
            self.board.cond.notify_all()
        f = next((f for f in self.files.values() if f["path"] == path), None)
        if fault and fault.hang:
            await asyncio.Event().wait()
        if fault or not f:
            out = await self._write(writer, fault.http if fault else 404, "text/html", b"<html>no</html>")
        else:
            out = await self._write(writer, 200, "application/octet-stream", f["data"])
        self._departed(call)
        return out

    def _read(self, connection, verb, method, headers, body):
        """The Call of a request; params that cannot be read are violations."""
        params, files, faults = {}, {}, []
        kind = headers.get("content-type", "")
        try:
            if kind.startswith("application/json"):
                params = json.loads(body.decode("utf-8")) if body else {}
            elif kind.startswith("multipart/form-data"):
                params, files = multipart(kind, body)
            elif kind.startswith("application/x-www-form-urlencoded"):
                params = dict(urllib.parse.parse_qsl(body.decode(), True, True, errors="strict"))
            elif body:
                faults.append("a body of kind %r" % kind)
            if not isinstance(params, dict):
                raise ValueError("the parameters are no object")
        except ValueError as e:
            faults.append("unreadable parameters: %s" % e)
            params = {}
        if method not in self.api.methods or not hasattr(Methods, method) and method != "getUpdates":
            faults.append("no such method")
        else:
            if not kind.startswith("application/json"):
                params = self.api.from_form(method, params)
            faults += self.api.faults(method, params, files)
        with self.board.cond:
            self.calls_n += 1
            call = Call(self.calls_n, connection, method, params, files)
            call.raw = kind, body
            self.calls.append(call)
            if faults:
                call.description = "Bad Request: " + "; ".join(faults)
                self.violation("%s: %s" % (method, "; ".join(faults)))
            self._rate(call)
            self.board.cond.notify_all()
        return call

    def _rate(self, call):
        """A chat that was told to be quiet is left in peace; what was under way is forgiven."""
        chat = self.chats.get(call.chat) if isinstance(call.chat, int) else None
        if chat and call.method in TO_CHAT and chat.quiet_until - 0.02 > call.arrived > chat.quiet_from + 0.3:
            self.violation("%s to chat %d, %.2f s before its flood wait is over"
                           % (call.method, chat.id, chat.quiet_until - call.arrived))

    def _run_method(self, call):
        """Do a call; the answer."""
        try:
            with self.board.cond:
                call.result = getattr(self, call.method)(call.params, call.files)
                self.board.cond.notify_all()
            return {"ok": True, "result": call.result}, 200
        except Refused as r:
            call.description = r.description
            recoverable = r.code == 403 or r.parameters or "chat not found" in r.description
            if not recoverable:
                self.violation("%s: %s: %.200r" % (call.method, r.description, call.params))
            return r.answer(), r.code

    async def _answer(self, reader, writer, call):
        with self.board.cond:
            fault = next((f for f in self.faults if f.takes(call)), None)
            call.fault = fault
        if call.description:
            answer, status = {"ok": False, "error_code": 400, "description": call.description}, 400
        elif fault and not fault.done:
            return await self._spoil(reader, writer, call, fault, b"")
        elif call.method == "getUpdates":
            answer, status = await self._poll(reader, call)
            if answer is None:
                call.dropped = time.monotonic()
                return False
        else:
            answer, status = self._run_method(call)
        data = json.dumps(answer, ensure_ascii=call.number % 2 == 0).encode("utf-8", "surrogatepass")
        if fault and fault.done and not call.description:
            return await self._spoil(reader, writer, call, fault, data)
        out = await self._write(writer, status, "application/json", data)
        self._departed(call)
        return out

    def _departed(self, call):
        with self.board.cond:
            call.departed = time.monotonic()
            if not self.keep_calls and call in self.calls:
                self.calls.remove(call)
            self.board.cond.notify_all()

    async def _left(self, reader, call):
        """Wait until the client goes."""
        while await reader.read(4096):
            pass
        with self.board.cond:
            call.dropped = time.monotonic()
            self.board.cond.notify_all()
        return False

    async def _spoil(self, reader, writer, call, fault, data):
        if fault.gate:
            return await self._gated(reader, writer, call, fault.gate, data)
        if fault.flood is not None:
            return await self._flood(writer, call, fault.flood)
        if fault.error:
            r = Refused(fault.error[1], fault.error[0], **(fault.error[2] if len(fault.error) > 2 else {}))
            call.description = r.description
            return await self._json(writer, r.answer(), r.code, call)
        if fault.http:
            call.description = "HTTP %d" % fault.http
            out = await self._write(writer, fault.http, fault.kind, fault.body)
            self._departed(call)
            return out
        call.description = "no whole answer"
        if fault.dead:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            await writer.drain()
        if fault.hang or fault.dead:
            return await self._left(reader, call)
        if fault.reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
                     + data[:fault.cut])
        await writer.drain()
        return False

    async def _flood(self, writer, call, seconds):
        call.description = "Too Many Requests: retry after %d" % seconds
        chat = self.chats.get(call.chat) if isinstance(call.chat, int) else None
        if chat:
            chat.quiet_from = time.monotonic()
            chat.quiet_until = chat.quiet_from + seconds
        return await self._json(writer, Refused(call.description, 429, retry_after=seconds).answer(), 429, call)

    async def _gated(self, reader, writer, call, gate, data):
        gate.reached.set()
        opened = asyncio.Event()
        gate.on_release(lambda: self.loop.call_soon_threadsafe(opened.set))
        await opened.wait()
        out = await self._write(writer, 200, "application/json", data)
        self._departed(call)
        return out

    async def _json(self, writer, obj, status, call=None):
        out = await self._write(writer, status, "application/json", json.dumps(obj).encode())
        if call:
            self._departed(call)
        return out

    async def _write(self, writer, status, kind, data):
        writer.write(b"HTTP/1.1 %d Status\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
                     % (status, kind.encode(), len(data)) + data)
        await writer.drain()
        return True

    def now(self):
        """The time by which a long poll ends; who overrides it calls changed() when it jumps."""
        return self.loop.time()

    # The long poll -----------------------------------------------------------------------------

    def _take(self, call):
        """Confirm what is below the offset and give what waits; an offset far ahead confirms nothing."""
        offset, limit = call.params.get("offset", 0), call.params.get("limit", 100)
        if offset < 0:
            self.violation("getUpdates: a negative offset forgets updates")
        with self.board.cond:
            if offset <= self.tail + 10:
                while self.updates and self.updates[0]["update_id"] < offset:
                    self.given.append(self.updates.popleft()["update_id"])
                    self.board.cond.notify_all()
            kinds = self.allowed_updates
            out = []
            for u in list(self.updates)[:limit * 4]:
                if kinds and not any(k in u for k in kinds):
                    self.updates.remove(u)
                    self.given.append(u["update_id"])
                elif len(out) < limit:
                    out.append(u)
            return out

    async def _poll(self, reader, call):
        if self.webhook:
            call.description = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to " \
                               "delete the webhook first"
            return Refused(call.description, 409).answer(), 409
        self.allowed_updates = call.params.get("allowed_updates", self.allowed_updates)
        if self.waiting:
            self.waiting.set()
        mine = self.waiting = asyncio.Event()
        found = self._take(call)
        left = asyncio.ensure_future(reader.read(1))
        end = self.now() + (call.params.get("timeout", 0) if self.patient else 0)
        ended = asyncio.ensure_future(mine.wait())
        try:
            while not found and self.now() < end:
                news = asyncio.Event()
                self._wakers.add(news.set)
                found = self._take(call)
                if not found:
                    got = asyncio.ensure_future(news.wait())
                    await asyncio.wait([left, got, ended], timeout=end - self.now(),
                                       return_when=asyncio.FIRST_COMPLETED)
                    got.cancel()
                self._wakers.discard(news.set)
                if left.done():
                    return None, 0
                if ended.done():
                    call.description = "Conflict: terminated by other getUpdates request; make sure that only one " \
                                       "bot instance is running"
                    return Refused(call.description, 409).answer(), 409
                found = found or self._take(call)
        finally:
            await cancelled(left)
            await cancelled(ended)
            if self.waiting is mine:
                self.waiting = None
        call.result = [u["update_id"] for u in found]
        if self.on_update and found:
            self.on_update(found, time.monotonic())
        return {"ok": True, "result": found}, 200


async def cancelled(task):
    task.cancel()
    try:
        await task
    except (asyncio.CancelledError, ConnectionError):
        pass


def multipart(kind, body):
    """({name: text}, {name: (file name, bytes)}) of a form."""
    boundary = re.search(r'boundary="?([^";]+)"?', kind)
    if not boundary:
        raise ValueError("no boundary")
    mark = b"--" + boundary[1].encode()
    parts = (b"\r\n" + body).split(b"\r\n" + mark)
    if len(parts) < 2 or parts[0].strip() or not parts[-1].startswith(b"--"):
        raise ValueError("a broken form")
    params, files = {}, {}
    for part in parts[1:-1]:
        head, _, data = part.partition(b"\r\n\r\n")
        m = re.search(rb'content-disposition: form-data;.*?\bname="([^"]*)"(?:.*?filename="([^"]*)")?', head, re.I)
        if not m:
            raise ValueError("a part without a name")
        name = m[1].decode()
        if name in params or name in files:
            raise ValueError("%s twice" % name)
        if m[2] is not None:
            files[name] = (m[2].decode(), data)
        else:
            params[name] = data.decode("utf-8")
    return params, files



def alone(argv):
    def option(name, default):
        return argv[argv.index(name) + 1] if name in argv else default
    fake = Telegram(token=option("--token", TOKEN), port=int(option("--port", "0"))).start()
    print("%s token %s" % (fake.url, fake.token), flush=True)
    told = {}

    def show():
        for chat in list(fake.chats):
            for m in fake.messages(chat):
                if told.get((chat, m.id)) != m.text:
                    told[chat, m.id] = m.text
                    print("%d: %r" % (chat, m), flush=True)
        for v in fake.violations[len(told.setdefault("bad", [])):]:
            told["bad"].append(v)
            print("VIOLATION " + v, flush=True)

    def watch():
        while True:
            with fake.board.cond:
                fake.board.cond.wait()
                show()
    threading.Thread(target=watch, daemon=True).start()
    for line in sys.stdin:
        chat, _, text = line.rstrip("\n").partition(" ")
        if int(chat) not in fake.chats:
            fake.user(int(chat)) if int(chat) > 0 else fake.group(int(chat))
        fake.say(text, chat=int(chat), user=int(chat) if int(chat) > 0 else ALLOWED)


if __name__ == "__main__":
    alone(sys.argv[1:])
