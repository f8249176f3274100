"""The command line, without a terminal: what every command says and which code it ends with."""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading

from lib import Skip, free_port, processes_with, until

FINE, REFUSED, USAGE, NO_GATEWAY = 0, 1, 2, 3
ESCAPE = "\x1b"

# (words, exit code without a gateway, exit code with an idle one, something that is said with it)
COMMANDS = [
    (["tools"], FINE, FINE, "read_file"),
    (["call", "list_dir"], FINE, FINE, "(empty)"),
    (["events"], FINE, FINE, "session.created"),
    (["log"], FINE, FINE, "list_dir"),
    (["log", "nothing-like-it"], REFUSED, REFUSED, "nothing-like-it"),
    (["approve"], NO_GATEWAY, REFUSED, "no open question"),
    (["approve", "nothing-like-it"], NO_GATEWAY, REFUSED, "no such confirmation"),
    (["approve", "--list"], NO_GATEWAY, FINE, "no open question"),
    (["deny"], NO_GATEWAY, REFUSED, "no open question"),
    (["grants"], FINE, FINE, "no answer is remembered"),
    (["grants", "--revoke", "nothing-like-it"], REFUSED, REFUSED, "no such remembered answer"),
    (["sessions"], FINE, FINE, "no session is open"),
    (["sessions", "--all"], FINE, FINE, "holdfast call"),
    (["cancel", "nothing-like-it"], NO_GATEWAY, REFUSED, "nothing-like-it"),
    (["status"], NO_GATEWAY, FINE, "is running"),
    (["version"], FINE, FINE, "holdfast "),
    (["help"], FINE, FINE, "The gateway:"),
    (["completion", "bash"], FINE, FINE, "complete"),
    (["stop"], NO_GATEWAY, FINE, "stopped"),  # the last: it ends the gateway
]


def names(box):
    """All commands the program lists."""
    return re.findall(r"^  ([\w-]+)", box.run("--help").stdout, re.M)


def test_8_help_is_in_parts(box):
    parts = box.run("--help").stdout.split("\n\n")[2:-1]
    assert len(parts) == 7 and all(re.fullmatch(r"[A-Z][^\n]*:(\n  [\w-]+ +[A-Z].*)+", part) for part in parts), parts
    assert "tenant" not in "".join(part for part in parts if not part.startswith("Where several share it:")), parts


def test_every_command_has_its_exit_code_without_a_gateway(box):
    for words, code, _, _ in COMMANDS:
        done = box.run(*words)
        assert done.returncode == code, (words, done)
        assert (code == FINE) == (done.stderr == "") or words == ["status"], (words, done)
        assert code != NO_GATEWAY or "holdfast serve" in done.stdout + done.stderr, (words, done)


def test_every_command_has_its_exit_code_with_a_gateway(box):
    gateway = box.serve()
    for words, _, code, said in COMMANDS:
        done = box.run(*words)
        assert done.returncode == code, (words, done)
        assert said in done.stdout + done.stderr, (words, done)
    gateway.process.wait(timeout=20)
    assert gateway.process.returncode == 0


def test_commands_use_the_gateway_that_runs(box):
    box.write("a.txt", "alpha\n")
    gateway = box.serve()
    assert box.run("call", "read_file", '{"path": "a.txt"}').stdout == "alpha\n"
    assert gateway.ok("GET", "/status")["totals"]["calls"] == 1


def test_a_call_gives_the_bytes_of_the_file_and_nothing_else(box):
    text = "one\n\ttwo \x1b[31m raw \u202e\nno newline at the end"
    box.write("a.txt", text)
    done = box.run("call", "read_file", '{"path": "a.txt"}')
    assert (done.returncode, done.stdout, done.stderr) == (FINE, text, "")


def test_a_failed_call_ends_with_1_and_says_why_on_stderr(box):
    done = box.run("call", "read_file", '{"path": "nope.txt"}')
    assert done.returncode == REFUSED
    assert done.stdout == "" and "no such file: nope.txt" in done.stderr
    done = box.run("call", "--yes", "shell", '{"command": "echo out; echo err >&2; exit 7"}')
    assert done.returncode == REFUSED and "exit_code=7" in done.stdout + done.stderr
    assert "out\nerr\n" in done.stdout + done.stderr


def test_an_unknown_tool_is_named(box):
    done = box.run("call", "read_fil", "{}")
    assert done.returncode == REFUSED and "read_fil" in done.stderr


def test_what_is_no_json_object_is_a_usage_error_that_says_where(box):
    for given, said in (('{"path": "a"', "line 1"), ("{bad}", "column 2"), ("[1]", "object"), ('"x"', "object"),
                        ('{"path": "a", "path": "b"}', "path"), ("", "JSON"), ("\n\n{,}", "line 3")):
        done = box.run("call", "read_file", given)
        assert done.returncode == USAGE and said in done.stderr, (given, done)
        assert done.stdout == ""


def test_input_from_stdin(box):
    done = box.run("call", "--yes", "write_file", "-", stdin=json.dumps({"path": "in.txt", "content": "x" * 300000}))
    assert done.returncode == FINE, done
    assert len(box.read("in.txt")) == 300000
    done = box.run("call", "read_file", "-", stdin="nonsense")
    assert done.returncode == USAGE and "not JSON" in done.stderr
    done = box.run("call", "read_file", "-", stdin="")
    assert done.returncode == USAGE


