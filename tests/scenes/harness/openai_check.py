"""
Whether a chat completions request is one that a picky provider would take.

check(raw, headers) returns a list of sentences, empty when all is well.  Two layers: the rules
below, always; and OpenAI's own schema with unknown keys refused, when GANTRY_CORPORA names the
folder that has it.
"""

import functools
import json
import os
import re

NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")

# What providers beyond OpenAI define and we send back to those that issued it.
EXTENSIONS = {
    "assistant": {"reasoning_content", "reasoning", "reasoning_details", "extra_content"},
    "tool_call": {"extra_content"},
}

TOP = {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "max_tokens",
       "max_completion_tokens", "temperature", "reasoning_effort", "response_format", "top_p",
       "stop", "seed", "user"}
MESSAGE = {"system": {"role", "content"}, "user": {"role", "content"},
           "assistant": {"role", "content", "tool_calls", "refusal"} | EXTENSIONS["assistant"],
           "tool": {"role", "content", "tool_call_id"}}


class Duplicate(ValueError):
    pass


def _no_duplicates(pairs):
    out = {}
    for k, v in pairs:
        if k in out:
            raise Duplicate("key %r twice in one object" % k)
        out[k] = v
    return out


def _strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for k, v in value.items():
            yield k
            yield from _strings(v)
    elif isinstance(value, list):
        for v in value:
            yield from _strings(v)


