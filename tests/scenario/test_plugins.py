"""Plugins: tools in C that cannot take anything down but themselves (issue 6)."""
import os
import subprocess

from lib import Skip, until


def bad(box):
    path = os.path.join(os.path.dirname(box.program), "tests", "plugins", "bad.so")
    if not os.path.exists(path):
        raise Skip("the build has no test plugins")
    return path


def serve(box, seconds=20):
    """Tried once: the second attempt would wait for the process to be started again."""
    box.config("plugins:\n  bad: {path: %s, timeout: %d}\n"
               "tools: {defaults: {retry: {attempts: 1}, repeat_limit: 0}}\n" % (bad(box), seconds))
    g = box.serve()
    until(lambda: "bad__fine" in [t["name"] for t in g.ok("GET", "/tools")["tools"]], "the plugin's tools are known")
    return g


def host_pids(g):
    return [s["pid"] for s in g.ok("GET", "/servers")["servers"] if s.get("pid")]


def fine(g, session):
    """It is started again after a pause, which grows with each crash."""
    return until(lambda: not g.call(session, "bad__fine", {}).is_error, "the plugin works again", 60)


def test_6_the_example_builds_by_itself_and_works(box):
    build = os.path.join(box.dir, "build")
    source = os.path.join(box.root, "examples", "plugin")
    for command in (["meson", "setup", build, source], ["ninja", "-C", build]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    box.config("plugins:\n  text: {path: %s/words.so}\n" % build)
    g = box.serve()
    s = g.session()
    until(lambda: "text__count_words" in [t["name"] for t in g.ok("GET", "/tools")["tools"]], "it is known")
    result = g.call(s, "text__count_words", {"text": "one two\nthree  four"})
    assert not result.is_error and result.text == "4 words", result.text
    result = g.call(s, "text__count_words", {"text": 5})
    assert result.error_class == "validation_error", result.text


def test_6_a_crash_costs_its_own_call_and_leaves_its_stack_in_the_journal(box):
    g = serve(box)
    s = g.session()
    for tool, signal, function in (("wild", "SIGSEGV", "bad_wild_pointer"), ("give_up", "SIGABRT", "abort")):
        fine(g, s)
        result = g.call(s, "bad__" + tool, {})
        assert result.error_class == "execution_error", (result.error_class, result.text)
        assert signal not in result.text and "+0x" not in result.text, result.text
        row = g.ok("GET", "/calls/" + result.outcome["call_id"])
        assert signal in row["inside"] and function in row["inside"], row["inside"]
    fine(g, s)
    assert g.alive()


def test_6_one_that_exits_is_started_again(box):
    g = serve(box)
    s = g.session()
    fine(g, s)
    result = g.call(s, "bad__leave", {})
    assert result.error_class == "execution_error", result.text
    fine(g, s)


def test_6_what_one_prints_harms_nothing(box):
    g = serve(box)
    s = g.session()
    fine(g, s)
    before = host_pids(g)
    for _ in range(3):
        result = g.call(s, "bad__print", {})
        assert not result.is_error and result.text == "done", result.text
    assert host_pids(g) == before


def test_6_others_live_while_a_plugin_crashes(box):
    g = serve(box)
    s, other = g.session(), g.session()
    fine(g, s)
    box.write("a.txt", "hello\n")
    turns = [g.start(s, "bad__wild", {})]
    for i in range(20):
        assert not g.call(other, *(("read_file", {"path": "a.txt"}), ("list_dir", {}))[i % 2]).is_error
    for t in turns:
        assert g.turn(s, t["turn_id"])["calls"][0]["is_error"] is True


def test_6_one_that_loops_is_ended(box):
    g = serve(box, seconds=2)
    s = g.session()
    fine(g, s)
    before = host_pids(g)
    result = g.call(s, "bad__loop", {})
    assert result.error_class == "timeout", (result.error_class, result.text)
    until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in before), "the process that loops is gone", 60)
    fine(g, s)


def test_6_one_that_eats_memory_finds_an_end(box):
    """With the program as it is shipped: the sanitizer's shadow is larger than any limit."""
    box.program = os.path.join(box.root, "build", "holdfast")
    if not os.path.exists(bad(box)):
        raise Skip("there is no release build with test plugins")
    box.config("plugins:\n  bad: {path: %s, timeout: 60, memory_mib: 256}\n" % bad(box))
    g = box.serve()
    until(lambda: "bad__eat" in [t["name"] for t in g.ok("GET", "/tools")["tools"]], "the plugin's tools are known")
    s = g.session()
    result = g.call(s, "bad__eat", {})
    assert not result.is_error and result.text == "done", result.text  # its malloc said no, in time
    assert g.alive()


def test_6_no_host_outlives_the_gateway(box):
    g = serve(box)
    s = g.session()
    fine(g, s)
    before = host_pids(g)
    assert before
    g.kill()
    until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in before), "the plugin's process is gone")


def test_6_what_is_no_plugin_is_told(box):
    path = box.write("no.so", "this is no plugin")
    done = box.run("plugin-host", path)
    assert done.returncode == 3 and "no.so" in done.stderr, (done.returncode, done.stderr)
    done = box.run("plugin-host", "/nowhere/x.so")
    assert done.returncode == 3 and "there is no such plugin" in done.stderr, done.stderr
    box.config("plugins:\n  x: {path: relative.so}\n")
    g = box.serve()
    problems = [s.get("problem") for s in g.ok("GET", "/servers")["servers"]]
    assert any(p and "must begin with" in str(p) for p in problems), problems
