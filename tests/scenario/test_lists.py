"""Lists that every client takes, whatever servers say of what they have (issue 5)."""
import json
import os
import sys

from lib import until
from test_mcp import Client
from test_surfaces import AUTO, Line, Peer

# What is wrong stands in a file: {"tools/list": {...}, ...}.
SERVER = r'''
import json, sys
lists = json.load(open(sys.argv[1]))
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m:
        continue
    if m["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"},
                             "capabilities": {"tools": {}, "resources": {}, "prompts": {}}}}
    elif m["method"] == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": "done"}]}}
    elif m["method"] in lists:
        answer = {"result": lists[m["method"]]}
    else:
        answer = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], **answer}), flush=True)
'''
OBJECT = {"type": "object"}
GOOD = {
    "tools/list": {"tools": [{"name": "good", "description": "d", "inputSchema": OBJECT, "x": 1}]},
    "resources/list": {"resources": [{"uri": "mem://good", "name": "good"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "mem://{good}", "name": "good"}]},
    "prompts/list": {"prompts": [{"name": "good", "arguments": [{"name": "a", "required": True}]}]},
}
BAD = {
    "tools/list": {"tools": [
        {"name": "a_banana", "description": "d", "inputSchema": {"type": "banana"}},
        {"name": "a_bare", "description": "d"},
        {"name": "a_text", "description": "d", "inputSchema": "object"},
        {"name": "b_ref", "description": "d", "inputSchema": {"$ref": "#/$defs/a", "$defs": {"a": {"required": ["n"]}}}},
        {"name": "b_open", "description": "d", "inputSchema": {"type": "object", "properties": {"n": True}}},
        {"name": "c_words", "description": 7, "title": 7, "inputSchema": OBJECT, "annotations": [1], "_meta": "m", "icons": "i"},
        {"name": "c_output", "description": "d", "inputSchema": OBJECT, "outputSchema": {"type": "object", "required": 1},
         "execution": {"taskSupport": 1}, "annotations": {"readOnlyHint": "yes"}, "icons": [{}, {"src": "a:b"}]},
    ]},
    "resources/list": {"resources": [{"uri": "no-scheme", "name": "x"}, {"uri": "mem://bad"},
                                     {"uri": "mem://bad/2", "name": "n", "annotations": {"priority": "high"}, "size": "9"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "bad://{x}", "title": []}]},
    "prompts/list": {"prompts": [{"name": "bad", "arguments": {"a": 1}}, {"name": "bad2", "arguments": [{}, {"name": "b", "required": 1}]}]},
}


def is_text(v):
    return isinstance(v, str)


def maybe(thing, key, test):
    assert key not in thing or test(thing[key]), (key, thing)


def check_shown(thing):
    for key in ("title", "description"):
        maybe(thing, key, is_text)
    maybe(thing, "_meta", lambda v: isinstance(v, dict))
    maybe(thing, "icons", lambda v: isinstance(v, list) and all(is_text(i["src"]) for i in v))


def check_schema(schema):
    assert schema["type"] == "object", schema
    maybe(schema, "properties", lambda v: all(isinstance(p, dict) for p in v.values()))
    maybe(schema, "required", lambda v: all(is_text(r) for r in v))


def check_tool(tool):
    """What the official SDK's schema demands."""
    assert is_text(tool["name"])
    check_shown(tool)
    check_schema(tool["inputSchema"])
    if "outputSchema" in tool:
        check_schema(tool["outputSchema"])
    maybe(tool, "annotations", lambda v: isinstance(v, dict) and all(isinstance(v[k], bool) for k in v if k.endswith("Hint")))
    maybe(tool, "execution", lambda v: v.get("taskSupport", "forbidden") in ("required", "optional", "forbidden"))


