"""Results that are too long: kept without their secrets, seen in parts, whole again byte by byte."""
import json
import os
import re
import time

from lib import until
from test_mcp import with_clients

AUTO = "tool_confirmation: {default: {EXECUTE: auto}}\n"
KEY = "AKIA" + "IOSFODNN7EXAMPLE"
MARK = "[REDACTED-SECRET]"
COMMAND = "seq 1 350000; echo the key is %s here; seq 350001 700000; echo the end" % KEY
WHOLE = "".join("%d\n" % n for n in range(1, 350001)) + "the key is %s here\n" % MARK + \
    "".join("%d\n" % n for n in range(350001, 700001)) + "the end\n"
HANDLE = re.compile(r"art_[0-9a-f]{32}")


def artifacts(box):
    return os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "artifacts")


def files(folder):
    return [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names]


def long_result(gateway, session=None):
    result = gateway.call(session or gateway.session(), "shell", {"command": COMMAND})
    assert not result.is_error
    (kept,) = result.outcome["artifacts"]
    assert set(HANDLE.findall(result.text)) == {kept["handle"]}
    return result, kept


def view(gateway, handle, **selector):
    return gateway.ok("POST", "/artifacts/%s/view" % handle, selector)


def test_five_megabytes_are_kept_and_their_ends_are_shown(box):
    box.config(AUTO)
    g = box.serve()
    result, kept = long_result(g)
    assert len(result.text) < 32768
    assert result.text.startswith("$ seq 1 350000; echo the key is %s here" % MARK), result.text[:200]
    assert "\nexit_code=0\n\n1\n2\n3\n" in result.text and result.text.endswith("700000\nthe end\n")
    assert "tool_view" in result.text and "holdfast view " + kept["handle"] in result.text
    assert kept["size_bytes"] == len(WHOLE) > 4700000 and kept["redacted"] == 1 and kept["tool"] == "shell"
    about = g.ok("GET", "/artifacts/%s/about" % kept["handle"])
    assert about == kept
    # Nowhere on the disk: not in the artifact, and not in what the journal keeps of the result.
    for path in files(artifacts(box)):
        with open(path, "rb") as file:
            assert KEY.encode() not in file.read(), path
        assert os.stat(path).st_mode & 0o7777 == 0o600


def test_parts_by_every_selector(box):
    box.config(AUTO)
    g = box.serve()
    handle = long_result(g)[1]["handle"]
    assert view(g, handle, type="head", chars=5)["text"] == "1\n2\n3"
    assert view(g, handle, type="tail", chars=8)["text"] == "the end\n"
    assert view(g, handle, type="lines", start=349999, end=350002)["text"] == "350000\nthe key is %s here\n350001" % MARK
    assert view(g, handle, type="rows", start=-2)["text"] == "700000\nthe end"
    grep = view(g, handle, type="grep", pattern="^[a-z ]+ is", context=1)
    assert grep["text"] == "349999-350000\n350000:the key is %s here\n350001-350001" % MARK
    assert grep["hits"] == 1 and grep["next_line"] is None and grep["next_offset"] is None
    many = view(g, handle, type="grep", pattern="^1", max=3)
    assert many["text"] == "0:1\n--\n9:10\n10:11" and many["next_line"] == 11
    page, all = view(g, handle, type="lines"), ""
    for _ in range(100):
        all += page["text"]
        if page["next_offset"] is None:
            break
        page = view(g, handle, type="lines", offset=page["next_offset"])
    assert all + "\n" == WHOLE

    assert "there is no selector" in g.refused(400, "view_failed", "POST", "/artifacts/%s/view" % handle, {"type": "middle"})
    assert g.refused(400, "view_failed", "POST", "/artifacts/%s/view" % handle, {"type": "pointer", "pointer": "/a"}).startswith("pointer: ")
    g.refused(400, "view_failed", "POST", "/artifacts/%s/view" % handle, {"type": "grep", "pattern": "("})
    for unknown in ("art_" + "0" * 32, "x", "..", "art_%2e%2e"):
        g.refused(404, "artifact_not_found", "GET", "/artifacts/" + unknown)


