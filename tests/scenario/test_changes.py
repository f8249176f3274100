"""What calls do to files is known: in the history, by pattern, as events; and of the shell where that is wanted."""
import json
import os
import subprocess
import threading

from lib import until

AUTO = "tool_confirmation: {default: {WRITE: auto, EXECUTE: auto}}\n"
TRACK = AUTO + "tools: {shell: {track_changes: true, confinement: open}}\n"


def changed(g, session):
    return [e["payload"] for e in g.events(session) if e["type"] == "file.changed"]


def history(g, query=""):
    return g.ok("GET", "/changes?limit=1000" + query)["changes"]


def test_every_change_is_told_and_listed(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    stream = g.stream("/events?event_types=file.changed")
    result = g.call(s, "write_file", {"path": "src/a.c", "content": "int a;\n"})
    g.call(s, "patch_file", {"path": "src/a.c", "old": "a;", "new": "b;"})
    g.call(s, "write_file", {"path": "notes.md", "content": "x"})
    first = stream.next_of("file.changed")
    stream.close()
    payload = first["payload"]
    assert payload["type"] == "created" and payload["path"] == "src/a.c" and payload["size"] == 7
    assert payload["tool_name"] == "write_file" and payload["undoable"] is True
    assert payload["call_id"] == result.outcome["call_id"] and first["turn_id"] == result.turn["turn_id"]
    told = changed(g, s)
    assert [(p["type"], p["path"]) for p in told] == [("created", "src/a.c"), ("modified", "src/a.c"), ("created", "notes.md")]
    types = [e["type"] for e in g.events(s)]
    assert types.index("tool.called") < types.index("file.changed") < types.index("tool.completed")

    assert [r["path"] for r in history(g)] == ["notes.md", "src/a.c", "src/a.c"]  # newest first
    assert [r["change_id"] for r in history(g)] == [p["change_id"] for p in reversed(told)]
    for pattern, count in ("", 3), ("*", 3), ("*.c", 2), ("a.c", 2), ("src/*", 2), ("src/**", 2), ("**/*.md", 1), ("*/a.c", 2), ("a/*.c", 0):
        assert len(history(g, "&pattern=" + pattern)) == count, pattern
    assert len(history(g, "&session=" + s)) == 3 and history(g, "&session=sess_none") == []
    assert len(history(g, "&call=" + result.outcome["call_id"])) == 1
    page = g.ok("GET", "/changes?limit=1")
    assert len(page["changes"]) == 1 and page["more"] is True


def test_a_failed_call_changes_nothing_and_tells_nothing(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    box.write("a", "x")
    assert g.call(s, "patch_file", {"path": "a", "old": "y", "new": "z"}).is_error
    os.chmod(box.workspace, 0o500)
    try:
        if os.geteuid() != 0:
            assert g.call(s, "write_file", {"path": "b", "content": "z"}).is_error
    finally:
        os.chmod(box.workspace, 0o700)
    assert history(g) == [] and changed(g, s) == []


def test_what_the_shell_does_is_found_where_that_is_wanted(box):
    box.config(TRACK)
    g = box.serve()
    s = g.session()
    for name in "keep", "edit", "gone", "move", "mode":
        box.write("d/" + name, "long enough\n")
    result = g.call(s, "shell", {"command": "cd d && echo more >> edit && rm gone && mv move moved && chmod 600 mode && mkdir new && echo 1 > new/made "
                                            "&& mkdir -p ../.git/objects && echo x > ../.git/objects/o"})
    assert not result.is_error, result.text
    found = {(p["type"], p["path"], p.get("old_path")) for p in changed(g, s)}
    assert found == {("modified", "d/edit", None), ("deleted", "d/gone", None), ("renamed", "d/moved", "d/move"),
                     ("modified", "d/mode", None), ("created", "d/new/made", None)}, found
    for p in changed(g, s):
        assert p["undoable"] is False and p["tool_name"] == "shell" and p["reason"], p
    rows = history(g)
    assert len(rows) == 5 and not any(r["undoable"] for r in rows)
    (file,) = [f for f in g.ok("POST", "/undo", {"call": rows[0]["call_id"]})["files"] if f["path"] == "d/edit"]
    assert not file["ok"] and "was not kept" in file["error"]
    g.call(s, "shell", {"command": "cat d/keep; false"})
    assert len(history(g)) == 5
    # A command that fails, and one that is stopped, did what they did.
    g.call(s, "shell", {"command": "echo 1 > failing; exit 3"})
    open_turn = g.start(s, "shell", {"command": "echo 1 > stopped; sleep 600"})
    until(lambda: box.exists("stopped"), "the command runs")
    g.ok("POST", "/sessions/%s/cancel" % s)
    g.turn(s, open_turn["turn_id"])
    assert {r["path"] for r in history(g)} >= {"failing", "stopped"}


def test_without_being_asked_the_shell_is_not_compared(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    g.call(s, "shell", {"command": "echo 1 > made"})
    assert history(g) == []


def test_cancelled_before_the_first_look_is_over(box):
    box.config(TRACK)
    g = box.serve()
    s = g.session()
    turns = [g.start(s, "shell", {"command": "echo %d >> ran" % i})["turn_id"] for i in range(4)]
    g.ok("POST", "/sessions/%s/cancel" % s)
    for turn in turns:
        assert g.turn(s, turn)["state"] != "open"
    assert not g.call(s, "shell", {"command": "true"}).is_error


def test_too_many_files_are_said_to_be(box):
    box.config(TRACK)
    g = box.serve()
    for n in range(51):
        folder = os.path.join(box.workspace, "d%d" % n)
        os.mkdir(folder)
        for k in range(1000):
            os.mknod(os.path.join(folder, "f%d" % k))
    result = g.call(g.session(), "shell", {"command": "echo done"})
    assert not result.is_error and "too many to compare" in result.text and "done" in result.text, result.text


def test_followed_from_the_command_line(box):
    box.config(AUTO)
    g = box.serve()
    s = g.session()
    follow = box.popen("changes", "*.c", "--follow", "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    reading = threading.Thread(target=lambda: lines.extend(follow.stdout), daemon=True)
    reading.start()
    # It has begun when it tells of one.
    def told():
        g.call(s, "write_file", {"path": "other.h", "content": os.urandom(4).hex()})
        g.call(s, "write_file", {"path": "x/a.c", "content": os.urandom(4).hex()})
        return lines
    until(told, "a change is told")
    g.stop()
    assert follow.wait(timeout=30) == 3
    reading.join()
    assert {json.loads(line)["payload"]["path"] for line in lines} == {"x/a.c"}
    follow.stdout.close()
    follow.stderr.close()
