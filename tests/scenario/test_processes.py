"""Shell commands as processes: what they get, and that nothing of them is left however it ends."""
import itertools
import os
import re
import signal
import subprocess
import threading

from lib import processes_with, until

AUTO = "tool_confirmation: {default: {EXECUTE: auto}}\n"
OPEN = "confinement: {shell: open}\n"  # confined, a command cannot do this to its minder
LIMIT_SHELL_OUTPUT = 256 * 1024

numbers = itertools.count(1)


def mark():
    """A length of sleep nobody else sleeps; found in the command lines of all who do."""
    return "10%05d.%d" % (next(numbers), os.getpid())


# Ways a command can try to stay. Each runs `sleep MARK` for good; how many processes of it there are at least.
SHAPES = {
    "plain": ("sleep {m}; true", 1),
    "background": ("sleep {m} & sleep {m} & wait", 2),
    "left in the background": ("sleep {m} & disown 2>/dev/null; sleep {m}; true", 2),
    "a session of its own, forked twice": ("setsid sh -c '(sleep {m} &) ; (setsid sleep {m} &)'; sleep {m}; true", 3),
    "deaf to TERM": ("trap '' TERM INT HUP; sleep {m} & while :; do sleep {m}; done", 2),
    "stopped": ("sleep {m} & until grep -q sleep /proc/$!/comm; do :; done; kill -STOP $!; sleep {m} & wait", 2),
    "stopped altogether": ("sleep {m} & kill -STOP $$", 1),
    "deaf, in a session of its own": ("setsid sh -c 'trap \"\" TERM; sleep {m}; sleep {m}' & wait", 1),
}


def start_all(gateway, **more):
    """Every shape in a session of its own; gives {shape: (session, turn, mark)} once all of them run."""
    started = {}
    for shape, (command, _) in SHAPES.items():
        m, session = mark(), gateway.session()
        turn = gateway.start(session, "shell", {"command": command.format(m=m), **more})
        started[shape] = (session, turn["turn_id"], m)
    return started


def sleeping(m):
    return processes_with("sleep\0" + m)


def all_run(started):
    for shape, (_, _, m) in started.items():
        until(lambda: len(sleeping(m)) >= SHAPES[shape][1], "running: " + shape)


def none_left(started):
    for shape, (_, _, m) in started.items():
        until(lambda: not processes_with(m), "nothing is left of: " + shape)


def test_nothing_is_left_when_the_daemon_is_killed(box):
    box.config(AUTO)
    gateway = box.serve()
    started = start_all(gateway)
    all_run(started)
    gateway.kill()
    none_left(started)


def test_nothing_is_left_when_the_daemon_is_killed_while_it_starts_them(box):
    box.config(AUTO)
    for delay in range(3):
        gateway = box.serve()
        started = start_all(gateway)
        for _ in range(delay):
            gateway.get("/status")
        gateway.kill()
        none_left(started)


def test_nothing_is_left_after_cancel(box):
    box.config(AUTO)
    gateway = box.serve()
    started = start_all(gateway)
    all_run(started)
    for session, _, _ in started.values():
        gateway.ok("POST", "/sessions/%s/cancel" % session, {})
    for session, turn, m in started.values():
        assert gateway.turn(session, turn)["calls"][0]["error_class"] == "cancelled"
        assert processes_with(m) == []  # not later: the result says it is over


def test_nothing_is_left_after_the_time_is_over(box):
    box.config(AUTO)
    gateway = box.serve()
    started = start_all(gateway, timeout_seconds=1)
    for shape, (session, turn, m) in started.items():
        outcome = gateway.turn(session, turn)["calls"][0]
        assert outcome["error_class"] == "timeout", (shape, outcome)
        assert processes_with(m) == [], shape


def test_nothing_is_left_when_the_session_ends(box):
    box.config(AUTO)
    gateway = box.serve()
    started = start_all(gateway)
    all_run(started)
    for session, _, _ in started.values():
        gateway.ok("DELETE", "/sessions/" + session)
    none_left(started)