def test_json_by_pointer_and_keys(box):
    box.config(AUTO + "results: {max_bytes: 1024}\n")
    g = box.serve()
    document = {"items": [{"n": n, "name": "item %d" % n} for n in range(200)], "total": 200}
    box.write("a.json", json.dumps(document))
    kept = g.call(g.session(), "shell", {"command": "cat a.json"}).outcome["artifacts"][0]
    assert json.loads(view(g, kept["handle"], type="pointer", pointer="/items/7")["text"]) == document["items"][7]
    assert json.loads(view(g, kept["handle"], type="json_keys", keys=["total", "none"])["text"]) == {"total": 200}
    g.refused(400, "view_failed", "POST", "/artifacts/%s/view" % kept["handle"], {"type": "pointer", "pointer": "/x"})


def test_the_bytes_come_back_whole_and_in_ranges(box):
    box.config(AUTO)
    g = box.serve()
    handle = long_result(g)[1]["handle"]
    shown = box.run("view", handle)
    assert shown.returncode == 0 and shown.stdout == WHOLE
    status, part = g.request("GET", "/artifacts/%s?offset=100&limit=50" % handle)
    assert status == 206 and part == WHOLE[100:150]
    status, part = g.request("GET", "/artifacts/%s?offset=%d" % (handle, len(WHOLE) - 3))
    assert status == 206 and part == "nd\n"
    status, part = g.request("GET", "/artifacts/%s?offset=%d" % (handle, len(WHOLE)))
    assert status == 200 and part == ""
    g.refused(400, "invalid_content", "GET", "/artifacts/%s?offset=x" % handle)
    g.refused(400, "invalid_content", "GET", "/artifacts/%s?limit=0" % handle)


def test_the_command_line_shows_parts(box):
    box.config(AUTO)
    called = box.run("call", "shell", json.dumps({"command": COMMAND}))
    assert called.returncode == 0, called.stderr
    handle = HANDLE.search(called.stdout).group()
    for args, out in (
            (["--lines", "2:4"], "3\n4\n"), (["--lines", "-2:"], "700000\nthe end\n"), (["--lines", ":1"], "1\n"),
            (["--lines", "6"], "7\n"), (["--lines", "-1"], "the end\n"), (["--head", "3"], "1\n2\n"), (["--tail", "4"], "end\n"),
            (["--grep", "^the"], "350000:the key is %s here\n--\n700001:the end\n" % MARK),
            (["--lines", "9223372036854775807"], ""),
            (["--grep", "^the end", "--context", "1"], "700000-700000\n700001:the end\n")):
        shown = box.run("view", handle, *args)
        assert (shown.returncode, shown.stdout) == (0, out), (args, shown.stdout[:200], shown.stderr)
    # More matches than one answer has: each line once, as if there were no pages.
    lines = WHOLE.splitlines()
    hits = [n for n, line in enumerate(lines) if line.endswith(("077", "577"))]
    around = ["".join("%d%s%s\n" % (at, ":" if at == n else "-", lines[at]) for at in range(n - 2, n + 3)) for n in hits]
    shown = box.run("view", handle, "--grep", "[05]77$", "--context", "2")
    assert shown.stdout == "--\n".join(around) and len(hits) > 1000
    assert json.loads(box.run("view", handle, "--json").stdout)["size_bytes"] == len(WHOLE)
    assert json.loads(box.run("view", handle, "--json", "--head", "1").stdout)["text"] == "1"
    assert box.run("view", handle).stdout == WHOLE
    for args, code in ((["--lines", "a:b"], 2), (["--head", "-1"], 2), (["--head", "1", "--tail", "1"], 2), (["--context", "1"], 2),
                       (["--grep", "("], 1), (["--pointer", "/a"], 1)):
        shown = box.run("view", handle, *args)
        assert shown.returncode == code and shown.stderr and not shown.stdout, (args, shown)
    missing = box.run("view", "art_" + "0" * 32)
    assert missing.returncode == 1 and "there is no kept result" in missing.stderr


