"""
What a Bot API server refuses: parameters by name and type, and text in Telegram's HTML.

Parameters are judged by telegram-api.json in GANTRY_CORPORA; without it by the table below,
which holds the methods gantry uses.  Values of a JSON body must have the very type the
documentation names; fields of a form are text, and everything but a string is JSON in it.
"""

import json
import os
import pathlib
import re

BUILT_IN = {
    "methods": {
        "getMe": "",
        "getUpdates": "offset:Integer limit:Integer timeout:Integer allowed_updates:[]String",
        "setMyCommands": "commands!:[]BotCommand scope:BotCommandScope language_code:String",
        "getWebhookInfo": "",
        "deleteWebhook": "drop_pending_updates:Boolean",
        "sendMessage": "chat_id!:Integer|String message_thread_id:Integer text!:String parse_mode:String "
                       "link_preview_options:LinkPreviewOptions disable_notification:Boolean "
                       "reply_parameters:ReplyParameters reply_markup:InlineKeyboardMarkup",
        "editMessageText": "chat_id:Integer|String message_id:Integer text:String parse_mode:String "
                           "link_preview_options:LinkPreviewOptions reply_markup:InlineKeyboardMarkup",
        "editMessageReplyMarkup": "chat_id:Integer|String message_id:Integer reply_markup:InlineKeyboardMarkup",
        "deleteMessage": "chat_id!:Integer|String message_id!:Integer",
        "sendChatAction": "chat_id!:Integer|String message_thread_id:Integer action!:String",
        "sendPhoto": "chat_id!:Integer|String message_thread_id:Integer photo!:InputFile|String caption:String "
                     "parse_mode:String disable_notification:Boolean reply_parameters:ReplyParameters "
                     "reply_markup:InlineKeyboardMarkup",
        "sendDocument": "chat_id!:Integer|String message_thread_id:Integer document!:InputFile|String caption:String "
                        "parse_mode:String disable_content_type_detection:Boolean disable_notification:Boolean "
                        "reply_parameters:ReplyParameters reply_markup:InlineKeyboardMarkup",
        "answerCallbackQuery": "callback_query_id!:String text:String show_alert:Boolean url:String cache_time:Integer",
        "getFile": "file_id!:String",
    },
    "types": {
        "BotCommand": "command!:String description!:String",
        "BotCommandScope": "type!:String chat_id:Integer|String user_id:Integer",
        "LinkPreviewOptions": "is_disabled:Boolean url:String prefer_small_media:Boolean "
                              "prefer_large_media:Boolean show_above_text:Boolean",
        "ReplyParameters": "message_id!:Integer chat_id:Integer|String allow_sending_without_reply:Boolean "
                           "quote:String quote_position:Integer",
        "InlineKeyboardMarkup": "inline_keyboard!:[][]InlineKeyboardButton",
        "InlineKeyboardButton": "text!:String url:String callback_data:String style:String",
    },
}


class Refused(Exception):
    """An error answer of the server."""

    def __init__(self, description, code=400, **parameters):
        super().__init__(description)
        self.description, self.code, self.parameters = description, code, parameters

    def answer(self):
        out = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            out["parameters"] = self.parameters
        return out


def bad(text):
    return Refused("Bad Request: " + text)


