#!/usr/bin/env python3
"""A scripted MCP server over stdio that misbehaves on demand; for tests/unit/upstream.

usage: fake_server.py [word...]     words say how it behaves:

  modern            answers server/discover (else: legacy, answers it with -32601)
  mute              never answers anything
  mute-probe        never answers server/discover
  slow              hears nothing until initialize has come: then it answers all of it in order
  asleep=SECONDS    hears nothing for so long; then it hears all of it in order
  exit-probe        ends when server/discover comes
  exit-initialize   ends when initialize comes
  refuse-and-exit   answers initialize with an error, and ends
  exit-start        ends at once, with status 3 and words on stderr
  nul-probe         answers server/discover with an error without an id
  version=V         initialize answers with this version; modern: the only one supported
  refuse-version    modern: the first server/discover gets -32022 naming our version
  page=N            tools/list gives N items a page
  circle            tools/list has a cursor that never ends
  endless           tools/list has ever new cursors
  slow-pages        tools/list has ever new cursors, and takes its time for each
  list-fails        the first tools/list gets an error
  restless          a list_changed behind each tools/list, and `echo` is another each time
  change-on-cancel  when a request is cancelled, `echo` is another and that is told
  tools=N           N more tools called t0, t1, ...
  say=TEXT          the description of `echo`
  without-echo      the tool is not there
  list=FILE         the description of `echo` is what the file says now
  templates         has a template, and tells it only when the test says so: see t_templates
  mute-templates    never answers resources/templates/list
  start-ask         sends sampling/createMessage before it answers tools/list
  start-garbage     writes something that is no message first
  flood             a list_changed flood behind each tools/list, once
  ignore-eof        does not end when its stdin is closed, nor by SIGTERM
  linger            does not end when its stdin is closed
  log=FILE          appends every message it gets to the file
  count=FILE        appends a line at each start
  header-once       modern: the first tools/call gets -32020
  forget-once       modern: the first tools/call gets -32022

Tools of its own say what to do in their name: see TOOLS.
"""
import json
import os
import signal
import sys
import time

WORDS = sys.argv[1:]


def has(word):
    return word in WORDS


def value(key, default=None):
    for w in WORDS:
        if w.startswith(key + "="):
            return w[len(key) + 1:]
    return default


OUT = sys.stdout.buffer


def raw(data):
    OUT.write(data)
    OUT.flush()


def send(message):
    raw(json.dumps(message, separators=(",", ":")).encode() + b"\n")


def result(id, value):
    if has("modern") and "resultType" not in value:
        value = dict(value, resultType="complete")
    send({"jsonrpc": "2.0", "id": id, "result": value})


def error(id, code, text, data=None):
    e = {"code": code, "message": text}
    if data is not None:
        e["data"] = data
    send({"jsonrpc": "2.0", "id": id, "error": e})


def note(method, params=None):
    m = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        m["params"] = params
    send(m)


def text(id, s):
    result(id, {"content": [{"type": "text", "text": s}]})


held = []


def read():
    """The next message; a slow server has heard none before initialize came."""
    if has("slow") and not held and "slow" not in once:
        once.add("slow")
        while not held or held[-1].get("method") != "initialize":
            held.append(read_line())
    return held.pop(0) if held else read_line()


def read_line():
    line = sys.stdin.buffer.readline()
    if not line:
        if has("ignore-eof") or has("linger"):
            while True:
                time.sleep(60)
        sys.exit(0)
    if value("log"):
        with open(value("log"), "ab") as f:
            f.write(line)
    return json.loads(line)


# ---- tools: each gets the request ----

def t_echo(m):
    text(m["id"], m["params"].get("arguments", {}).get("text", ""))


def t_meta(m):
    text(m["id"], json.dumps(m["params"].get("_meta", {}), sort_keys=True))


def t_hang(m):
    pass


def t_stuck(m):
    """Hears and says nothing any more."""
    while True:
        time.sleep(60)


def t_late(m):
    """Answers only when the next request has come, with its own id first."""
    later.append(m["id"])


def t_flush(m):
    while later:
        text(later.pop(0), "late")
    text(m["id"], "flushed")


def t_crash(m):
    sys.stderr.write("the end is near\n")
    sys.stderr.flush()
    os._exit(7)


def t_leak(m):
    sys.stderr.write(m["params"]["arguments"]["text"] + "\n")
    sys.stderr.flush()
    os._exit(7)


def t_crash_after(m):
    text(m["id"], "done")
    os._exit(0)


def t_half(m):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % m["id"])
    os._exit(0)


def t_garbage(m):
    raw(b"\x00\xff garbage {[\n\n")
    raw(b"[[[[[[[[[\n")
    raw(b'"text"\n')
    raw(b'{"jsonrpc":"1.0"}\n')
    text(m["id"], "after garbage")


def t_bad_answer(m):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":[1]}\n' % m["id"])


