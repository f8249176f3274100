"""Finding tools through the gateway: browsing, hydrating, stable lists, and learning from use."""
import json
import os
import urllib.parse

FINE, REFUSED, USAGE = 0, 1, 2
ODD = "fetch the quarterly zorblax"  # words that no tool says


def ids(cards):
    return [c["id"] for c in cards]


def browse(gateway, **body):
    return gateway.ok("POST", "/browse", body)["cards"]


def tool_id(gateway, name):
    return next(t["id"] for t in gateway.ok("GET", "/tools")["tools"] if t["name"] == name)


def no(gateway, status, code, **body):
    got, answer = gateway.post("/browse", body)
    assert (got, answer["error"]) == (status, code), (body, got, answer)
    assert set(answer) >= {"error", "message", "path", "retryable"}, answer
    return answer


def test_a_query_finds_the_tool_it_describes(box):
    gateway = box.serve()
    found = browse(gateway, query="read the text of a file", top_k=3)
    assert len(found) <= 3 and found[0]["id"] == tool_id(gateway, "read_file"), found
    assert set(found[0]) >= {"id", "name", "description", "tags", "kind", "namespace", "has_schema", "score"}
    assert not {"args_schema", "inputSchema", "input_schema", "examples"} & set(found[0])
    shell = browse(gateway, path="/builtin/shell")[0]
    assert shell["tags"] == ["destructive"] and shell["side_effects"], shell
    assert json.loads(box.run("browse", "--path", "/builtin/shell", "--json").stdout)["cards"] == [shell]
    assert [c["score"] for c in found] == sorted((c["score"] for c in found), reverse=True)


def test_a_path_leads_from_the_namespaces_to_a_tool(box):
    gateway = box.serve()
    root = browse(gateway, path="/")
    assert ids(root) == ["/builtin"] and root[0]["kind"] == "internal", root
    assert tool_id(gateway, "write_file") in ids(browse(gateway, path="/builtin"))
    assert browse(gateway, path="/builtin/*") == browse(gateway, path="/builtin")
    leaf = browse(gateway, path="/builtin/write_file")
    assert ids(leaf) == [tool_id(gateway, "write_file")]


def test_browsing_says_no_in_one_shape(box):
    gateway = box.serve()
    assert no(gateway, 400, "PATH_INVALID", path="/builtin/")["path"] == "/builtin/"
    assert no(gateway, 404, "PATH_NOT_FOUND", path="/nowhere")["path"] == "/nowhere"
    no(gateway, 400, "ARGS_INVALID", path="/", query="x")
    no(gateway, 400, "ARGS_INVALID")
    for top_k in (0, -1, 51):
        assert "top_k" in no(gateway, 400, "ARGS_INVALID", query="x", top_k=top_k)["message"]
    no(gateway, 400, "ARGS_INVALID", query="x", cache_stable=True)
    no(gateway, 400, "ARGS_INVALID", query="x", qeury="y")
    assert gateway.post("/browse", {"query": "x", "session": "sess_nobody"})[0] == 404


def test_a_tool_is_hydrated_by_id_and_called_by_id(box):
    gateway = box.serve()
    session = gateway.session()
    read = tool_id(gateway, "read_file")
    whole = gateway.ok("GET", "/tools/" + urllib.parse.quote(read, safe=""))
    assert whole["tool_id"] == read and whole["args_schema"]["required"] == ["path"], whole
    assert gateway.ok("GET", "/tools/read_file") == whole
    status, answer = gateway.get("/tools/nobody?session=" + session)
    assert (status, answer["error"]) == (404, "HYDRATE_FAILED"), answer
    box.write("a.txt", "hello")
    assert "hello" in gateway.call(session, read, {"path": "a.txt"}).text


def test_a_stable_list_repeats_its_bytes_and_marks_what_is_new(box):
    gateway = box.serve()
    session = gateway.session()

    def stable(**body):
        return browse(gateway, session=session, cache_stable=True, **body)

    first = stable(query="read a file", top_k=2)
    assert ids(first) == sorted(ids(first)) and "__cache_breakpoint__" not in ids(first)
    assert stable(query="read a file", top_k=2) == first
    more = stable(path="/builtin")
    at = ids(more).index("__cache_breakpoint__")
    assert more[:at] == first and ids(more[at + 1:]) == sorted(ids(more[at + 1:])) and more[at + 1:]
    assert [c for c in stable(path="/builtin") if c["id"] == "__cache_breakpoint__"] == []
    other = browse(gateway, session=gateway.session(), cache_stable=True, query="read a file", top_k=2)
    assert ids(other) == ids(first)  # another session has seen nothing of it