def utf16(text):
    """Length in the unit Telegram counts in."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


# Parameters -----------------------------------------------------------------------------------

def _from_short(table):
    out = {}
    for name, line in table.items():
        fields = {}
        for word in line.split():
            field, _, kinds = word.partition(":")
            fields[field.rstrip("!")] = ([k.replace("[]", "Array of ") for k in kinds.split("|")], field.endswith("!"))
        out[name] = fields
    return out


class Api:
    """The documented methods and types."""

    def __init__(self, corpora=None):
        corpora = corpora if corpora is not None else os.environ.get("GANTRY_CORPORA")
        path = pathlib.Path(corpora or "/nonexistent") / "telegram-api.json"
        self.subtypes = {}
        if path.exists():
            doc = json.loads(path.read_text(encoding="utf-8"))
            self.source = str(path)
            self.methods, self.types = ({n: {f["name"]: (f["types"], f["required"]) for f in x.get("fields", [])}
                                         for n, x in doc[part].items()} for part in ("methods", "types"))
            self.subtypes = {n: x["subtypes"] for n, x in doc["types"].items() if x.get("subtypes")}
        else:
            self.source = "built in"
            self.methods, self.types = _from_short(BUILT_IN["methods"]), _from_short(BUILT_IN["types"])

    def faults(self, method, params, files=()):
        """Sentences about what is wrong with the parameters; files are the names of uploads."""
        fields = self.methods[method]
        return self._object(method, fields, params, files)

    def _object(self, where, fields, value, files=()):
        out = ["%s: unknown parameter %s" % (where, k) for k in value if k not in fields]
        out += ["%s: unknown upload %s" % (where, k) for k in files if k not in fields
                and "attach://" + k not in value.values()]
        for name, (kinds, required) in fields.items():
            if name in files:
                if "InputFile" not in kinds:
                    out.append("%s.%s is no file" % (where, name))
            elif name not in value:
                if required:
                    out.append("%s: %s is missing" % (where, name))
            elif not any(self._is(k, value[name]) for k in kinds):
                out.append("%s.%s is not %s: %.80r%s" % (where, name, " or ".join(kinds), value[name],
                                                        self._inner(kinds, value[name])))
        return out

    def _inner(self, kinds, value):
        if len(kinds) == 1 and kinds[0] in self.types and isinstance(value, dict):
            return " (%s)" % "; ".join(self._object(kinds[0], self.types[kinds[0]], value))
        return ""

    def _is(self, kind, value):
        if kind.startswith("Array of "):
            return isinstance(value, list) and all(self._is(kind[9:], v) for v in value)
        if kind == "Integer":
            return type(value) is int and -2**63 <= value < 2**63
        if kind == "Boolean":
            return type(value) is bool
        if kind == "Float":
            return type(value) in (int, float)
        if kind == "String":
            return isinstance(value, str)
        if kind == "InputFile":
            return isinstance(value, str) and value.startswith("attach://")
        if kind in self.subtypes:
            return any(self._is(s, value) for s in self.subtypes[kind])
        return isinstance(value, dict) and not self._object(kind, self.types.get(kind, {}), value)

    def from_form(self, method, fields):
        """Form fields as the values they stand for."""
        out = {}
        for name, text in fields.items():
            kinds = self.methods[method].get(name, (["String"], False))[0]
            if "Integer" in kinds and re.fullmatch(r"-?\d+", text):
                out[name] = int(text)
            elif "String" in kinds:
                out[name] = text
            else:
                try:
                    out[name] = json.loads(text)
                except ValueError:
                    out[name] = text
        return out


# HTML ------------------------------------------------------------------------------------------

TAGS = {"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
        "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler",
        "span": "spoiler", "a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote"}
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:\s+[a-zA-Z-]+(?:=(?:\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>=]+))?)*)\s*>")
ATTRIBUTE = re.compile(r"([a-zA-Z-]+)(?:=(?:\"([^\"]*)\"|'([^']*)'|(\S+)))?")
ENTITY = re.compile(r"&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot));")


def _unescape(text, where):
    out, at = [], 0
    for m in re.finditer("&", text):
        if m.start() < at:
            continue
        e = ENTITY.match(text, m.start())
        if not e:
            raise bad("can't parse entities: a bare ampersand in %s: %.40r" % (where, text[m.start():]))
        out.append(text[at:m.start()])
        out.append(chr(int(e[1])) if e[1] else chr(int(e[2], 16)) if e[2] else NAMED[e[3]])
        at = e.end()
    return "".join(out) + text[at:]


def _open(name, attributes, stack, offset):
    """What a start tag becomes: (tag, entity)."""
    outer = [t for t, _, _ in stack]
    given = {m[1]: next((g for g in m.groups()[1:] if g is not None), None)
             for m in ATTRIBUTE.finditer(attributes)}
    entity = {"type": TAGS[name]}
    allowed = {"a": {"href"}, "code": {"class"}, "span": {"class"}, "blockquote": {"expandable"}}.get(name, set())
    if set(given) - allowed:
        raise bad("can't parse entities: attributes of \"%s\" at byte offset %d" % (name, offset))
    if name == "a":
        entity["url"] = _unescape(given.get("href") or "", "href")
        if not re.match(r"(https?|tg|mailto):", entity["url"]):
            raise bad("can't parse entities: a link to %.40r" % entity["url"])
    if name == "span" and given.get("class") != "tg-spoiler":
        raise bad("can't parse entities: Tag \"span\" must have class \"tg-spoiler\" at byte offset %d" % offset)
    if name == "code" and "class" in given:
        if not re.fullmatch(r"language-[A-Za-z0-9_+#.-]+", given["class"] or "") or outer[-1:] != ["pre"]:
            raise bad("can't parse entities: class of \"code\" at byte offset %d" % offset)
        entity["language"] = given["class"][9:]
    if "code" in outer or ("pre" in outer and (name != "code" or outer[-1] != "pre")):
        raise bad("can't parse entities: \"%s\" inside code at byte offset %d" % (name, offset))
    if name in ("a", "blockquote") and name in outer:
        raise bad("can't parse entities: nested \"%s\" at byte offset %d" % (name, offset))
    return entity


def parse_html(html):
    """(text, entities) of Telegram's HTML; raises Refused as the server words it."""
    text, entities, stack, at = "", [], [], 0
    for m in re.finditer("[<>]", html):
        if m.start() < at:
            continue
        offset = len(html[:m.start()].encode())
        text += _unescape(html[at:m.start()], "the text")
        tag = TAG.match(html, m.start())
        if html[m.start()] == ">" or not tag:
            raise bad("can't parse entities: Unexpected \"%s\" at byte offset %d" % (html[m.start()], offset))
        at, name = tag.end(), tag[2].lower()
        if name not in TAGS:
            raise bad("can't parse entities: Unsupported %s tag \"%s\" at byte offset %d"
                      % ("end" if tag[1] else "start", name, offset))
        if not tag[1]:
            entity = _open(name, tag[3], stack, offset)
            stack.append((name, entity, utf16(text)))
            continue
        if not stack or tag[3]:
            raise bad("can't parse entities: Unmatched end tag at byte offset %d" % offset)
        want, entity, start = stack.pop()
        if want != name:
            raise bad("can't parse entities: Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\""
                      % (offset, want, name))
        if utf16(text) > start:
            entities.append(dict(entity, offset=start, length=utf16(text) - start))
    if stack:
        raise bad("can't parse entities: Can't find end tag corresponding to start tag \"%s\"" % stack[-1][0])
    return text + _unescape(html[at:], "the text"), entities


def text_of(params, field, most):
    """(text, entities) of a message as it will be seen."""
    raw = params.get(field, "")
    if any(0xD800 <= ord(c) < 0xE000 for c in raw) or "\0" in raw:
        raise bad("strings must be encoded in UTF-8")
    mode = params.get("parse_mode")
    if mode not in (None, "HTML"):
        raise bad("unsupported parse_mode")
    text, entities = parse_html(raw) if mode else (raw, [])
    if field == "text" and not text.strip():
        raise bad("message text is empty")
    if utf16(text.strip()) > most:
        raise bad("message is too long" if field == "text" else "message caption is too long")
    return text, entities


def check_buttons(markup):
    """Inline buttons as [(label, data)]."""
    out = []
    for row in (markup or {}).get("inline_keyboard", []):
        if not row or len(row) > 8:
            raise bad("a row of %d buttons" % len(row))
        for button in row:
            data = button.get("callback_data")
            if not button["text"].strip():
                raise bad("button text is empty")
            if ("url" in button) == (data is not None):
                raise bad("a button needs exactly one use")
            if data is not None and not 1 <= len(data.encode()) <= 64:
                raise Refused("Bad Request: BUTTON_DATA_INVALID")
            out.append((button["text"], data))
    return out