def t_wrong_id(m):
    text(m["id"] + 1000, "to nobody")
    text("x", "to nobody")
    text(m["id"], "to you")


def t_twice(m):
    text(m["id"], "once")
    text(m["id"], "twice")


def t_long_line(m):
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":"' % m["id"])
    for _ in range(9):
        raw(b"x" * (1 << 20))
    raw(b'"}}\n')
    text(m["id"], "after the long line")


def t_endless_line(m):
    while True:
        raw(b"x" * (1 << 20))


def t_drip(m):
    for c in b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}\n' % m["id"]:
        raw(bytes([c]))


def t_stderr(m):
    for i in range(5000):
        sys.stderr.write("noise %d \x1b[31m\n" % i)
    sys.stderr.write("x" * 100000)
    sys.stderr.flush()
    text(m["id"], "loud")


def t_progress(m):
    token = m["params"].get("_meta", {}).get("progressToken")
    for i in range(3):
        note("notifications/progress", {"progressToken": token, "progress": i, "total": 3})
    note("notifications/progress", {"progressToken": 999999, "progress": 1})
    text(m["id"], "progressed")


def t_progress_forever(m):
    token = m["params"].get("_meta", {}).get("progressToken")
    i = 0
    while True:
        i += 1
        note("notifications/progress", {"progressToken": token, "progress": i})
        time.sleep(0.02)


def t_message(m):
    note("notifications/message", {"level": "info", "data": "hello"})
    text(m["id"], "said")


def t_flood(m):
    for i in range(20000):
        note("notifications/message", {"level": "info", "data": i})
    text(m["id"], "flooded")


def t_changed(m):
    global description
    description = "another"
    note("notifications/tools/list_changed")
    text(m["id"], "changed")