def _nulls(value, path):
    if value is None:
        yield path
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from _nulls(v, path + "." + k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from _nulls(v, "%s[%d]" % (path, i))


def _object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _parts(content, where, bad):
    images = 0
    for p in content:
        if not isinstance(p, dict) or p.get("type") not in ("text", "image_url"):
            bad.append("%s: a content part that is neither text nor image_url" % where)
        elif p["type"] == "image_url":
            images += 1
            if not str((p.get("image_url") or {}).get("url", "")).startswith(("data:", "http")):
                bad.append("%s: an image part without a usable url" % where)
    if not images:
        bad.append("%s: text-only content sent as parts" % where)


def _calls(m, where, bad):
    ids = []
    for j, call in enumerate(m["tool_calls"]):
        at = "%s.tool_calls[%d]" % (where, j)
        extra = set(call) - {"id", "type", "function"} - EXTENSIONS["tool_call"]
        if extra:
            bad.append("%s: unknown key %s" % (at, sorted(extra)))
        if call.get("type") != "function":
            bad.append("%s: type is %r" % (at, call.get("type")))
        if not isinstance(call.get("id"), str) or not call["id"]:
            bad.append("%s: no id" % at)
        fn = call.get("function") or {}
        if set(fn) != {"name", "arguments"}:
            bad.append("%s.function has the keys %s" % (at, sorted(fn)))
        if not NAME.match(str(fn.get("name"))):
            bad.append("%s: bad tool name %r" % (at, fn.get("name")))
        if not isinstance(fn.get("arguments"), str) or not _object(fn["arguments"]):
            bad.append("%s: arguments are not a string that holds a JSON object: %r"
                       % (at, fn.get("arguments")))
        ids.append(call.get("id"))
    if len(set(ids)) != len(ids):
        bad.append("%s: a call id twice" % where)
    return ids


def _message(i, m, before, owed, bad):
    """Check message i; returns the call ids still owed results after it."""
    where = "messages[%d]" % i
    role = m.get("role")
    if role not in MESSAGE:
        bad.append("%s: role %r" % (where, role))
        return owed
    extra = set(m) - MESSAGE[role]
    if extra:
        bad.append("%s (%s): unknown key %s" % (where, role, sorted(extra)))
    content = m.get("content")
    if isinstance(content, list):
        if role != "user":
            bad.append("%s (%s): content sent as parts" % (where, role))
        _parts(content, where, bad)
    elif content is not None and not isinstance(content, str):
        bad.append("%s: content is a %s" % (where, type(content).__name__))
    if role == "tool":
        if not owed:
            bad.append("%s: a tool result without a call" % where)
        elif m.get("tool_call_id") != owed[0]:
            bad.append("%s: result for %r where the one for %r is due"
                       % (where, m.get("tool_call_id"), owed[0]))
        if not isinstance(content, str) or not content:
            bad.append("%s: an empty tool result" % where)
        return owed[1:]
    if owed:
        bad.append("%s (%s): the calls %s have no result" % (where, role, owed))
    if role == "system" and i:
        bad.append("%s: a system message that is not the first" % where)
    if role == before and role in ("user", "assistant"):
        bad.append("%s: two %s messages in a row" % (where, role))
    if role == "assistant" and before not in ("user", "tool"):
        bad.append("%s: an assistant message after %s" % (where, before))
    if role in ("user", "system") and (not content or isinstance(content, str) and not content.strip()):
        bad.append("%s: a blank %s message" % (where, role))
    if role == "assistant":
        if m.get("tool_calls"):
            return _calls(m, where, bad)
        if "tool_calls" in m:
            bad.append("%s: tool_calls is there but empty" % where)
        if not isinstance(content, str) or not content.strip():
            bad.append("%s: an assistant message with neither text nor calls" % where)
    return []


def _tools(body, bad):
    names = []
    for i, t in enumerate(body.get("tools", [])):
        fn = t.get("function") or {}
        if set(t) != {"type", "function"} or t["type"] != "function":
            bad.append("tools[%d] has the keys %s" % (i, sorted(t)))
        if set(fn) - {"name", "description", "parameters", "strict"}:
            bad.append("tools[%d].function has the keys %s" % (i, sorted(fn)))
        if not NAME.match(str(fn.get("name"))):
            bad.append("tools[%d]: bad name %r" % (i, fn.get("name")))
        if not isinstance(fn.get("parameters"), dict) or fn["parameters"].get("type") != "object":
            bad.append("tools[%d]: parameters are not an object schema" % i)
        names.append(fn.get("name"))
    for n in sorted({str(n) for n in names if names.count(n) > 1}):
        bad.append("tool %r published twice" % n)
    if "tools" in body and not names:
        bad.append("tools is there but empty")


def _rules(body, bad):
    if "parallel_tool_calls" in body:
        bad.append("parallel_tool_calls is sent")
    extra = set(body) - TOP - {"parallel_tool_calls"}
    if extra:
        bad.append("unknown key %s" % sorted(extra))
    if body.get("stream_options") is not None and not body.get("stream"):
        bad.append("stream_options without stream")
    if "tool_choice" in body and "tools" not in body:
        bad.append("tool_choice without tools")
    if "max_tokens" in body and "max_completion_tokens" in body:
        bad.append("max_tokens and max_completion_tokens together")
    if not isinstance(body.get("model"), str) or not body["model"]:
        bad.append("no model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        bad.append("no messages")
        return
    owed, before = [], None
    for i, m in enumerate(messages):
        owed = _message(i, m, before, owed, bad)
        before = m.get("role")
    if owed:
        bad.append("the calls %s at the end have no result" % owed)
    if before not in ("user", "tool"):
        bad.append("the last message is from %s" % before)
    _tools(body, bad)
    rest = {k: v for k, v in body.items() if k != "tools"}
    bad += ["%s is null" % p for p in _nulls(rest, "request")]
    for s in _strings(body):
        if any(0xD800 <= ord(ch) <= 0xDFFF for ch in s):
            bad.append("a lone surrogate in %.60r" % s)
            break


def _merge_object(schema, defs, into):
    if "$ref" in schema:
        _merge_object(defs[schema["$ref"].rsplit("/", 1)[1]], defs, into)
    for part in schema.get("allOf", []):
        _merge_object(part, defs, into)
    into["properties"].update(schema.get("properties", {}))
    into["required"] += schema.get("required", [])


def _close(schema):
    """Refuse unknown keys in every object schema that lists its keys."""
    if isinstance(schema, list):
        for s in schema:
            _close(s)
    elif isinstance(schema, dict):
        for v in schema.values():
            _close(v)
        if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema \
                and "allOf" not in schema:
            schema["additionalProperties"] = False


@functools.lru_cache(maxsize=1)
def _validator():
    folder = os.environ.get("GANTRY_CORPORA")
    if not folder:
        return None
    from jsonschema import Draft202012Validator
    with open(os.path.join(folder, "openai-chat-subset.schema.json"), encoding="utf-8") as f:
        doc = json.load(f)
    defs = doc["$defs"]
    request = {"type": "object", "properties": {}, "required": []}
    _merge_object(defs["CreateChatCompletionRequest"], defs, request)
    _close(defs)
    defs["FunctionParameters"] = {"type": "object"}
    for key in EXTENSIONS["assistant"]:
        defs["ChatCompletionRequestAssistantMessage"]["properties"][key] = {}
    for key in EXTENSIONS["tool_call"]:
        defs["ChatCompletionMessageToolCall"]["properties"][key] = {}
    request["additionalProperties"] = False
    request["$defs"] = defs
    return Draft202012Validator(request)


def _schema_errors(body):
    v = _validator()
    if v is None:
        return []
    from jsonschema.exceptions import best_match
    error = best_match(v.iter_errors(body))
    return [] if error is None else ["OpenAI's schema, at %s: %s" % (
        "/".join(str(p) for p in error.absolute_path), error.message[:300])]


def parse(raw):
    """The body of a request; ValueError (a sentence) when it is not sound JSON in UTF-8."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as e:
        raise ValueError("the body is not UTF-8: %s" % e) from None
    body = json.loads(text, object_pairs_hook=_no_duplicates,
                      parse_constant=lambda c: (_ for _ in ()).throw(ValueError("%s in JSON" % c)))
    if not isinstance(body, dict):
        raise ValueError("the body is not an object")
    return body


def check(body, headers=None):
    """The faults of one parsed request."""
    bad = []
    _rules(body, bad)
    bad += _schema_errors(body)
    if headers is not None and headers.get("content-type", "").split(";")[0] != "application/json":
        bad.append("content-type is %r" % headers.get("content-type"))
    return bad