def teach(gateway, query=ODD, times=4):
    """The same session asks, is shown the tool, and runs it."""
    for _ in range(times):
        session = gateway.session()
        assert tool_id(gateway, "list_dir") in ids(browse(gateway, query=query + " directory", session=session))
        assert not gateway.call(session, "list_dir", {"path": "."}).is_error


def learned(gateway):
    return gateway.ok("GET", "/learned")


def test_what_is_run_after_browsing_is_found_better(box):
    gateway = box.serve()
    wanted = tool_id(gateway, "list_dir")
    before = browse(gateway, query=ODD)
    assert wanted not in ids(before)[:1]
    teach(gateway)
    told = learned(gateway)
    assert told["on"] and ids(told["tools"]) == [wanted], told
    assert browse(gateway, query=ODD)[0]["id"] == wanted
    assert box.run("browse", ODD, "--top-k", "1").stdout.startswith("[1/1] " + wanted)
    done = box.run("learned")
    assert done.returncode == FINE and wanted in done.stdout and "zorblax" in done.stdout, done
    gateway.ok("POST", "/learned", {"on": False})
    assert browse(gateway, query=ODD) == before
    teach(gateway, "another frobnicated thing", 1)
    gateway.ok("POST", "/learned", {"on": True})
    assert learned(gateway)["tools"] == told["tools"]  # nothing was learned meanwhile
    assert browse(gateway, query=ODD)[0]["id"] == wanted


def test_only_what_was_shown_and_run_by_the_same_session_teaches(box):
    gateway = box.serve()
    asks, runs = gateway.session(), gateway.session()
    browse(gateway, query=ODD + " directory", session=asks)
    browse(gateway, query=ODD + " directory")  # by nobody
    gateway.call(runs, "list_dir", {"path": "."})  # another session
    gateway.call(asks, "read_file", {"path": "nowhere"})  # it failed
    assert learned(gateway)["tools"] == []
    gateway.call(asks, "list_dir", {"path": "."})
    gateway.call(asks, "list_dir", {"path": "."})  # counts once
    assert [t["uses"] for t in learned(gateway)["tools"]] == [1]


def test_what_was_learned_outlives_the_gateway_and_can_be_forgotten(box):
    gateway = box.serve()
    teach(gateway)
    told = learned(gateway)
    gateway.stop()
    path = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "learned.json")
    assert os.stat(path).st_mode & 0o777 == 0o600
    gateway = box.serve()
    assert learned(gateway) == told
    tool = told["tools"][0]["id"]
    assert box.run("learned", "--forget", "nobody:x#00000000").returncode == REFUSED
    done = box.run("learned", "--forget", tool, "--json")
    assert done.returncode == FINE and json.loads(done.stdout)["tools"] == [], done
    teach(gateway, times=1)
    assert "nothing has been learned" in box.run("learned", "--clear").stdout
    assert "switched off" in box.run("learned", "--off").stdout
    assert box.run("learned", "--on", "--off").returncode == USAGE
    gateway.stop()
    gateway = box.serve()
    assert learned(gateway) == {"on": False, "tools": []}
    gateway.stop()
    with open(path, "w") as out:
        out.write("{broken")
    gateway = box.serve()
    assert learned(gateway)["tools"] == [] and os.path.exists(path + ".bad")


def test_a_tool_call_cannot_change_what_was_learned(box):
    box.config("tool_confirmation:\n  default:\n    EXECUTE: auto\n")
    gateway = box.serve()
    teach(gateway)
    session = gateway.session()
    command = "XDG_RUNTIME_DIR=%s %s learned --clear; echo code $?" % (box.env["XDG_RUNTIME_DIR"], box.program)
    done = gateway.call(session, "shell", {"command": command})
    assert "code 0" not in done.text, done.text
    assert learned(gateway)["tools"]