def test_input_larger_than_the_limit_is_refused(box):
    done = box.run("call", "write_file", "-", stdin=json.dumps({"path": "a", "content": "x" * (9 << 20)}))
    assert done.returncode == USAGE and "8388608" in done.stderr, done.stderr[:300]


def test_another_workspace(box):
    other = box.make_dir("other")
    with open(os.path.join(other, "b.txt"), "w") as out:
        out.write("beta")
    assert box.run("call", "-w", other, "read_file", '{"path": "b.txt"}').stdout == "beta"
    assert box.run("call", "--workspace=" + other, "read_file", '{"path": "b.txt"}').stdout == "beta"
    assert box.run("call", "-w", "../other", "read_file", '{"path": "b.txt"}').stdout == "beta"
    done = box.run("call", "-w", os.path.join(other, "b.txt"), "list_dir")
    assert done.returncode == USAGE and "not a directory" in done.stderr
    done = box.run("call", "-w", os.path.join(box.dir, "nowhere"), "list_dir")
    assert done.returncode == USAGE and "nowhere" in done.stderr


def test_a_call_in_an_open_session_leaves_it_open(box):
    gateway = box.serve()
    session = gateway.session()
    box.write("a.txt", "alpha")
    for id in (session, session[-8:]):
        done = box.run("call", "--session", id, "read_file", '{"path": "a.txt"}')
        assert done.stdout == "alpha", done
    assert [s["session_id"] for s in gateway.ok("GET", "/sessions")["sessions"]] == [session]
    done = box.run("call", "--session", "sess_nothing", "list_dir")
    assert done.returncode == REFUSED and "session" in done.stderr


def test_a_call_leaves_no_session_open(box):
    gateway = box.serve()
    assert box.run("call", "list_dir").returncode == FINE
    assert gateway.ok("GET", "/sessions")["sessions"] == []


def test_yes_answers_this_one_call(box):
    done = box.run("call", "--yes", "shell", '{"command": "echo did it"}')
    assert done.returncode == FINE and done.stdout == "$ echo did it\nexit_code=0\n\ndid it\n", done
    assert box.run("call", "shell", '{"command": "echo again"}').returncode == REFUSED
    assert "no answer is remembered" in box.run("grants").stdout


def test_nobody_can_be_asked(box):
    for running in (False, True):
        gateway = box.serve() if running else None
        done = box.run("call", "write_file", '{"path": "a.txt", "content": "x"}')
        assert done.returncode == REFUSED and done.stdout == ""
        assert "nobody can be asked" in done.stderr and "--yes" in done.stderr and "terminal" in done.stderr
        assert "holdfast events --follow" in done.stderr
        assert ("http://127.0.0.1:%d/" % gateway.port if gateway else "holdfast serve") in done.stderr, done.stderr
        assert not box.exists("a.txt")


