"""What is approved is what runs: arguments, definition and file as they were shown (issue 6)."""
import json
import os
import sys
import threading

from lib import until

HERE = os.path.dirname(os.path.abspath(__file__))

TRUSTED = "tool_confirmation:\n  trusted_workspaces: [%s]\n  secret_files: ['payroll.csv', '!test.pem']\n"


def write(g, session, name="a.txt", content="new\n"):
    return g.start(session, "write_file", {"path": name, "content": content})


def another_question(g, session, before):
    """The one that is asked after this one."""
    def open_one():
        for q in g.ok("GET", "/confirmations")["confirmations"]:
            if q["session_id"] == session and q["confirmation_request_id"] != before["confirmation_request_id"]:
                return q
        return None
    return until(open_one, "it is asked again")


def test_6_a_file_that_changed_meanwhile_is_asked_about_again(box):
    box.write("a.txt", "one\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s, content="two\n")
    first = g.question(s)
    assert first["asked_again"] is False and len(first["image"]) == 64
    box.write("a.txt", "somebody else's\n")
    assert g.answer(first, "allow")[0] == 200
    second = another_question(g, s, first)
    assert box.read("a.txt") == "somebody else's\n"
    assert second["asked_again"] is True and "-somebody else's" in second["diff"].splitlines()
    assert second["image"] != first["image"] and second["shown_hash"] != first["shown_hash"]
    assert second["input_hash"] == first["input_hash"]
    assert g.answer(second, "allow")[0] == 200
    result = g.turn(s, turn["turn_id"])
    assert result["calls"][0]["is_error"] is False, result
    assert box.read("a.txt") == "two\n"
    assert "tool.confirmation_outdated" in g.types(s)


def test_6_a_file_that_came_or_went_meanwhile_is_asked_about_again(box):
    box.write("gone.txt", "here\n")
    g = box.serve()
    for name, change in (("new.txt", lambda: box.write("new.txt", "mine\n")),
                         ("gone.txt", lambda: os.unlink(os.path.join(box.workspace, "gone.txt")))):
        s = g.session()
        write(g, s, name)
        first = g.question(s)
        change()
        g.answer(first, "allow")
        second = another_question(g, s, first)
        before = box.read(name) if box.exists(name) else None
        g.answer(second, "deny")
        until(lambda: not g.ok("GET", "/confirmations")["confirmations"], "the question is over")
        assert (box.read(name) if box.exists(name) else None) == before != "new\n"


def test_6_a_patch_whose_file_changed_is_asked_about_again(box):
    box.write("a.txt", "one\ntwo\n")
    g = box.serve()
    s = g.session()
    turn = g.start(s, "patch_file", {"path": "a.txt", "old": "two", "new": "2"})
    first = g.question(s)
    box.write("a.txt", "rm -rf is next:\ntwo\n")
    g.answer(first, "allow")
    second = another_question(g, s, first)
    assert " rm -rf is next:" in second["diff"].splitlines()
    g.answer(second, "allow")
    g.turn(s, turn["turn_id"])
    assert box.read("a.txt") == "rm -rf is next:\n2\n"


def test_6_a_path_that_leads_elsewhere_meanwhile_is_asked_about_again(box):
    for name in ("plain", "hooks"):
        os.mkdir(os.path.join(box.workspace, name))
        box.write(name + "/twin.txt", "same\n")
    g = box.serve()
    way = os.path.join(box.workspace, "way")
    for name in ("new.txt", "twin.txt"):
        s = g.session()
        os.symlink("plain", way)
        turn = write(g, s, "way/" + name)
        first = g.question(s)
        assert first["projected_modifications"] == ["plain/" + name]
        os.unlink(way)
        os.symlink("hooks", way)
        g.answer(first, "allow")
        second = another_question(g, s, first)
        assert second["projected_modifications"] == ["hooks/" + name], second
        g.answer(second, "deny")
        g.turn(s, turn["turn_id"])
        assert box.exists("hooks/" + name) is (name == "twin.txt")
        os.unlink(way)
    assert box.read("hooks/twin.txt") == "same\n"


def test_6_a_file_that_cannot_be_read_is_not_one_that_is_absent(box):
    g = box.serve()
    s = g.session()
    write(g, s)
    first = g.question(s)
    os.symlink("elsewhere", os.path.join(box.workspace, "a.txt"))
    box.write("elsewhere", "")
    g.answer(first, "allow")
    second = another_question(g, s, first)
    assert second["projected_modifications"] == ["elsewhere"], second
    g.answer(second, "deny")


def test_6_one_that_changes_each_time_is_given_up(box):
    box.write("a.txt", "0\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    asked = g.question(s)
    for i in range(1, 10):
        box.write("a.txt", "%d\n" % i)
        g.answer(asked, "allow")

        def next_or_over():
            if g.ok("GET", "/sessions/%s/turns/%s" % (s, turn["turn_id"]))["state"] != "open":
                return "over"
            more = [q for q in g.ok("GET", "/confirmations")["confirmations"]
                    if q["confirmation_request_id"] != asked["confirmation_request_id"]]
            return more[0] if more else None
        asked = until(next_or_over, "it is asked again, or given up")
        if asked == "over":
            break
    result = g.turn(s, turn["turn_id"])
    assert result["calls"][0]["is_error"] is True and "changed" in result["content"][0]["content"][0]["text"], result
    assert box.read("a.txt") != "new\n" and i < 9


def test_6_identical_content_needs_no_approval(box):
    box.write("a.txt", "same\n")
    g = box.serve()
    s = g.session()
    result = g.call(s, "write_file", {"path": "a.txt", "content": "same\n"})
    assert not result.is_error, result.text
    assert "tool.confirmation_requested" not in g.types(s)
    call = g.ok("GET", "/sessions/%s/calls" % s)["calls"][0]
    assert call["rule"] == "nothing would change", call


def test_6_secret_files_ask_even_in_trusted_workspaces(box):
    box.config(TRUSTED % box.workspace)
    for name in (".env", "keys/id_rsa", "aws-credentials.json", "payroll.csv", "server.pem"):
        box.write(name, "s3cret\n")
    for name in ("notes.txt", "test.pem", ".env.example"):
        box.write(name, "fine\n")
    os.symlink(".env", os.path.join(box.workspace, "innocent.txt"))
    g = box.serve()
    s = g.session()
    for name in ("notes.txt", "test.pem", ".env.example"):
        assert not g.call(s, "read_file", {"path": name}).is_error, name
    assert not g.call(s, "shell", {"command": "cat notes.txt"}).is_error
    for tool, input in [("read_file", {"path": n}) for n in
                        (".env", "./keys/../.env", "keys/id_rsa", "aws-credentials.json", "payroll.csv", "server.pem", "innocent.txt")] + [
                            ("write_file", {"path": ".env", "content": "x"}),
                            ("shell", {"command": "cat '.env'|base64"})]:
        turn = g.start(s, tool, input)
        asked = g.question(s)
        assert asked["once_only"] is True and asked["rule"].startswith("secret_files "), asked
        status, answer = g.answer(asked, "allow", scope="session")
        assert status == 400 or status == 422, (status, answer)
        g.answer(asked, "deny")
        assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"
    assert box.read(".env") == "s3cret\n"


def test_6_a_servers_arguments_are_looked_at_however_deep_they_lie(box):
    tools = os.path.join(box.dir, "tools.json")
    with open(tools, "w") as out:
        json.dump([{"name": "read_many", "description": "Reads files.", "inputSchema": {"type": "object"}}], out)
    server = {"command": sys.executable, "args": [os.path.join(HERE, "small_server.py"), tools], "confirm": "auto"}
    box.config(json.dumps({"mcpServers": {"files": server}}))
    g = box.serve()
    s = g.session()
    until(lambda: "files__read_many" in [t["name"] for t in g.ok("GET", "/tools")["tools"]], "its tools are known")
    assert not g.call(s, "files__read_many", {"paths": ["a.txt"]}).is_error
    for input in ({"paths": ["a.txt", "/srv/.env"]}, {"all": [{"path": "keys/id_rsa"}]}):
        turn = g.start(s, "files__read_many", input)
        asked = g.question(s)
        assert asked["rule"].startswith("secret_files "), asked
        g.answer(asked, "deny")
        g.turn(s, turn["turn_id"])


def test_6_guesses_at_a_secret_file_are_asked_about_whether_they_fit_or_not(box):
    box.config(TRUSTED % box.workspace)
    box.write(".env", "KEY=s3cret\n")
    g = box.serve()
    s = g.session()
    for tool, input in (("patch_file", {"path": ".env", "old": "KEY=s", "new": "KEY=s"}),
                        ("patch_file", {"path": ".env", "old": "KEY=x", "new": "KEY=x"}),
                        ("patch_file", {"path": ".env", "old": "KEY=x", "new": "KEY=y"}),
                        ("write_file", {"path": ".env", "content": "KEY=s3cret\n"})):
        turn = g.start(s, tool, input)
        asked = g.question(s)
        assert asked["once_only"] is True, asked
        g.answer(asked, "deny")
        assert g.turn(s, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"
    turn = g.start(s, "patch_file", {"path": ".env", "old": "KEY=x", "new": "KEY=y"})
    asked = g.question(s)
    assert "would fail: patch source not found" in asked["diff"] and asked["diff_cut"], asked
    # It is what was shown that happens: nothing, even if it could be done by now.
    box.write(".env", "KEY=x\n")
    g.answer(asked, "allow")
    call = g.turn(s, turn["turn_id"])["calls"][0]
    assert call["is_error"] and call["error_class"] == "execution_error", call
    assert box.read(".env") == "KEY=x\n"


def test_6_what_was_remembered_does_not_open_a_secret_file(box):
    box.write(".env", "s3cret\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s, "b.txt")
    assert g.answer(g.question(s), "allow", scope="session")[0] == 200
    g.turn(s, turn["turn_id"])
    turn = write(g, s, ".env")
    g.answer(g.question(s), "deny")
    g.turn(s, turn["turn_id"])
    # One that is open is not settled by what is remembered later either.
    other = g.session()
    secret = write(g, other, ".env")
    first = g.question(other)
    plain = write(g, other, "c.txt")
    second = another_question(g, other, first)
    assert g.answer(second, "allow", scope="session")[0] == 200
    g.turn(other, plain["turn_id"])
    assert first["confirmation_request_id"] in [
        q["confirmation_request_id"] for q in g.ok("GET", "/confirmations")["confirmations"]]
    g.answer(first, "deny")
    g.turn(other, secret["turn_id"])
    assert box.read(".env") == "s3cret\n"


def test_6_a_hundred_answers_race_and_one_wins(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    asked = g.question(s)
    answers, gate = [None] * 100, threading.Barrier(100)

    def answer(i):
        gate.wait()
        answers[i] = g.answer(asked, "allow" if i % 2 else "deny")
    racers = [threading.Thread(target=answer, args=(i,)) for i in range(100)]
    for r in racers:
        r.start()
    for r in racers:
        r.join()
    won = [i for i, (status, body) in enumerate(answers) if status == 200 and body["applied"]]
    assert len(won) == 1, won
    result = g.turn(s, turn["turn_id"])
    assert result["calls"][0]["is_error"] is (won[0] % 2 == 0)
    assert box.exists("a.txt") is (won[0] % 2 == 1)
    # And again, to a question that is over: it changes nothing.
    status, body = g.answer(asked, "allow" if won[0] % 2 == 0 else "deny")
    assert status != 200 or not body["applied"], (status, body)
    assert box.exists("a.txt") is (won[0] % 2 == 1)


def test_6_the_journal_tells_who_looked_at_what(box):
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    asked = g.question(s)
    g.answer(asked, "allow")
    g.turn(s, turn["turn_id"])
    call = g.ok("GET", "/sessions/%s/calls" % s)["calls"][0]
    assert call["reviewed_by"] and call["reviewed_at"].endswith("Z"), call
    assert call["shown_hash"] == asked["shown_hash"], call


def test_6_the_journal_tells_who_said_no_and_not_who_said_yes_to_something_else(box):
    box.config("tool_confirmation: {confirmation_timeout_seconds: 2}\n")
    g = box.serve()
    s = g.session()
    turn = write(g, s)
    asked = g.question(s)
    g.answer(asked, "deny")
    g.turn(s, turn["turn_id"])
    call = g.ok("GET", "/sessions/%s/calls" % s)["calls"][0]
    assert call["reviewed_by"] and call["shown_hash"] == asked["shown_hash"], call
    other = g.session()
    turn = write(g, other)
    first = g.question(other)
    box.write("a.txt", "somebody else's\n")
    g.answer(first, "allow")
    another_question(g, other, first)
    assert g.turn(other, turn["turn_id"])["calls"][0]["error_class"] == "confirmation_timeout"
    call = g.ok("GET", "/sessions/%s/calls" % other)["calls"][0]
    assert call["reviewed_by"] is None and call["shown_hash"] is None, call
