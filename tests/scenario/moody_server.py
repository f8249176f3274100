"""An MCP server over stdio that does each time what a file says, and notes every call outside.

    moody_server.py DIR

DIR/starts and DIR/moods hold words, one a line; each start and each call of a tool takes the first and leaves the rest; none
left means `fine`. A start may `die`, or be `slow` (longer than the deadlines of the tests). A call may `crash` (it has been noted), `hang` (it never answers), be `late` (it answers
after the deadlines of the tests, whether it was cancelled or not), or be an `error` of the tool. DIR/calls gets the name of every
tool that was called.
"""
import json
import os
import sys
import threading
import time

folder = sys.argv[1]
LATE_SECONDS = 2
SLOW_SECONDS = 4
SIZES = {"type": "object", "properties": {"bytes": {"type": "integer"}, "blocks": {"type": "string"}}}
TOOLS = [
    {"name": "look", "description": "Reads.", "inputSchema": SIZES, "annotations": {"readOnlyHint": True}},
    {"name": "put", "description": "Sets.", "inputSchema": SIZES, "annotations": {"idempotentHint": True, "openWorldHint": False}},
    {"name": "pay", "description": "Pays.", "inputSchema": SIZES, "annotations": {"openWorldHint": False}},
]


def take(name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return "fine"
    with open(path) as file:
        words = file.read().split()
    with open(path + ".new", "w") as file:
        file.write("\n".join(words[1:]))
    os.rename(path + ".new", path)
    return words[0] if words else "fine"


def say(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)


def answer_late(id):
    time.sleep(LATE_SECONDS)
    say(id, {"content": [{"type": "text", "text": "too late"}]})


def content(arguments):
    blocks = [{"type": "text", "text": "x" * (arguments or {}).get("bytes", 4)}]
    if (arguments or {}).get("blocks"):
        blocks.append({"type": "image", "mimeType": "image/png", "data": arguments["blocks"]})
    return {"content": blocks}


def call(id, params):
    mood = take("moods")
    with open(os.path.join(folder, "calls"), "a") as out:
        out.write(params["name"] + "\n")
    if mood == "crash":
        os._exit(3)
    if mood == "late":
        threading.Thread(target=answer_late, args=(id,), daemon=True).start()
    elif mood == "error":
        say(id, {"content": [{"type": "text", "text": "no such thing"}], "isError": True})
    elif mood != "hang":
        say(id, content(params.get("arguments")))


start = take("starts")
if start == "die":
    os._exit(4)
if start == "slow":
    time.sleep(SLOW_SECONDS)
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method is None or id is None:
        continue
    if method == "initialize":
        say(id, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "moody", "version": "1"}})
    elif method == "tools/list":
        say(id, {"tools": TOOLS})
    elif method == "tools/call":
        call(id, message["params"])
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}), flush=True)