def test_equal_results_have_one_handle_and_other_sessions_find_it(box):
    box.config(AUTO)
    g = box.serve()
    first, second = long_result(g)[1], long_result(g, g.session())[1]
    assert first["handle"] == second["handle"] and len(files(artifacts(box))) == 1
    other = g.call(g.session(), "tool_view", {"handle": first["handle"], "selector": {"type": "tail", "chars": 8}})
    assert other.text == "the end\n"
    # Another tenant's folder is not looked into.
    base = artifacts(box)
    os.rename(os.path.join(base, "default"), os.path.join(base, "other"))
    g.refused(404, "artifact_not_found", "GET", "/artifacts/" + first["handle"])


def test_a_restart_keeps_them(box):
    box.config(AUTO)
    g = box.serve()
    handle = long_result(g)[1]["handle"]
    g.stop()
    g = box.serve()
    assert view(g, handle, type="lines", start=-1)["text"] == "the end"
    status, text = g.request("GET", "/artifacts/" + handle)
    assert status == 200 and text == WHOLE


def test_an_ephemeral_gateway_leaves_nothing_on_the_disk(box):
    box.config(AUTO)
    g = box.serve("--ephemeral")
    handle = long_result(g)[1]["handle"]
    assert view(g, handle, type="tail", chars=8)["text"] == "the end\n"
    assert files(box.env["XDG_STATE_HOME"]) == []
    g.stop()
    assert files(box.env["XDG_STATE_HOME"]) == []
    g = box.serve("--ephemeral")
    g.refused(404, "artifact_not_found", "GET", "/artifacts/" + handle)


def test_what_is_too_old_is_forgotten(box):
    box.config(AUTO + "results: {keep_hours: 2}\n")
    g = box.serve()
    handle = long_result(g)[1]["handle"]
    g.stop()
    (path,) = files(artifacts(box))
    then = time.time() - 2 * 3600
    os.utime(path, (then, then))
    g = box.serve()
    g.call(g.session(), "shell", {"command": "seq 1 20000"})  # the first one that is stored clears up
    assert not os.path.exists(path)
    g.refused(404, "artifact_not_found", "GET", "/artifacts/" + handle)


def test_the_oldest_go_when_the_room_is_used_up(box):
    box.config(AUTO + "results: {keep_mib: 2}\n")
    g = box.serve()
    s = g.session()
    handles = [g.call(s, "shell", {"command": "seq %d1000000 %d1100000" % (n, n)}).outcome["artifacts"][0]["handle"]
               for n in range(1, 4)]
    assert len(set(handles)) == 3
    g.refused(404, "artifact_not_found", "GET", "/artifacts/" + handles[0])
    assert view(g, handles[2], type="head", chars=8)["text"] == "31000000"