def t_ask(m):
    """A legacy server asks in mid-call; a modern one wants input."""
    if not has("modern"):
        send({"jsonrpc": "2.0", "id": "ask-1", "method": "elicitation/create",
              "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}})
        asked["ask-1"] = m["id"]
        return
    p = m["params"]
    if "inputResponses" in p:
        text(m["id"], json.dumps([p["inputResponses"], p.get("requestState")], sort_keys=True))
        return
    result(m["id"], {"resultType": "input_required", "requestState": "st\u00e4te \"1\"",
                     "inputRequests": {"confirm": {"method": "elicitation/create", "params": {
                         "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}}}})


def t_ask_forever(m):
    """Asks again as long as it gets answers; then it says how often."""
    ask_again(m["id"], 0)


def ask_again(id, n):
    forever["forever-%d" % n] = (id, n)
    send({"jsonrpc": "2.0", "id": "forever-%d" % n, "method": "elicitation/create",
          "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}})


def answered_again(m):
    id, n = forever.pop(m["id"])
    if "result" in m:
        ask_again(id, n + 1)
    else:
        text(id, "%d: %s" % (n, m["error"]["message"]))


def t_ask_model(m):
    send({"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage",
          "params": {"messages": [], "maxTokens": 1}})
    asked[77] = m["id"]


def t_ask_roots(m):
    send({"jsonrpc": "2.0", "id": 78, "method": "roots/list"})
    asked[78] = m["id"]


def t_ask_odd(m):
    send({"jsonrpc": "2.0", "id": 79, "method": "tools/call", "params": {}})
    asked[79] = m["id"]


def t_ping(m):
    send({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    asked["p"] = m["id"]


def t_again(m):
    """requestState only: again at once."""
    state = m["params"].get("requestState")
    if state == "3":
        text(m["id"], "thrice")
    else:
        result(m["id"], {"resultType": "input_required", "requestState": str(int(state or 0) + 1)})


def t_again_forever(m):
    result(m["id"], {"resultType": "input_required", "requestState": "x"})


def t_nothing_asked(m):
    result(m["id"], {"resultType": "input_required"})


def t_odd_type(m):
    result(m["id"], {"resultType": "task", "taskId": "1"})


def t_capability(m):
    error(m["id"], -32021, "needs sampling", {"requiredCapabilities": {"sampling": {}}})


def t_templates(m):
    text(m["id"], "now")
    templates_tell()


def t_closes_stdin(m):
    os.close(0)
    note("notifications/message", {"level": "info", "data": "closed"})
    while True:
        time.sleep(60)


TOOLS = {k[2:]: v for k, v in list(globals().items()) if k.startswith("t_")}
later = []
asked = {}
forever = {}
templates_asked = []
description = value("say", "says it again")
once = set()


def first(word):
    if not has(word) or word in once:
        return False
    once.add(word)
    return True


def definitions():
    global description
    if value("list"):
        with open(value("list")) as f:
            description = f.read().strip()
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    out = [{"name": n, "description": description if n == "echo" else n, "inputSchema": schema}
           for n in TOOLS if not (n == "echo" and has("without-echo"))]
    out += [{"name": "t%d" % i, "inputSchema": {"type": "object"}} for i in range(int(value("tools", 0)))]
    return out


def tools_list(m):
    global description
    if has("start-ask"):
        send({"jsonrpc": "2.0", "id": "early", "method": "sampling/createMessage",
              "params": {"messages": [], "maxTokens": 1}})
    if first("list-fails"):
        error(m["id"], -32603, "not now")
        return
    cursor = m.get("params", {}).get("cursor")
    if has("slow-pages"):
        time.sleep(0.05)
    if has("circle") or has("endless") or has("slow-pages"):
        n = int(cursor or 0) + 1
        result(m["id"], {"tools": [{"name": "p%d" % n, "inputSchema": {"type": "object"}}],
                         "nextCursor": str(n % 3 if has("circle") else n)})
        return
    tools = definitions()
    size = int(value("page", len(tools) or 1))
    start = int(cursor or 0)
    answer = {"tools": tools[start:start + size]}
    if start + size < len(tools):
        answer["nextCursor"] = str(start + size)
    result(m["id"], answer)
    if has("restless"):
        description += "."
        note("notifications/tools/list_changed")
    if first("flood"):
        for _ in range(20000):
            note("notifications/tools/list_changed")


CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"subscribe": True},
                "logging": {}}


def discover(m):
    if has("exit-probe"):
        sys.exit(0)
    if has("mute-probe"):
        return
    if has("nul-probe"):
        error(None, -32600, "what?")
    elif not has("modern"):
        error(m["id"], -32601, "Method not found")
    elif first("refuse-version"):
        error(m["id"], -32022, "no", {"supported": ["2026-07-28"], "requested": "2026-07-28"})
    else:
        result(m["id"], {"supportedVersions": [value("version", "2026-07-28")],
                         "capabilities": CAPABILITIES, "instructions": "be kind",
                         "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}}})


def initialize(m):
    if has("exit-initialize"):
        sys.exit(0)
    if has("refuse-and-exit"):
        error(m["id"], -32022, "modern only", {"supported": ["2026-07-28"]})
        sys.exit(0)
    if has("modern"):
        error(m["id"], -32022, "modern only", {"supported": ["2026-07-28"]})
        return
    result(m["id"], {"protocolVersion": value("version", "2025-11-25"), "capabilities": CAPABILITIES,
                     "serverInfo": {"name": "fake", "version": "1"}, "instructions": "be kind"})


def templates_list(m):
    if has("mute-templates"):
        return
    templates_asked.append(m["id"])
    if not has("templates"):
        templates_tell()


def templates_tell():
    templates = [{"uriTemplate": "x://{n}", "name": "n"}] if has("templates") else []
    while templates_asked:
        result(templates_asked.pop(0), {"resourceTemplates": templates})


def call(m):
    if first("header-once"):
        error(m["id"], -32020, "headers")
    elif first("forget-once"):
        error(m["id"], -32022, "version", {"supported": ["2026-07-28"]})
    else:
        TOOLS.get(m["params"]["name"], lambda m: error(m["id"], -32602, "no such tool"))(m)


def listen(m):
    note("notifications/subscriptions/acknowledged", {
        "notifications": m["params"]["notifications"],
        "_meta": {"io.modelcontextprotocol/subscriptionId": m["id"]}})


METHODS = {
    "server/discover": discover,
    "initialize": initialize,
    "tools/list": tools_list,
    "tools/call": call,
    "prompts/list": lambda m: result(m["id"], {"prompts": [{"name": "p"}]}),
    "resources/list": lambda m: result(m["id"], {"resources": [{"uri": "x://1", "name": "1"}]}),
    "resources/templates/list": templates_list,
    "resources/subscribe": lambda m: (result(m["id"], {}), note("notifications/resources/updated", {"uri": m["params"]["uri"]})),
    "resources/unsubscribe": lambda m: result(m["id"], {}),
    "logging/setLevel": lambda m: result(m["id"], {}),
    "subscriptions/listen": listen,
}


def main():
    global description
    if value("count"):
        with open(value("count"), "a") as f:
            f.write("%d\n" % os.getpid())
    if has("exit-start"):
        sys.stderr.write("no luck\n")
        sys.exit(3)
    if has("ignore-eof"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(float(value("asleep", 0)))
    if has("start-garbage"):
        raw(b"Welcome to the fake server!\n")
    while True:
        m = read()
        if has("mute"):
            continue
        if m.get("method") == "notifications/cancelled" and has("change-on-cancel"):
            description = "another"
            note("notifications/tools/list_changed")
        if m.get("id") in forever:
            answered_again(m)
            continue
        if "method" not in m:
            call_id = asked.pop(m.get("id"), None)
            if call_id is not None:
                text(call_id, json.dumps(m.get("result", m.get("error")), sort_keys=True))
            continue
        if m["method"] in METHODS and "id" in m:
            METHODS[m["method"]](m)
        elif "id" in m:
            error(m["id"], -32601, "Method not found")


main()
