"""A small MCP server over stdio whose tools do something: each call is a line in a log outside of Holdfast.

    acting_server.py LOG

The log is the judge of what was done and how often. An argument "seat" of "bad" makes a call fail, "slow" never ends; those of
MORE have more in what is told of them. A file that is named as "touch" is made, one that
is named as "until" is waited for.
"""
import json
import os
import sys
import time

log = sys.argv[1]
SEAT = {"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]}
TOOLS = [
    {"name": "pay", "description": "Pay for a seat.", "inputSchema": SEAT},
    {"name": "book", "description": "Book a seat.", "inputSchema": SEAT},
    {"name": "unbook", "description": "Take a booking back.",
     "inputSchema": {"type": "object", "properties": {"id": {}, "seat": {"type": "string"}, "why": {}}}},
    {"name": "look", "description": "Look at a seat.", "inputSchema": SEAT, "annotations": {"readOnlyHint": True}},
]
MORE = {
    "held": {"status": "held"},
    "secret": {"booking": {"id": "AKIA" + "IOSFODNN7EXAMPLE"}},
    "long": {"note": "n" * 40000},
    "longest": {"note": "n" * 300000},
    "deep": {"deep": json.loads("[" * 53 + "]" * 53)},
}


def act(name, arguments):
    line = json.dumps({"tool": name, **arguments}, sort_keys=True) + "\n"
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line.encode())
    os.close(fd)
    if "touch" in arguments:
        open(arguments["touch"], "w").close()
    while "until" in arguments and not os.path.exists(arguments["until"]):
        time.sleep(0.02)
    while arguments.get("seat") == "slow" and name == "unbook":
        time.sleep(0.1)
    if arguments.get("seat") == "bad" and name == "unbook":
        return {"content": [{"type": "text", "text": "the desk is closed"}], "isError": True}
    told = {"booking": {"id": "B-" + arguments.get("seat", "?")}, "seat": arguments.get("seat"),
            **(MORE.get(arguments.get("seat"), {}) if name == "book" else {})}
    return {"content": [{"type": "text", "text": json.dumps(told)}], "structuredContent": told}


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "desk", "version": "1"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return act(params["name"], params.get("arguments") or {})
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message)
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
