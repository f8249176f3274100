"""A small MCP server over stdio (2025-06-18) whose tools come from a JSON file: read again with every list.

    small_server.py TOOLS.json [NAME]
"""
import json
import sys

path = sys.argv[1]
name = sys.argv[2] if len(sys.argv) > 2 else "small"


def tools():
    with open(path) as file:
        return json.load(file)


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": name, "version": "1"}}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        text = "%s:%s %s" % (name, params["name"], json.dumps(params.get("arguments"), sort_keys=True))
        return {"content": [{"type": "text", "text": text}]}
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