def check_lists(client, prefix):
    """{kind: names} of everything that is listed; all of it is as a client wants it."""
    tools = client.result("tools/list")["tools"]
    for tool in tools:
        check_tool(tool)
    resources = client.result("resources/list")["resources"]
    for resource in resources:
        check_shown(resource)
        assert is_text(resource["name"]) and ":" in resource["uri"], resource
        maybe(resource, "size", lambda v: isinstance(v, int))
        maybe(resource.get("annotations", {}), "priority", lambda v: 0 <= v <= 1)
    templates = client.result("resources/templates/list")["resourceTemplates"]
    for template in templates:
        check_shown(template)
        assert is_text(template["name"]) and is_text(template["uriTemplate"])
    prompts = client.result("prompts/list")["prompts"]
    for prompt in prompts:
        check_shown(prompt)
        assert all(is_text(a["name"]) and isinstance(a.get("required", True), bool) for a in prompt.get("arguments", []))
    return {"tools": {t["name"][len(prefix):]: t for t in tools if t["name"].startswith(prefix)},
            "resources": {r["uri"] for r in resources}, "templates": {t["uriTemplate"] for t in templates},
            "prompts": {p["name"][len(prefix):] for p in prompts if p["name"].startswith(prefix)}}


def check_bad(shown):
    assert set(shown["tools"]) == {"b_ref", "b_open", "c_words", "c_output"}, set(shown["tools"])
    assert {"mem://bad", "mem://bad/2"} <= shown["resources"] and "no-scheme" not in shown["resources"], shown["resources"]
    assert "bad://{x}" in shown["templates"] and {"bad", "bad2"} <= shown["prompts"], shown


def serve(box, **servers):
    script = os.path.join(box.dir, "server.py")
    with open(script, "w") as out:
        out.write(SERVER)
    behind = {}
    for name, lists in servers.items():
        file = os.path.join(box.dir, name + ".json")
        with open(file, "w") as out:
            json.dump(lists, out)
        behind[name] = {"command": sys.executable, "args": [script, file]}
    box.config(AUTO + "mcpServers: " + json.dumps(behind) + "\n")
    gateway = box.serve()
    everything = Peer(gateway, "/mcp/all")
    until(lambda: all(s["state"] == "started" for s in gateway.ok("GET", "/servers")["servers"]), "the servers have started")
    until(lambda: len(everything.result("prompts/list")["prompts"]) >= len(servers), "all lists are there")
    return gateway


def test_5_what_one_server_lists_wrongly_spoils_nothing(box):
    gateway = serve(box, bad=BAD, good=GOOD)
    modern = Peer(gateway, "/mcp/all")
    client = Client(box, "--surface", "all")
    try:
        client.initialize()
        for each in modern, Line(client):
            check_bad(check_lists(each, "bad__"))
            good = check_lists(each, "good__")
            assert good["tools"]["good"]["x"] == 1 and "good" in good["prompts"], good
            assert "mem://good" in good["resources"] and "mem://{good}" in good["templates"], good
        assert client.close() == 0
    finally:
        client.process.kill()
        client.process.wait()
    check_bad(check_lists(Peer(gateway, "/mcp/s/bad"), ""))
    for tool in Peer(gateway, "/mcp/proxy").result("tools/list")["tools"]:
        check_tool(tool)
        assert "banana" not in tool["name"], tool
    # What was mended in the list means what it did.
    refused = modern.call("bad__b_ref", {})
    assert refused["isError"] and "n" in refused["content"][0]["text"], refused
    assert modern.call("bad__b_ref", {"n": 1})["content"][0]["text"] == "done"


def test_5_people_are_told_what_is_left_out_and_why(box):
    gateway = serve(box, bad=BAD, good=GOOD)
    servers = {s["name"]: s for s in gateway.ok("GET", "/servers")["servers"]}
    assert "left_out" not in servers["good"] and "problems" not in servers["good"], servers["good"]
    assert servers["bad"]["left_out"] == 4, servers["bad"]
    problems = servers["bad"]["problems"]
    assert "tool 'a_banana': inputSchema: must be the schema of an object" in problems, problems
    assert "resource 'no-scheme': uri: must be an address with a scheme" in problems, problems
    listed = box.run("servers")
    assert "bad: 4 left out" in listed.stdout and "good: " not in listed.stdout, listed.stdout
    assert "a_banana" in box.run("servers", "bad").stdout
    # What is remembered of a tool is what its server said.
    path = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "servers", "bad.json")
    until(lambda: os.path.exists(path), "it is written down")
    with open(path) as file:
        kept = {t["name"]: t for t in json.load(file)["shelf"]["tools"]}
    assert kept["c_words"]["title"] == 7 and kept["b_open"]["inputSchema"]["properties"] == {"n": True}, kept