def test_short_results_stay_and_lose_only_their_secrets(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    box.write("settings.txt", "DB_PASSWORD=hunter2hunter2\nNAME=x\n")
    result = g.call(s, "read_file", {"path": "settings.txt"})
    assert result.text == "DB_PASSWORD=%s\nNAME=x\n" % MARK and "artifacts" not in result.outcome
    failed = g.call(s, "shell", {"command": "echo %s; sleep 100" % KEY, "timeout_seconds": 1})
    assert failed.error_class == "timeout" and KEY not in failed.text and MARK in failed.text
    (told,) = [e for e in g.events(s) if e["type"] == "tool.failed"]
    assert KEY not in json.dumps(told["payload"]) and MARK in json.dumps(told["payload"])
    assert files(artifacts(box)) == []


def test_redaction_and_the_size_can_be_set(box):
    box.config(AUTO + "results: {redact: false, max_bytes: 1024}\n")
    g = box.serve()
    s = g.session()
    assert g.call(s, "shell", {"command": "echo " + KEY}).text.endswith("\n\n%s\n" % KEY)
    result = g.call(s, "shell", {"command": "seq 1 400; echo " + KEY})
    (kept,) = result.outcome["artifacts"]
    assert view(g, kept["handle"], type="lines", start=-1)["text"] == KEY and len(result.text) < 1024 + 512
    g.stop()
    for text, said in (("results: 3\n", "results: must be a mapping"),
                       ("results: {max_bytes: 10}\n", "results.max_bytes: must be a whole number from 1024 to 4194304"),
                       ("results: {redact: 1}\n", "results.redact: must be true or false"),
                       ("results: {max: 1}\n", "results.max: there is no such key")):
        box.config(text)
        ended = box.run("serve", "--listen", "127.0.0.1:0", limit=20)
        assert ended.returncode == 3 and "line 1: " + said in ended.stderr, (text, ended.stderr)


def test_output_that_the_tool_cuts_is_kept_even_if_much_may_be_shown(box):
    box.config(AUTO + "results: {max_bytes: 1048576}\n")
    g = box.serve()
    # The tool shows 128 KiB of either end; the key lies where it cuts.
    box.write("a.txt", "x" * 131060 + "\nkey %s end\n" % KEY + "y" * 200000)
    result = g.call(g.session(), "shell", {"command": "cat a.txt"})
    (kept,) = result.outcome["artifacts"]
    assert kept["size_bytes"] == len("x" * 131060 + "\nkey %s end\n" % MARK + "y" * 200000)
    assert view(g, kept["handle"], type="lines", start=1, end=2)["text"] == "key %s end" % MARK
    assert "AKIA" not in result.text and kept["handle"] in result.text


def test_a_long_file_is_kept_as_the_tool_gave_it(box):
    g = box.serve()
    text = "".join("line %d of a text\n" % n for n in range(8000))
    box.write("a.txt", text)
    result = g.call(g.session(), "read_file", {"path": "a.txt"})
    (kept,) = result.outcome["artifacts"]
    assert kept["label"] == "result" and result.text.startswith("line 0 of a text\n")
    assert view(g, kept["handle"], type="lines", start=4000, end=4001)["text"] == "line 4000 of a text"
    assert g.request("GET", "/artifacts/" + kept["handle"])[1].startswith(text)


def test_a_full_disk_costs_the_artifact_and_not_the_result(box):
    box.config(AUTO)
    g = box.serve()
    os.chmod(os.path.join(artifacts(box), ".new"), 0o500)
    if os.access(os.path.join(artifacts(box), ".new"), os.W_OK):  # root is not stopped by modes
        os.rename(os.path.join(artifacts(box), ".new"), os.path.join(artifacts(box), ".gone"))
        os.rmdir(os.path.join(artifacts(box), ".gone"))
    result = g.call(g.session(), "shell", {"command": COMMAND})
    assert not result.is_error and "could not be kept" in result.text and result.text.endswith("the end\n")
    assert "artifacts" not in result.outcome
    until(lambda: "a result could not be kept" in g.log(), "the log tells why")


@with_clients
def test_an_mcp_client_gets_the_handle_and_looks_inside(box, client):
    box.config(AUTO)
    box.serve()
    c = client()
    c.initialize()
    result = c.call("shell", {"command": COMMAND})["result"]
    (kept,) = result["_meta"]["holdfast/artifacts"]
    assert kept["handle"] in result["content"][0]["text"]
    part = c.call("tool_view", {"handle": kept["handle"], "selector": {"type": "grep", "pattern": "^the"}})["result"]
    assert part["content"][0]["text"] == "350000:the key is %s here\n--\n700001:the end" % MARK
    assert not part["isError"] and "_meta" not in part
    # A part that is too long comes in pieces, and is never kept itself.
    part = c.call("tool_view", {"handle": kept["handle"], "selector": {"type": "lines"}})["result"]
    assert "_meta" not in part and part["content"][0]["text"].startswith("1\n2\n3\n")
    offset = int(re.search(r"continue with offset=(\d+)", part["content"][1]["text"]).group(1))
    again = c.call("tool_view", {"handle": kept["handle"], "selector": {"type": "lines", "offset": offset}})["result"]
    both = part["content"][0]["text"] + again["content"][0]["text"]
    assert WHOLE.startswith(both) and offset == len(part["content"][0]["text"])
    for selector, said in (({"type": "pointer", "pointer": "/a"}, "pointer: "), ({"type": "grep", "pattern": "("}, "pattern: ")):
        part = c.call("tool_view", {"handle": kept["handle"], "selector": selector})["result"]
        assert part["isError"] and part["content"][0]["text"].startswith(said), part
    missing = c.call("tool_view", {"handle": "art_x", "selector": {"type": "head"}})["result"]
    assert missing["isError"] and "there is no kept result" in missing["content"][0]["text"]