def test_what_the_command_leaves_behind_ends_with_it(box):
    box.config(AUTO)
    gateway = box.serve()
    m = mark()
    result = gateway.call(gateway.session(), "shell", {
        "command": "setsid sleep %s & sleep %s >/dev/null 2>&1 & (sleep %s &); echo started" % (m, m, m)})
    assert processes_with(m) == []
    assert not result.is_error and "started\n" in result.text and "still running and ended" in result.text, result.text


def test_two_hundred_children_in_the_background_are_cleaned(box):
    box.config(AUTO)
    gateway = box.serve()
    m = mark()
    result = gateway.call(gateway.session(), "shell", {
        "command": "i=0; while [ $i -lt 200 ]; do sleep %s & i=$((i+1)); done; echo all started" % m})
    assert processes_with(m) == []
    assert "all started" in result.text and "200 background processes were still running and ended" in result.text


def test_a_command_that_kills_its_minder_gets_a_clean_error_and_leaves_nobody(box):
    box.config(AUTO + OPEN)
    gateway = box.serve()
    session = gateway.session()
    for command in ("kill -9 $PPID; sleep {m}; true",
                    "sleep {m} & kill -9 $PPID; wait",
                    "setsid sh -c 'sleep {m} & (setsid sleep {m} &) ; sleep {m}' & kill -9 $PPID; sleep {m}; true",
                    "trap '' TERM; kill -STOP $PPID; kill -9 $PPID; sleep {m}; true"):
        m = mark()
        result = gateway.call(session, "shell", {"command": command.format(m=m)})
        assert result.is_error and result.error_class in (None, "execution_error"), (command, result.outcome)
        assert "SIGKILL" in result.text or "minder" in result.text, (command, result.text)
        until(lambda: not processes_with(m), "nothing is left of: " + command)
    assert not gateway.call(session, "shell", {"command": "echo still fine"}).is_error


def test_a_stopped_minder_does_not_keep_a_cancelled_call(box):
    box.config(AUTO + OPEN)
    gateway = box.serve()
    session, m = gateway.session(), mark()
    turn = gateway.start(session, "shell", {"command": "kill -STOP $PPID; sleep %s; true" % m})
    until(lambda: sleeping(m), "it runs")
    gateway.ok("POST", "/sessions/%s/cancel" % session, {})
    assert gateway.turn(session, turn["turn_id"])["calls"][0]["error_class"] == "cancelled"
    until(lambda: not processes_with(m), "nothing is left")


def test_no_zombies_stay_with_the_daemon(box):
    box.config(AUTO)
    gateway = box.serve()
    session = gateway.session()
    for i in range(5):
        gateway.call(session, "shell", {"command": "true %d & (true &) ; true" % i})
    children = open("/proc/%d/task/%d/children" % (gateway.process.pid, gateway.process.pid)).read().split()
    assert children == [], children


def test_the_environment_is_built_and_holds_no_secret_of_the_daemon(box):
    box.config(AUTO)
    canaries = {"CANARY_%d" % i: "canary-%d-secret" % i for i in range(8)}
    box.env.update(canaries, AWS_SECRET_ACCESS_KEY="canary-aws", OPENAI_API_KEY="canary-openai", LD_LIBRARY_PATH="/canary",
                   BASH_ENV="/canary/env", ENV="/canary/env", USER="somebody", TZ="UTC")
    gateway = box.serve()
    result = gateway.call(gateway.session(), "shell", {"command": "cat /proc/$$/environ | tr '\\0' '\\n'; true"})
    given = dict(line.split("=", 1) for line in result.text.partition("\n\n")[2].splitlines())
    assert given == {
        "PATH": given["PATH"], "PWD": box.workspace, "HOME": box.env["HOME"], "USER": "somebody", "LANG": "C.UTF-8",
        "TZ": "UTC", "TMPDIR": given["TMPDIR"], "XDG_CACHE_HOME": given["TMPDIR"] + "/cache", "TERM": "dumb", "SHELL": "/bin/sh"}, given
    assert given["TMPDIR"].startswith(box.env["TMPDIR"] + "/holdfast-tmp-"), given
    assert set(box.env["PATH"].split(":")) >= set(given["PATH"].split(":")) - {"/usr/local/bin", "/usr/bin", "/bin"}
    parents = gateway.call(gateway.session(), "shell", {"command": "cat /proc/$PPID/environ 2>&1 | tr '\\0' '\\n'; true"})
    assert "canary" not in parents.text + result.text, parents.text