def test_with_somebody_watching_the_call_waits_for_the_answer(box):
    gateway = box.serve()
    watcher = gateway.stream("/events?watch=1")
    until(lambda: gateway.ok("GET", "/status")["watchers"] == 1, "the watcher is counted")
    caller = box.popen("call", "shell", '{"command": "echo seen"}', stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    question = gateway.question()
    shown = box.run("approve", "--list")
    assert question["confirmation_request_id"][-8:] in shown.stdout and "echo seen" in shown.stdout
    done = box.run("approve")
    assert done.returncode == FINE and "echo seen" in done.stdout and "allowed" in done.stdout, done
    out, err = caller.communicate(timeout=20)
    assert caller.returncode == FINE and "seen" in out and "holdfast approve" in err
    done = box.run("approve", question["confirmation_request_id"])
    assert done.returncode == REFUSED and "already allowed by holdfast approve" in done.stderr, done
    watcher.close()


def test_lists_of_questions_show_commands_and_paths(box):
    gateway = box.serve()
    session = gateway.session()
    gateway.start(session, "shell", {"command": "echo 'quoted'"})
    gateway.start(session, "write_file", {"path": "notes/a.txt", "content": "secret\n"})
    until(lambda: len(gateway.ok("GET", "/confirmations")["confirmations"]) == 2, "two questions")
    for words in (["approve", "--list"], ["events", "--type", "tool.confirmation_requested"]):
        shown = box.run(*words).stdout
        assert shown.count("\n") == 2 + (words[0] == "approve") and "echo 'quoted'\n" in shown, shown
        assert "notes/a.txt\n" in shown and "{" not in shown, shown


def test_a_killed_call_leaves_neither_session_nor_question(box):
    gateway = box.serve()
    watcher = gateway.stream("/events?watch=1")
    until(lambda: gateway.ok("GET", "/status")["watchers"] == 1, "the watcher is counted")
    kept = gateway.session()
    caller = box.popen("call", "shell", '{"command": "touch did-it"}', stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    question = gateway.question()
    caller.kill()
    caller.wait()
    until(lambda: gateway.ok("GET", "/confirmations")["confirmations"] == [], "the question is gone")
    until(lambda: [s["session_id"] for s in gateway.ok("GET", "/sessions")["sessions"]] == [kept], "the session is gone")
    assert gateway.answer(question, "allow")[0] in (404, 409)
    assert box.run("log", "--json", question["call_id"]).stdout.count('"cancelled"') == 1
    # One that was there before stays.
    caller = box.popen("call", "--session", kept, "shell", '{"command": "touch did-it"}', stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    question = gateway.question()
    caller.kill()
    caller.wait()
    assert gateway.answer(question, "deny")[0] == 200
    assert [s["session_id"] for s in gateway.ok("GET", "/sessions")["sessions"]] == [kept]
    assert not box.exists("did-it")
    watcher.close()


def test_several_questions_need_an_id(box):
    gateway = box.serve()
    session = gateway.session()
    turns = [gateway.start(session, "shell", {"command": "echo %d" % i}) for i in (1, 2)]
    until(lambda: len(gateway.ok("GET", "/confirmations")["confirmations"]) == 2, "two questions")
    done = box.run("deny")
    assert done.returncode == USAGE and "echo 1" in done.stdout and "echo 2" in done.stdout, done
    for question in gateway.ok("GET", "/confirmations")["confirmations"]:
        assert box.run("deny", question["confirmation_request_id"][-8:]).returncode == FINE
    for turn in turns:
        assert gateway.turn(session, turn["turn_id"])["calls"][0]["error_class"] == "user_denied"


def test_deny_always_is_remembered_and_can_be_revoked(box):
    gateway = box.serve()
    session = gateway.session()
    turn = gateway.start(session, "shell", {"command": "echo 1"})
    gateway.question()
    assert box.run("deny", "--always").returncode == FINE
    gateway.turn(session, turn["turn_id"])
    assert gateway.call(session, "shell", {"command": "echo 2"}).error_class == "user_denied"
    grants = json.loads(box.run("grants", "--json").stdout)["grants"]
    assert len(grants) == 1 and grants[0]["decision"] == "deny"
    assert "shell" in box.run("grants").stdout
    assert box.run("grants", "--revoke", grants[0]["id"][-8:]).returncode == FINE
    assert json.loads(box.run("grants", "--json").stdout)["grants"] == []


def test_approve_scopes(box):
    gateway = box.serve()
    session = gateway.session()
    turn = gateway.start(session, "shell", {"command": "echo one"})
    gateway.question()
    assert box.run("approve", "--session", "--workspace").returncode == USAGE
    assert box.run("approve", "--prefix", "echo").returncode == FINE
    gateway.turn(session, turn["turn_id"])
    assert not gateway.call(session, "shell", {"command": "echo two"}).is_error
    turn = gateway.start(session, "shell", {"command": "printf three"})
    gateway.question()
    assert box.run("approve", "--workspace").returncode == FINE
    gateway.turn(session, turn["turn_id"])
    assert not gateway.call(gateway.session(), "shell", {"command": "printf four"}).is_error


def test_cancel_by_the_end_of_an_id(box):
    box.config("tool_confirmation: {default: {EXECUTE: auto}}\n")
    gateway = box.serve()
    session = gateway.session()
    for pick in (lambda t: t["calls"][0]["call_id"], lambda t: t["turn_id"], lambda t: session):
        turn = gateway.start(session, "shell", {"command": "sleep 1000"})
        until(lambda: gateway.ok("GET", "/status")["calls"]["running"] == 1, "it runs")
        done = box.run("cancel", pick(turn)[-8:])
        assert done.returncode == FINE and "cancelling" in done.stdout, done
        assert gateway.turn(session, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"


def test_an_interrupted_call_is_cancelled_and_ends_with_130(box):
    mark = "100000.%d" % os.getpid()
    for gateway in (None, "running"):
        if gateway:
            box.serve()
        caller = box.popen("call", "--yes", "shell", json.dumps({"command": "echo before; sleep " + mark}),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True)
        until(lambda: [p for p in processes_with("sleep\0" + mark)], "the command runs")
        caller.send_signal(signal.SIGINT)
        out, err = caller.communicate(timeout=20)
        assert caller.returncode == 130, (caller.returncode, out, err)
        assert "before" in out + err and "cancelled" in err
        assert processes_with("sleep\0" + mark) == []


def test_a_call_under_way_when_the_gateway_is_stopped_says_what_became_of_it(box):
    mark = "100000.%d" % os.getpid()
    box.serve()
    caller = box.popen("call", "--yes", "shell", json.dumps({"command": "sleep " + mark}),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: processes_with("sleep\0" + mark), "the command runs")
    assert box.run("stop").returncode == FINE
    _, err = caller.communicate(timeout=20)
    assert caller.returncode in (REFUSED, NO_GATEWAY) and "cancelled: the call was cancelled" in err, (caller.returncode, err)
    assert "nobody answers" not in err, err


def test_json_outputs_parse(box):
    box.write("a.txt", "alpha")
    gateway = box.serve()
    block = json.loads(box.run("call", "--json", "read_file", '{"path": "a.txt"}').stdout)
    assert block["type"] == "tool_result" and block["content"][0]["text"] == "alpha" and block["is_error"] is False
    failed = box.run("call", "--json", "read_file", '{"path": "b.txt"}')
    assert failed.returncode == REFUSED and json.loads(failed.stdout)["is_error"] is True
    assert len(failed.stdout.splitlines()) == 1
    assert {t["name"] for t in json.loads(box.run("tools", "--json").stdout)["tools"]} >= {"read_file", "shell"}
    calls = json.loads(box.run("log", "--json").stdout)["calls"]
    assert [c["tool_name"] for c in calls] == ["read_file", "read_file"]
    assert json.loads(box.run("log", "--json", calls[0]["call_id"]).stdout)["call_id"] == calls[0]["call_id"]
    assert json.loads(box.run("log", "--json", calls[0]["session_id"]).stdout)["calls"][0]["success"] is True
    for line in box.run("events", "--json").stdout.splitlines():
        assert json.loads(line)["type"]
    assert json.loads(box.run("sessions", "--all", "--json").stdout)["sessions"]
    assert json.loads(box.run("grants", "--json").stdout) == {"grants": []}
    assert json.loads(box.run("approve", "--list", "--json").stdout) == {"confirmations": []}
    assert json.loads(box.run("status", "--json").stdout)["totals"]["calls"] == 2
    box.run("stop")
    assert json.loads(box.run("status", "--json").stdout) == {"running": False}
    gateway.process.wait(timeout=20)


def test_log_by_session_by_call_and_by_the_end_of_an_id(box):
    box.write("a.txt", "alpha")
    box.run("call", "read_file", '{"path": "a.txt"}')
    call = json.loads(box.run("log", "--json").stdout)["calls"][0]
    for id in (call["call_id"], call["call_id"][-8:]):
        done = box.run("log", id)
        assert done.returncode == FINE and "default.READ" in done.stdout and "a.txt" in done.stdout, done
    for id in (call["session_id"], call["session_id"][-8:]):
        assert "read_file" in box.run("log", id).stdout


def test_log_tells_in_a_word_how_it_ended_and_what_it_was(box):
    box.write("a.txt", "alpha")
    box.run("call", "read_file", '{"path": "a.txt"}')
    box.run("call", "--yes", "shell", '{"command": "exit 3"}')
    box.run("call", "--yes", "write_file", '{"path": "b/c.txt", "content": "x"}')
    box.run("call", "shell", '{"command": "echo never"}')
    rows = [re.split("  +", line) for line in box.run("log").stdout.splitlines()]
    assert rows[0] == ["TIME", "CALL", "TOOL", "OUTCOME", "CLASS", "RAN", "RULE", "WHAT"]
    assert [(r[2], r[3], r[-1]) for r in rows[1:]] == [
        ("read_file", "ok", "a.txt"), ("shell", "error", "exit 3"), ("write_file", "ok", "b/c.txt"),
        ("shell", "failed", "echo never")], rows
    assert rows[4][4] == "confirmation_timeout"


def test_one_tool_is_explained(box):
    shown = box.run("tools", "read_file")
    assert shown.returncode == FINE and shown.stderr == ""
    for said in ("Read a text file of the workspace.", "pure", "path  string, required\n", "offset  integer\n",
                 "How many lines to read at most.", """holdfast call read_file '{"path":"README.md"}'\n"""):
        assert said in shown.stdout, (said, shown.stdout)
    assert json.loads(box.run("tools", "--json", "read_file").stdout)["name"] == "read_file"
    missing = box.run("tools", "red_file")
    assert missing.returncode == REFUSED and missing.stdout == "" and "did you mean read_file?" in missing.stderr
    missing = box.run("tools", "xyzzy")
    assert missing.returncode == REFUSED and "did you mean" not in missing.stderr and "xyzzy" in missing.stderr
    for tool in json.loads(box.run("tools", "--json").stdout)["tools"]:
        assert box.run("tools", tool["name"]).stdout.startswith("tool "), tool["name"]


def test_events_filtered_and_since(box):
    box.run("call", "list_dir")
    events = [json.loads(line) for line in box.run("events", "--json").stdout.splitlines()]
    assert [e["type"] for e in events][0] == "session.created" and events[-1]["type"] == "session.ended"
    only = box.run("events", "--json", "--type", "tool.called,tool.completed").stdout.splitlines()
    assert [json.loads(e)["type"] for e in only] == ["tool.called", "tool.completed"]
    since = box.run("events", "--json", "--since", events[2]["id"]).stdout.splitlines()
    assert [json.loads(e)["id"] for e in since] == [e["id"] for e in events[3:]]
    session = events[0]["session_id"]
    box.run("call", "list_dir")
    of_one = box.run("events", "--json", "--session", session[-8:]).stdout.splitlines()
    assert [json.loads(e)["id"] for e in of_one] == [e["id"] for e in events]


def test_events_are_told_in_words(box):
    box.write("a.txt", "alpha")
    box.serve()
    assert box.run("call", "--yes", "write_file", '{"path": "a.txt", "content": "beta"}').returncode == FINE
    assert box.run("call", "--yes", "shell", '{"command": "true"}').returncode == FINE
    done = box.run("events", "--since", "0")
    assert "tool_side_effect_started" in done.stdout and "(irreversible), effect " in done.stdout, done.stdout
    assert '{"' not in done.stdout, done.stdout


def test_events_follow_streams(box):
    box.serve()
    follower = box.popen("events", "--follow", "--json", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    enough = threading.Event()

    def call():  # again and again: nothing tells when the follower has begun to listen
        while not enough.is_set():
            box.run("call", "list_dir")

    caller = threading.Thread(target=call)
    caller.start()
    try:
        seen = []
        while "tool.completed" not in seen or seen[-1] != "session.ended":
            seen.append(json.loads(follower.stdout.readline())["type"])
    finally:
        enough.set()
        caller.join()
        follower.terminate()
        follower.communicate(timeout=20)


def test_help_of_every_command(box):
    for name in names(box):
        by_option, by_command = box.run(name, "--help"), box.run("help", name)
        assert by_option.returncode == by_command.returncode == FINE, name
        assert by_option.stdout == by_command.stdout and by_option.stdout.startswith("Usage: holdfast " + name), name
        assert by_option.stderr == ""


def test_without_a_command_the_help_comes_with_a_usage_error(box):
    done = box.run()
    assert done.returncode == USAGE and "Usage:" in done.stdout + done.stderr


def test_version(box):
    assert re.fullmatch(r"holdfast \d+\.\d+\.\d+\n", box.run("--version").stdout)
    assert box.run("--version").stdout == box.run("version").stdout


def test_slips_get_a_suggestion(box):
    for words, near in ((["cal"], "call"), (["toools"], "tools"), (["aprove"], "approve"), (["staus"], "status"),
                        (["help", "sesions"], "sessions"), (["help", "complete"], "completion"), (["call", "--jsn", "list_dir"], "--json"),
                        (["serve", "--lisen", "1"], "--listen"), (["events", "--folow"], "--follow"),
                        (["ls"], "tools or servers"), (["start"], "serve"), (["rm", "x"], "remove")):  # as others call it
        done = box.run(*words)
        assert done.returncode == USAGE and "did you mean %s?" % near in done.stderr, (words, done)
        assert done.stdout == ""


def test_bad_usage_ends_with_2(box):
    for words in (["call"], ["call", "a", "b", "c"], ["cancel"], ["tools", "read_file", "extra"], ["call", "-Q", "list_dir"],
                  ["--nonsense"], ["xyzzy"], ["tools", "--json=1"], ["call", "list_dir", "--session"],
                  ["completion", "tcsh"], ["serve", "--listen", "nonsense"], ["serve", "--listen", "127.0.0.1:99999"],
                  ["serve", "--log-level", "loud"], ["serve", "--idle-exit", "soon"],
                  ["events", "--since", "xx"], ["events", "--since", "sess_01M7H385QYETDWXVWP6PB6P6RD"]):
        done = box.run(*words)
        assert done.returncode == USAGE and done.stderr and done.stdout == "", (words, done)


def test_a_command_without_the_dashes_is_told_where_it_stands(box):
    done = box.run("add", "files", "npx", "-y", "some-server")
    assert done.returncode == USAGE and "'npx' is one argument too many; a command and its arguments stand behind --" in done.stderr, done
    done = box.run("sessions", "x")
    assert done.returncode == USAGE and "--;" not in done.stderr and "behind --" not in done.stderr, done


def test_no_escapes_without_a_terminal(box):
    box.env["TERM"] = "xterm-256color"
    box.write("a.txt", "alpha\n")
    box.serve()
    box.run("call", "--yes", "shell", '{"command": "sleep 1.5; echo slow"}')
    for words, _, _, _ in COMMANDS:
        done = box.run(*words)
        assert ESCAPE not in done.stdout + done.stderr, words
    for words in (["call", "read_file", '{"path": "none"}'], ["call", "shell", '{"command": "x"}'],
                  ["call", "--yes", "write_file", '{"path": "a.txt", "content": "beta"}'], ["help", "call"], ["nope"]):
        done = box.run(*words)
        assert ESCAPE not in done.stdout + done.stderr, words


def test_a_full_disk_is_no_success(box):
    if not os.path.exists("/dev/full"):
        raise Skip("there is no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run([box.program, "tools"], stdout=full, stderr=subprocess.PIPE, env=box.env, text=True)
    assert done.returncode == REFUSED and "standard output" in done.stderr


def test_a_reader_that_leaves_early_does_no_harm(box):
    box.write("big.txt", "line\n" * 40000)
    box.serve()
    caller = box.popen("call", "read_file", '{"path": "big.txt"}', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    caller.stdout.read(1)
    caller.stdout.close()
    caller.wait(timeout=20)
    assert b"Sanitizer" not in caller.stderr.read()
    caller.stderr.close()
    assert box.run("status").returncode == FINE


def test_xdg_directories_are_respected(box):
    gateway = box.serve()
    assert os.path.exists(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "holdfast.db"))
    assert stat.S_ISSOCK(os.stat(os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock")).st_mode)
    assert os.listdir(box.env["HOME"]) == []
    gateway.stop()
    box.config("tool_confirmation: {default: {EXECUTE: auto}}\n")
    assert box.run("call", "shell", '{"command": "true"}').returncode == FINE


def test_without_xdg_variables_things_are_under_home(box):
    home = box.env["HOME"]
    bare = {k: v for k, v in box.env.items() if k not in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    os.makedirs(os.path.join(home, ".config", "holdfast"))
    with open(os.path.join(home, ".config", "holdfast", "config.yaml"), "w") as out:
        out.write("tool_confirmation: {default: {EXECUTE: auto}}\n")
    for env in (bare, {**bare, "XDG_STATE_HOME": "relative/is/ignored", "XDG_CONFIG_HOME": ""}):
        done = subprocess.run([box.program, "call", "shell", '{"command": "true"}'], cwd=box.workspace, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True)
        assert done.returncode == FINE, done
        assert os.path.exists(os.path.join(home, ".local", "state", "holdfast", "holdfast.db"))
    assert os.listdir(box.workspace) == []


def test_without_a_home_the_reason_is_told(box):
    done = subprocess.run([box.program, "tools"], env={"PATH": box.env["PATH"], "XDG_RUNTIME_DIR": box.env["XDG_RUNTIME_DIR"],
                          **{k: v for k, v in box.env.items() if "SAN" in k}}, capture_output=True, text=True)
    assert done.returncode in (FINE, NO_GATEWAY)
    assert done.returncode == FINE or "HOME" in done.stderr


# serve


def test_status_shows_the_page_with_its_token_and_what_is_not_zero(box):
    gateway = box.serve()
    shown = box.run("status").stdout
    assert "http://127.0.0.1:%d/#token=%s\n" % (gateway.port, gateway.token) in shown, shown
    assert os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "token") in shown and str(gateway.process.pid) in shown
    assert re.search(r"^  calls +none$", shown, re.M) and re.search(r"^  totals +none$", shown, re.M), shown
    session = gateway.session()
    gateway.start(session, "shell", {"command": "true"})
    gateway.question()
    shown = box.run("status").stdout
    assert re.search(r"^  calls +1 \w+$", shown, re.M), shown
    assert re.search(r"^  totals +1 calls, 1 asked$", shown, re.M), shown
    status = json.loads(box.run("status", "--json").stdout)
    assert status["page"] == "http://127.0.0.1:%d/" % gateway.port and status["pid"] == gateway.process.pid
    assert gateway.token not in box.run("status", "--json").stdout


def test_listen_auto_takes_a_free_port_when_the_usual_one_is_taken(box):
    taken = socket.socket()
    try:
        taken.bind(("127.0.0.1", 8421))
        taken.listen()
    except OSError:
        pass  # somebody else has it: just as well
    with taken:
        daemon = box.popen("serve", "--listen", "auto", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
        until(lambda: box.run("status").returncode == FINE, "it serves")
        page = json.loads(box.run("status", "--json").stdout)["page"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", page) and ":8421/" not in page, page
        assert box.run("stop").returncode == FINE
        out, _ = daemon.communicate(timeout=20)
    assert daemon.returncode == 0 and page in out


def test_the_gateway_behind_mcp_has_a_status_page(box):
    client = box.popen("mcp", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: box.run("status").returncode == FINE, "it serves")
        assert re.search(r"status page +http://127\.0\.0\.1:\d+/#token=\w{64}", box.run("status").stdout)
        with open(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "token")) as file:
            token = file.read().strip()
        with open(os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "daemon.log")) as file:
            assert token not in file.read()
    finally:
        client.stdin.close()
        client.wait(timeout=20)
    assert box.run("stop").returncode == FINE


def test_serve_says_where_it_is(box):
    gateway = box.serve()
    said = "".join(until(lambda: gateway.stdout[4:] and gateway.stdout, "all lines"))
    assert "http://127.0.0.1:%d/#token=%s" % (gateway.port, gateway.token) in said
    assert os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock") in said
    assert "holdfast stop" in said and ESCAPE not in said


def test_the_token_is_private_and_stays_the_same(box):
    first = box.serve()
    path = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "token")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert open(path).read().strip() == first.token and len(first.token) == 64
    first.stop()
    assert box.serve().token == first.token


def test_state_and_socket_are_private(box):
    box.serve()
    state = os.path.join(box.env["XDG_STATE_HOME"], "holdfast")
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
    for name in os.listdir(state):
        assert stat.S_IMODE(os.stat(os.path.join(state, name)).st_mode) & 0o077 == 0, name
    assert stat.S_IMODE(os.stat(os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock")).st_mode) & 0o077 == 0


def test_a_token_others_can_read_is_refused(box):
    box.serve().stop()
    path = os.path.join(box.env["XDG_STATE_HOME"], "holdfast", "token")
    os.chmod(path, 0o644)
    done = box.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == NO_GATEWAY and "chmod 600" in done.stderr, done


def test_without_token_401_and_no_auth_needs_none(box):
    gateway = box.serve()
    token, gateway.token = gateway.token, None
    assert gateway.refused(401, "unauthorized", "GET", "/status") == "a bearer token is needed"
    gateway.token = "0" * 64
    assert gateway.refused(401, "unauthorized", "GET", "/status") == "the bearer token is not the right one"  # issue 5
    gateway.token = token
    gateway.stop()
    open_gateway = box.serve("--no-auth")
    assert open_gateway.token is None
    assert open_gateway.get("/status")[0] == 200


def test_no_auth_is_for_loopback_only(box):
    for host in ("0.0.0.0", "[::]", "192.0.2.1"):
        done = box.run("serve", "--no-auth", "--listen", "%s:%d" % (host, free_port()))
        assert done.returncode == USAGE and "loopback" in done.stderr, (host, done)


def test_a_port_in_use_is_told_with_a_way_out(box):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = box.run("serve", "--listen", "127.0.0.1:%d" % port)
    assert done.returncode == REFUSED and "port %d" % port in done.stderr and "--listen" in done.stderr, done
    assert not os.path.exists(os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"))
    assert box.run("status").returncode == NO_GATEWAY


def test_where_the_port_is_taken_no_server_is_started(box):
    box.config("mcpServers: {a: {command: sh, args: [-c, 'touch %s/started; sleep 1000']}}\n" % box.workspace)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = box.run("serve", "--listen", "127.0.0.1:%d" % taken.getsockname()[1])
    assert done.returncode == REFUSED and done.stderr.count("\n") == 1, done
    assert not box.exists("started")


def test_what_is_in_the_way_of_listening_is_named(box):
    box.write("file", "")
    for words, why in ((("--listen", "192.0.2.1:8000"), "port 8000 of 192.0.2.1: Cannot assign"),
                       (("--listen", "none", "--socket", "nowhere/s"), "nowhere: No such file"),
                       (("--listen", "none", "--socket", "file"), "file is there and is not a socket")):
        done = box.run("serve", *words)
        assert done.returncode == REFUSED and why in done.stderr, done


def test_a_second_daemon_names_the_first(box):
    gateway = box.serve()
    done = box.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == REFUSED and str(gateway.process.pid) in done.stderr and "holdfast stop" in done.stderr
    assert "http://127.0.0.1:%d/" % gateway.port in done.stderr, done.stderr
    assert gateway.get("/health")[0] == 200
    assert box.run("status").returncode == FINE


def test_two_daemons_started_at_once_leave_one(box):
    both = [box.popen("serve", "--listen", "127.0.0.1:0", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        until(lambda: any(p.poll() is not None for p in both), "one of them gives up")
        loser = next(p for p in both if p.poll() is not None)
        winner = next(p for p in both if p is not loser)
        said = loser.communicate()[1]
        assert loser.returncode == REFUSED and "already" in said, (loser.returncode, said)
        until(lambda: box.run("status").returncode == FINE, "the other serves")
        assert box.run("stop").returncode == FINE
        assert winner.wait(timeout=20) == 0
    finally:
        for process in both:
            process.kill()
            process.communicate()


def test_a_socket_of_a_killed_daemon_is_no_hindrance(box):
    box.serve().kill()
    assert box.run("status").returncode == NO_GATEWAY
    assert box.run("call", "list_dir").returncode == FINE
    box.serve()
    assert box.run("status").returncode == FINE


def test_stop_ends_it_and_removes_the_socket(box):
    gateway = box.serve()
    done = box.run("stop")
    assert (done.returncode, done.stdout) == (FINE, "stopped\n")
    assert gateway.process.wait(timeout=20) == 0
    assert not os.path.exists(os.path.join(box.env["XDG_RUNTIME_DIR"], "holdfast.sock"))


def test_sigint_stops_it_too_and_sighup_does_not(box):
    gateway = box.serve()
    gateway.process.send_signal(signal.SIGHUP)
    assert gateway.get("/health")[0] == 200
    gateway.process.send_signal(signal.SIGINT)
    assert gateway.process.wait(timeout=20) == 0


def test_ephemeral_leaves_nothing_on_disk(box):
    gateway = box.serve("--ephemeral")
    assert box.run("call", "list_dir").returncode == FINE
    assert len(json.loads(box.run("log", "--json").stdout)["calls"]) == 1
    gateway.stop()
    left = [os.path.join(d, f) for d, _, files in os.walk(box.env["XDG_STATE_HOME"]) for f in files]
    assert left == [], left


def test_listen_none_serves_the_socket_only(box):
    daemon = box.popen("serve", "--listen", "none", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: box.run("status").returncode == FINE, "it serves")
    assert box.run("call", "list_dir").returncode == FINE
    assert box.run("stop").returncode == FINE
    out, _ = daemon.communicate(timeout=20)
    assert daemon.returncode == 0 and b"http://" not in out


def test_idle_exit_ends_a_daemon_nobody_uses(box):
    daemon = box.popen("serve", "--listen", "none", "--idle-exit", "1", stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert daemon.wait(timeout=30) == 0, daemon.stderr.read()
    daemon.stderr.close()


def test_another_socket(box):
    path = os.path.join(box.dir, "else where.sock")
    gateway = box.serve("--socket", path)
    for env in ({}, {"HOLDFAST_SOCKET": path}):
        done = box.run("status", env=env)
        assert done.returncode == FINE and path in done.stdout, done
    assert box.run("status", env={"HOLDFAST_SOCKET": path + "x"}).returncode == NO_GATEWAY
    stop = until(lambda: re.search("to stop .* or: (.*)", "".join(gateway.stdout)), "how to stop it").group(1)
    again = box.run("serve", "--socket", path, "--listen", "none")
    assert again.returncode == REFUSED and stop in again.stderr, again
    done = subprocess.run(["sh", "-c", stop], env={**box.env, "PATH": os.path.dirname(box.program) + ":" + box.env["PATH"]},
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (FINE, "stopped\n"), (stop, done)
    assert gateway.process.wait(timeout=20) == 0


def running(box, **env):
    """The process that commands find."""
    return json.loads(box.run("status", "--json", env=env).stdout).get("pid")


def test_5_a_gateway_is_found_whatever_the_runtime_directory(box):
    """Clients of MCP give their children few variables."""
    gateway = box.serve()
    for folder in ("", box.make_dir("elsewhere")):
        assert running(box, XDG_RUNTIME_DIR=folder) == gateway.process.pid
        with subprocess.Popen([box.program, "mcp"], env={**box.env, "XDG_RUNTIME_DIR": folder}, cwd=box.workspace,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
            client.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            client.stdin.flush()
            assert json.loads(client.stdout.readline())["id"] == 1
            assert gateway.ok("GET", "/sessions")["sessions"], "it came to this gateway"
            client.stdin.close()
    assert not os.path.exists(os.path.join(box.dir, "elsewhere", "holdfast.sock"))


def test_5_one_gateway_to_a_state_directory(box):
    gateway = box.serve()
    done = box.run("serve", "--listen", "127.0.0.1:0", env={"XDG_RUNTIME_DIR": box.make_dir("elsewhere")})
    assert done.returncode == REFUSED and "process %d" % gateway.process.pid in done.stderr, done
    assert "--socket" not in done.stderr, done  # it would not help
    done = box.run("serve", "--listen", "127.0.0.1:0", env={"XDG_STATE_HOME": box.make_dir("elsewhere")})
    assert done.returncode == REFUSED and "To run another beside it: --socket PATH" in done.stderr, done
    done = box.run("serve", "--listen", "127.0.0.1:0", "--socket", "other.sock")
    assert done.returncode == REFUSED and "process %d" % gateway.process.pid in done.stderr, done
    assert "HOLDFAST_SOCKET=%s/holdfast.sock holdfast stop" % os.path.join(box.dir, "run") in done.stderr, done
    gateway.kill()
    box.env["XDG_RUNTIME_DIR"] = os.path.join(box.dir, "elsewhere")  # what is left of it is in nobody's way
    assert box.run("status").returncode == NO_GATEWAY
    second = box.serve()
    assert running(box) == second.process.pid
    second.stop()
    box.serve("--ephemeral")  # keeps nothing, and so holds nothing
    box.env["XDG_RUNTIME_DIR"] = os.path.join(box.dir, "run")
    box.serve()


def test_5_one_that_is_ending_is_waited_for(box):
    box.serve()
    box.run("stop")
    box.serve()  # at once


# around it


def test_completion_loads_in_bash_and_completes(box):
    folder = os.path.dirname(box.program)
    script = """
        source /dev/stdin <<< "$1"
        complete -p holdfast >/dev/null || exit 1
        complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _holdfast; echo "${COMPREPLY[*]}"; }
        complete_words holdfast ca
        complete_words holdfast call --w
        complete_words holdfast call read
        complete_words holdfast serve --log-level i
    """
    shipped = open(os.path.join(box.root, "share", "completions", "bash", "holdfast")).read()
    for text in (box.run("completion", "bash").stdout, shipped):
        done = subprocess.run(["bash", "-uc", script, "bash", text], capture_output=True, text=True,
                              env={**box.env, "PATH": folder + ":" + box.env["PATH"]})
        assert done.stderr == "" and done.returncode == 0, done
        assert done.stdout.splitlines() == ["call cancel card", "--workspace", "read_file", "info"], done.stdout


def test_completions_know_every_command(box):
    for shell in ("bash", "zsh", "fish"):
        text = box.run("completion", shell).stdout
        for name in names(box):
            assert re.search(r"\b%s\b" % name, text), (shell, name)
    for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
        if shutil.which(shell):
            path = os.path.join(box.dir, shell)
            with open(path, "w") as out:
                out.write(box.run("completion", shell).stdout)
            assert subprocess.run([*check, path], capture_output=True).returncode == 0, shell


def test_the_man_page_renders_without_warnings(box):
    page = os.path.join(box.root, "docs", "man", "holdfast.1")
    assert os.path.exists(page)
    ways = {"man": ["man", "--warnings", "-E", "UTF-8", "-l", page], "groff": ["groff", "-man", "-ww", "-Tutf8", page]}
    way = next((w for tool, w in ways.items() if shutil.which(tool) and shutil.which("groff")), None)
    if not way:
        raise Skip("neither man nor groff is here")
    done = subprocess.run(way, capture_output=True, text=True, env={**box.env, "MANWIDTH": "80", "PAGER": "cat", "MANPAGER": "cat"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    for name in names(box):
        assert re.search(r"\b%s\b" % name, done.stdout), name