def test_the_path_holds_no_relative_directory(box):
    box.config(AUTO)
    box.env["PATH"] = ".::bin:" + box.env["PATH"]
    box.write("bin/evil", "#!/bin/sh\necho evil\n")
    box.write("evil", "#!/bin/sh\necho evil\n")
    for name in ("evil", "bin/evil"):
        os.chmod(os.path.join(box.workspace, name), 0o755)
    gateway = box.serve()
    result = gateway.call(gateway.session(), "shell", {"command": "evil"})
    assert "exit_code=127" in result.text, result.text


def test_a_command_has_three_descriptors_and_no_input(box):
    box.config(AUTO)
    gateway = box.serve()
    streams = [gateway.stream("/events") for _ in range(3)]  # so that the daemon has some to give away
    result = gateway.call(gateway.session(), "shell", {"command": "ls -l /proc/$$/fd; true"})
    found = dict(re.findall(r" (\d+) -> (\S+)", result.text))
    assert sorted(found) == ["0", "1", "2"] and found["0"] == "/dev/null", result.text
    result = gateway.call(gateway.session(), "shell", {"command": "cat; echo read"})
    assert result.text.endswith("\n\nread\n")
    for stream in streams:
        stream.close()


def test_a_command_has_no_terminal_and_a_group_and_session_of_its_own(box):
    box.config(AUTO)
    gateway = box.serve()
    result = gateway.call(gateway.session(), "shell", {
        "command": "cat /proc/$$/stat; grep -E 'Sig(Ign|Blk)' /proc/self/status"})
    fields = re.search(r"\) (.*)", result.text).group(1).split()
    pid = int(re.search(r"^(\d+) \(", result.text, re.M).group(1))
    group, session, terminal = (int(fields[i]) for i in (2, 3, 4))
    assert group == pid and session == pid and terminal == 0, fields
    assert re.search(r"SigIgn:\s*0+$", result.text, re.M) and re.search(r"SigBlk:\s*0+$", result.text, re.M), result.text


def test_ten_megabytes_of_output_keep_head_and_tail(box):
    """The tool cuts in the middle; what is shown stays clear of that, and all of it is kept."""
    box.config(AUTO + "results: {max_bytes: 4194304}\n")
    gateway = box.serve()
    result = gateway.call(gateway.session(), "shell", {
        "command": "echo the head; head -c 10000000 /dev/zero | tr '\\0' x; echo; echo the tail"})
    text = result.text.partition("\n\n")[2]
    assert not result.is_error
    assert text.startswith("the head\nxxx") and text.endswith("xxx\nthe tail\n")
    assert len(text) <= LIMIT_SHELL_OUTPUT / 2 + 1000 and "bytes left out]" not in text
    (kept,) = result.outcome["artifacts"]
    assert kept["handle"] in text and kept["size_bytes"] == 10000000 + len("the head\n\nthe tail\n")


def test_output_that_is_no_text_is_made_text(box):
    box.config(AUTO)
    gateway = box.serve()
    result = gateway.call(gateway.session(), "shell", {"command": "head -c 100000 /dev/urandom; printf 'a\\000b\\377c'"})
    assert not result.is_error and result.text


def test_both_streams_come_whole_and_each_in_its_order(box):
    box.config(AUTO)
    gateway = box.serve()
    result = gateway.call(gateway.session(), "shell", {
        "command": "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"})
    lines = result.text.partition("\n\n")[2].splitlines()
    for stream in ("out", "err"):
        assert [line for line in lines if line.startswith(stream)] == ["%s %d" % (stream, i) for i in range(500)]


def test_how_it_ended_is_told(box):
    box.config(AUTO)
    gateway = box.serve()
    session = gateway.session()
    for command, told, failed in (("true", "exit_code=0", False), ("exit 3", "exit_code=3", True),
                                  ("kill -SEGV $$", "signal=SIGSEGV", True), ("kill -9 $$", "signal=SIGKILL", True),
                                  ("no-such-program-here", "exit_code=127", True)):
        result = gateway.call(session, "shell", {"command": command})
        assert "$ %s\n%s\n" % (command, told) in result.text and result.is_error == failed, result.text


def test_partial_output_comes_with_cancel_and_timeout(box):
    box.config(AUTO)
    gateway = box.serve()
    session, m = gateway.session(), mark()
    turn = gateway.start(session, "shell", {"command": "echo so far; sleep " + m})
    until(lambda: sleeping(m), "it runs")
    gateway.ok("POST", "/sessions/%s/turns/%s/cancel" % (session, turn["turn_id"]), {})
    block = gateway.turn(session, turn["turn_id"])["content"][0]
    assert block["is_error"] and "so far" in "".join(b["text"] for b in block["content"])
    result = gateway.call(session, "shell", {"command": "echo so far; sleep " + mark(), "timeout_seconds": 1})
    assert result.error_class == "timeout" and "so far" in result.text and "within 1 second" in result.text


def test_term_is_asked_for_first(box):
    box.config(AUTO)
    gateway = box.serve()
    session, m = gateway.session(), mark()
    turn = gateway.start(session, "shell", {"command": "trap 'echo cleaned up; exit 4' TERM; sleep %s & wait" % m})
    until(lambda: sleeping(m), "it runs")
    gateway.ok("POST", "/sessions/%s/turns/%s/cancel" % (session, turn["turn_id"]), {})
    block = gateway.turn(session, turn["turn_id"])["content"][0]
    assert "cleaned up" in "".join(b["text"] for b in block["content"])


def test_a_graceful_stop_with_everything_going_on(box):
    box.config("tool_confirmation: {default: {EXECUTE: auto}}\n")
    gateway = box.serve()
    started = start_all(gateway)
    all_run(started)
    session = gateway.session()
    asked = gateway.start(session, "write_file", {"path": "never.txt", "content": "x"})
    gateway.question()
    streams = [gateway.stream("/events?watch=1") for _ in range(3)]
    waiting = threading.Thread(target=lambda: _ignore(gateway.post, "/sessions/%s/turns" % session, {
        "name": "write_file", "input": {"path": "never2.txt", "content": "x"}}))
    waiting.start()
    client = box.popen("mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    client.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    client.stdin.flush()
    client.stdout.readline()
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(timeout=30) == 0, gateway.log()
    for _, _, m in started.values():
        assert processes_with(m) == []
    assert not box.exists("never.txt") and not box.exists("never2.txt")
    client.communicate(timeout=20)
    waiting.join(timeout=20)
    for stream in streams:
        stream.close()
    again = box.serve()  # and what was known is told by the next one
    calls = again.ok("GET", "/sessions/%s/calls" % session)["calls"]
    assert [c["state"] for c in calls] == ["failed", "failed"], calls
    assert calls[0]["turn_id"] == asked["turn_id"]


def test_a_second_signal_ends_the_daemon_at_once_and_nothing_is_left(box):
    box.config(AUTO)
    gateway = box.serve()
    session, m = gateway.session(), mark()
    gateway.start(session, "shell", {"command": "trap '' TERM; while :; do sleep %s; done" % m})
    until(lambda: sleeping(m), "it runs")
    gateway.process.send_signal(signal.SIGTERM)
    until(lambda: "stopping" in gateway.log(), "it heard")
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(timeout=20) in (0, 143)
    gateway.process.returncode = 0
    until(lambda: not processes_with(m), "nothing is left")


def test_a_command_in_this_process_dies_with_it(box):
    m = mark()
    caller = box.popen("call", "--yes", "shell", '{"command": "setsid sleep %s & sleep %s; true"}' % (m, m),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    until(lambda: len(sleeping(m)) == 2, "it runs")
    caller.kill()
    caller.communicate(timeout=20)
    until(lambda: not processes_with(m), "nothing is left")


def _ignore(function, *args):
    try:
        function(*args)
    except Exception:
        pass  # the gateway went away under it
