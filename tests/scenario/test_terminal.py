"""The command line on a terminal: questions, keys, the spinner, and text that would do harm."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading

from lib import processes_with, until

COLUMNS = 100
PROMPT = re.compile(r"Allow\? \[[^]]*\] \( ?\d+:\d\d left\)")


class Terminal:
    """`holdfast` on a terminal of its own. What it wrote is kept raw; `screen` is what a person sees."""

    def __init__(self, box, *args, env=None, stdin=None, stdout=None, columns=COLUMNS, shell=None):
        self.raw = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            ["sh", "-c", shell, box.program, *args] if shell else [box.program, *args], cwd=box.workspace, env={**box.env, "TERM": "xterm-256color", **(env or {})},
            stdin=stdin or slave, stdout=stdout or slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(2, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while True:
                part = os.read(self.master, 65536)
                if not part:
                    return
                self.raw += part
        except OSError:
            return  # everybody has left the terminal

    def text(self):
        return self.raw.decode("utf-8", "replace")

    def screen(self):
        return render(self.text())

    def see(self, what):
        until(lambda: what in self.screen(), "%r on the screen" % what)

    def asked(self, times=1):
        """Until the prompt stands there and can be answered."""
        until(lambda: len(PROMPT.findall(self.screen())) >= times, "the prompt")

    def type(self, text):
        os.write(self.master, text.encode())

    def hang_up(self):
        os.close(self.master)
        self.master = None

    def ended(self):
        """Its exit code."""
        code = self.process.wait(timeout=30)
        self.reader.join(timeout=10)  # the terminal ends with the last who had it open
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.master is not None:
            os.close(self.master)


ESCAPES = re.compile(r"\x1b(?:\[(\d*(?:;\d+)*)([mK])|([78]))")


def render(text):
    """The lines a terminal would show. Knows just what the program may send: anything else is a bug of it."""
    lines, row, column, saved = [[]], 0, 0, (0, 0)
    at = 0
    while at < len(text):
        c = text[at]
        if c == "\x1b":
            found = ESCAPES.match(text, at)
            if not found:
                if len(text) - at < 8:
                    break  # not all of it is here yet
                raise AssertionError("an escape that is not ours: %r" % text[at:at + 20])
            at = found.end()
            if found.group(2) == "K":
                del lines[row][column:]
            elif found.group(3) == "7":
                saved = (row, column)
            elif found.group(3) == "8":
                row, column = saved
            continue
        at += 1
        if c == "\n":
            row += 1
            if row == len(lines):
                lines.append([])
        elif c == "\r":
            column = 0
        elif c == "\b":
            column = max(0, column - 1)
        else:
            assert c >= " " and c != "\x7f" or c == "\t", "a control character that is not ours: %r" % text[at - 20:at + 20]
            lines[row][len(lines[row]):] = [" "] * max(0, column - len(lines[row]))
            lines[row][column:column + 1] = [c]
            column += 1
    return "\n".join("".join(line).rstrip() for line in lines)


def on_terminal(test):
    """The test gets a function that opens terminals; they are closed after it."""
    def run(box):
        opened = []

        def terminal(*args, **more):
            opened.append(Terminal(box, *args, **more))
            return opened[-1]
        try:
            test(box, terminal)
        except BaseException:
            for each in opened:
                print("--- terminal\n" + repr(each.text()[-3000:]))
            raise
        finally:
            for each in opened:
                each.close()
    return run


def shell(command):
    return ["call", "shell", json.dumps({"command": command})]


def block(screen):
    """What stands behind the margin, put together again."""
    return "".join(line[4:] for line in screen.splitlines() if line.startswith("  │ "))


@on_terminal
def test_a_command_is_shown_in_full_and_yes_runs_it(box, terminal):
    command = "echo start; : " + " ".join("word%d" % i for i in range(200)) + "; touch did-it; echo the end"
    t = terminal(*shell(command))
    t.asked()
    screen = t.screen()
    assert block(screen).replace(" ", "") == command.replace(" ", ""), screen
    assert "shell wants to execute in " + box.workspace in screen and "default.EXECUTE" in screen
    assert "4:5" in screen or "5:00" in screen
    assert not box.exists("did-it")
    t.type("y\n")
    assert t.ended() == 0
    assert box.exists("did-it") and t.screen().rstrip().endswith("exit_code=0\n\nstart\nthe end"), t.screen()


@on_terminal
def test_no_and_enter_refuse(box, terminal):
    for key in ("n\n", "no\n", "\n"):
        t = terminal(*shell("touch did-it"))
        t.asked()
        t.type(key)
        assert t.ended() == 1, key
        assert "user_denied" in t.screen(), t.screen()
        assert not box.exists("did-it")


@on_terminal
def test_the_end_of_input_cancels_and_is_nobodys_no(box, terminal):
    gateway = box.serve()
    for leave in (lambda t: t.type("\x04"), lambda t: t.hang_up()):
        t = terminal(*shell("touch did-it"))
        t.asked()
        question = gateway.question()
        leave(t)
        assert t.ended() in (1, 129), t.screen()
        until(lambda: gateway.ok("GET", "/sessions")["sessions"] == [], "its session has ended")
        assert gateway.ok("GET", "/confirmations")["confirmations"] == []
        assert gateway.ok("GET", "/calls/" + question["call_id"])["error_class"] == "cancelled"
        assert "tool.confirmation_resolved" not in gateway.types(question["session_id"])
        assert not box.exists("did-it")


@on_terminal
def test_a_question_that_runs_out_says_that_nobody_answered(box, terminal):
    box.config("tool_confirmation:\n  confirmation_timeout_seconds: 1\n")
    t = terminal(*shell("touch did-it"))
    assert t.ended() == 1
    assert "Nobody answered in time." in t.screen() and "elsewhere" not in t.screen(), t.screen()
    assert not box.exists("did-it")


@on_terminal
def test_what_is_no_choice_is_asked_again(box, terminal):
    t = terminal(*shell("touch did-it"))
    t.asked()
    t.type("maybe\n")
    t.asked(2)
    assert "none of the choices" in t.screen()
    t.type("Y\n")  # keys are what they are: N is never
    t.asked(3)
    t.type("yes\n")
    assert t.ended() == 0 and box.exists("did-it")


@on_terminal
def test_always_asks_no_second_time_in_this_workspace(box, terminal):
    t = terminal(*shell("echo one"))
    t.asked()
    t.type("a\n")
    assert t.ended() == 0
    second = terminal(*shell("echo two"))
    assert second.ended() == 0 and "Allow?" not in second.text() and "two" in second.screen()
    assert box.run(*shell("echo three")).returncode == 0
    other = box.make_dir("other")
    third = terminal("call", "-w", other, "shell", '{"command": "echo four"}')
    third.asked()
    third.type("n\n")
    assert third.ended() == 1


@on_terminal
def test_always_for_commands_that_begin_alike(box, terminal):
    t = terminal(*shell("printf one two"))
    t.asked()
    assert 'begin with "printf' in t.screen(), t.screen()
    t.type("p\n")
    assert t.ended() == 0
    grant = json.loads(box.run("grants", "--json").stdout)["grants"][0]
    again = terminal(*shell(grant["prefix"] + " more"))
    assert again.ended() == 0 and "Allow?" not in again.text()
    for other in ("echo no", grant["prefix"] + " x; touch did-it"):
        t = terminal(*shell(other))
        t.asked()
        t.type("n\n")
        assert t.ended() == 1
    assert not box.exists("did-it")


@on_terminal
def test_never_refuses_without_a_question(box, terminal):
    t = terminal(*shell("touch did-it"))
    t.asked()
    t.type("never\n")
    assert t.ended() == 1
    second = terminal(*shell("touch did-it"))
    assert second.ended() == 1 and "Allow?" not in second.text()
    assert "user_denied" in second.screen() and not box.exists("did-it")


@on_terminal
def test_a_write_shows_its_diff_in_colours(box, terminal):
    box.write("conf.txt", "keep\nport 8080\nkeep too\n")
    t = terminal("call", "write_file", json.dumps({"path": "conf.txt", "content": "keep\nport 9090\nkeep too\n"}))
    t.asked()
    screen = t.screen()
    for line in ("-port 8080", "+port 9090", " keep too"):
        assert "  │ " + line in screen.splitlines(), screen
    assert re.search(r"\x1b\[31m[^\n]*-port 8080", t.text()) and re.search(r"\x1b\[32m[^\n]*\+port 9090", t.text())
    assert box.read("conf.txt") == "keep\nport 8080\nkeep too\n"
    t.type("y\n")
    assert t.ended() == 0 and box.read("conf.txt") == "keep\nport 9090\nkeep too\n"


@on_terminal
def test_2_behind_a_cut_diff_stands_the_whole_input(box, terminal):
    content = "".join("line %d \x9b\n" % i for i in range(30000))
    box.write("in.json", json.dumps({"path": "a.txt", "content": content}))
    with open(os.path.join(box.workspace, "in.json")) as file:
        t = terminal("call", "write_file", "-", stdin=file)
        t.asked()
    screen = t.screen()
    assert "more lines of this diff are not shown]" in screen and "the whole input" in screen
    whole = '{"path":"a.txt","content":"%s"}' % content.replace("\n", "\\n").replace("\x9b", "\\u{9b}")
    assert block(screen[screen.index("the whole input"):]).replace(" ", "") == whole.replace(" ", "")
    t.type("n\n")
    assert t.ended() == 1


@on_terminal
def test_2_json_cannot_harm_the_terminal(box, terminal):
    box.write("a.txt", "\x9b2J\u202e\x7f naïve\n")
    t = terminal("call", "--json", "read_file", '{"path": "a.txt"}')
    assert t.ended() == 0
    line = t.text().strip()
    assert not re.search("[\x7f-\x9f\u202e]", line), line
    assert "naïve" in line and json.loads(line)["content"][0]["text"] == "\x9b2J\u202e\x7f naïve\n"
    box.serve()
    box.run("call", "--yes", "shell", '{"command": "echo \x9b2J"}')
    for shown in (terminal("events", "--json"), terminal("log", "--json")):
        assert shown.ended() == 0
        assert "echo \\u009b2J" in shown.text() and "\x9b" not in shown.text(), shown.text()
    piped = box.run("call", "--json", "read_file", '{"path": "a.txt"}')
    assert "\x9b2J" in piped.stdout


@on_terminal
def test_a_patch_shows_its_diff(box, terminal):
    box.write("a.txt", "".join("line %d\n" % i for i in range(50)))
    t = terminal("call", "patch_file", json.dumps({"path": "a.txt", "old": "line 25\n", "new": "LINE\n"}))
    t.asked()
    assert "  │ -line 25" in t.screen() and "  │ +LINE" in t.screen() and "line 40" not in t.screen()
    t.type("y\n")
    assert t.ended() == 0 and "LINE\n" in box.read("a.txt")


@on_terminal
def test_somebody_else_answers_first(box, terminal):
    gateway = box.serve()
    for decision, code in (("allow", 0), ("deny", 1)):
        t = terminal(*shell("echo ran"))
        t.asked()
        question = gateway.question()
        assert gateway.answer(question, decision, by="a colleague")[0] == 200
        assert t.ended() == code, t.screen()
        assert "answered elsewhere: %s by a colleague" % decision in t.screen(), t.screen()
        assert ("\nran" in t.screen()) == (decision == "allow")


@on_terminal
def test_what_is_half_typed_does_not_reach_the_next_reader(box, terminal):
    gateway = box.serve()
    t = terminal(*shell("echo ran"), shell='"$0" "$@"; echo next; read word; echo "got <$word>"')
    t.asked()
    t.type("rm x")
    t.see("left) rm x")
    assert gateway.answer(gateway.question(), "deny")[0] == 200
    t.see("next")
    t.type("ls\n")
    assert t.ended() == 0 and "got <ls>" in t.screen(), t.screen()


@on_terminal
def test_what_was_typed_before_the_question_is_no_answer(box, terminal):
    t = terminal(*shell("touch did-it"))
    t.type("y\ny\ny\n")
    t.asked()
    t.type("n\n")
    assert t.ended() == 1 and not box.exists("did-it")


@on_terminal
def test_ctrl_c_at_the_question_runs_nothing(box, terminal):
    gateway = box.serve()
    t = terminal(*shell("touch did-it"))
    t.asked()
    t.type("\x03")
    assert t.ended() == 130, t.screen()
    assert not box.exists("did-it")
    assert gateway.ok("GET", "/confirmations")["confirmations"] == []
    assert gateway.ok("GET", "/sessions")["sessions"] == []


@on_terminal
def test_ctrl_c_cancels_and_shows_what_came_until_then(box, terminal):
    mark = "100001.%d" % os.getpid()
    for gateway in (None, "running"):
        if gateway:
            box.serve()
        t = terminal("call", "--yes", "shell", json.dumps({"command": "echo so far; sleep " + mark}))
        until(lambda: processes_with("sleep\0" + mark), "the command runs")
        t.type("\x03")
        assert t.ended() == 130, t.screen()
        assert "so far" in t.screen() and "cancelled" in t.screen()
        assert processes_with("sleep\0" + mark) == []


@on_terminal
def test_a_second_ctrl_c_leaves_at_once_and_nothing_behind(box, terminal):
    mark = "100002.%d" % os.getpid()
    t = terminal("call", "--yes", "shell", json.dumps({"command": "trap '' TERM; sleep %s; sleep %s" % (mark, mark)}))
    until(lambda: processes_with("sleep\0" + mark), "the command runs")
    t.type("\x03")
    t.see("stopping")
    t.type("\x03")
    assert t.ended() == 130
    until(lambda: not processes_with(mark), "nothing of the command is left")


@on_terminal
def test_the_spinner_shows_time_and_output_and_is_erased(box, terminal):
    release = os.path.join(box.workspace, "release")
    t = terminal("call", "--yes", "shell", json.dumps({"command": "echo at work; until [ -e release ]; do sleep 0.1; done"}))
    t.see("shell  1 s  at work")
    open(release, "w").close()
    assert t.ended() == 0
    screen = t.screen()
    assert "shell  1 s" not in screen and not re.search("[⠀-⣿]", screen), screen
    assert screen.startswith("$ echo at work")


@on_terminal
def test_no_spinner_on_a_dumb_terminal_or_beside_one(box, terminal):
    command = json.dumps({"command": "sleep 1.6; echo done"})
    t = terminal("call", "--yes", "shell", command, env={"TERM": "dumb"})
    assert t.ended() == 0
    assert "\x1b" not in t.text() and not re.search("[⠀-⣿]", t.text())
    done = box.run("call", "--yes", "shell", command, env={"TERM": "xterm"})
    assert done.stderr == "" and "\r" not in done.stdout


@on_terminal
def test_stdout_in_a_pipe_stays_clean_while_the_question_is_on_the_terminal(box, terminal):
    path = os.path.join(box.dir, "out.txt")
    with open(path, "wb") as out:
        t = terminal(*shell("sleep 1.2; printf '\\033[31mraw'"), stdout=out)
        t.asked()
        t.type("y\n")
        assert t.ended() == 0
    assert open(path, "rb").read().endswith(b"\n\n\x1b[31mraw")


@on_terminal
def test_no_color_is_respected_and_colours_are_there_otherwise(box, terminal):
    coloured = terminal("tools")
    assert coloured.ended() == 0 and "\x1b[1m" in coloured.text()
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = terminal("tools", env=env)
        assert plain.ended() == 0 and "\x1b" not in plain.text(), env
        assert plain.screen() == coloured.screen()
    asked = terminal(*shell("true"), env={"NO_COLOR": "1"})
    asked.asked()
    assert not re.search(r"\x1b\[[\d;]*m", asked.text())
    asked.type("n\n")
    asked.ended()


HOSTILE = ("title \x1b]0;owned\x07 colour \x1b[31mred clear \x1b[2J\x1b[H link \x1b]8;;http://evil\x1b\\x "
           "csi \x9b31m back \rover bell \x07 rtl \u202etxt zero\u200bwidth del \x7f\n")


@on_terminal
def test_hostile_output_is_shown_escaped(box, terminal):
    box.write("evil.txt", HOSTILE)
    t = terminal("call", "read_file", '{"path": "evil.txt"}')
    assert t.ended() == 0
    for shown in ("\\e]0;owned\\x07", "\\e[31mred", "\\e[2J", "\\u{9b}31m", "\\rover", "\\u{202e}txt", "zero\\u{200b}width", "\\x7f"):
        assert shown in t.screen(), (shown, t.screen())
    assert "\u202e" not in t.text() and "\x9b" not in t.text()


@on_terminal
def test_hostile_questions_errors_and_logs_are_shown_escaped(box, terminal):
    hostile = HOSTILE.replace("\n", "") + "\x1b[8m; touch did-it"
    t = terminal(*shell(hostile))
    t.asked()
    assert "\\e[8m" in t.screen() and "touch did-it" in t.screen()
    t.type("n\n")
    assert t.ended() == 1
    missing = terminal("call", "read_file", json.dumps({"path": "a\x1b[31mb\u202e"}))
    assert missing.ended() == 1 and "a\\e[31mb" in missing.screen()
    write = terminal("call", "write_file", json.dumps({"path": "x\x1b[2K", "content": HOSTILE}))
    write.asked()
    assert "\\e]0;owned" in write.screen()
    write.type("n\n")
    assert write.ended() == 1
    for words in (["log"], ["events"], ["sessions", "--all"], ["log", json.loads(box.run("log", "--json").stdout)["calls"][0]["call_id"]]):
        shown = terminal(*words)
        assert shown.ended() == 0
        shown.screen()  # refuses what is not ours
        assert "\u202e" not in shown.text(), words


@on_terminal
def test_hostile_output_in_the_spinner_is_escaped(box, terminal):
    t = terminal("call", "--yes", "shell", json.dumps(
        {"command": "printf 'x\\033[2Jy\\033]0;owned\\007z'; until [ -e release ]; do sleep 0.1; done"}))
    t.see("x\\e[2Jy\\e]0;owned\\x07z")
    open(os.path.join(box.workspace, "release"), "w").close()
    assert t.ended() == 0


@on_terminal
def test_approve_shows_the_question(box, terminal):
    gateway = box.serve()
    session = gateway.session()
    turn = gateway.start(session, "write_file", {"path": "n.txt", "content": "new\n"})
    gateway.question()
    t = terminal("approve")
    assert t.ended() == 0 and "  │ +new" in t.screen() and "allowed" in t.screen()
    gateway.turn(session, turn["turn_id"])
    assert box.read("n.txt") == "new\n"


@on_terminal
def test_events_on_a_terminal_count_as_watching(box, terminal):
    gateway = box.serve()
    t = terminal("events", "--follow")
    until(lambda: gateway.ok("GET", "/status")["watchers"] == 1, "the terminal is counted")
    box.run("call", "list_dir")
    t.see("session.ended")
    t.type("\x03")
    t.process.wait(timeout=20)
    until(lambda: gateway.ok("GET", "/status")["watchers"] == 0, "it has left")


@on_terminal
def test_a_narrow_terminal_shows_the_whole_command_that_is_asked_for(box, terminal):
    gateway = box.serve()
    command = "echo " + " ".join("word%d" % i for i in range(40))
    gateway.start(gateway.session(), "shell", {"command": command})
    gateway.question()
    for columns in (40, 80):
        t = terminal("events", "--type", "tool.confirmation_requested", columns=columns)
        assert t.ended() == 0
        lines = t.screen().splitlines()
        assert all(line.startswith("  │ ") and len(line) <= columns for line in lines[1:]) and lines[1:], lines
        asked = t.screen().partition("tool.confirmation_requested")[2]
        assert command.replace(" ", "") in re.sub(r"[ │\n]", "", asked), t.screen()


@on_terminal
def test_tables_fit_the_terminal(box, terminal):
    gateway = box.serve()
    box.run("call", "--yes", "shell", '{"command": "true ' + "x" * 200 + '"}')
    box.run("call", "shell", '{"command": "false"}')
    gateway.start(gateway.session(), "shell", {"command": "sleep " + "9" * 200})
    gateway.question()
    for columns in (50, 80, 120):
        for words, shown in ((["log"], "true xxx"), (["approve", "--list"], "sleep 99")):
            t = terminal(*words, columns=columns)
            assert t.ended() == 0
            lines = t.screen().splitlines()
            assert max(map(len, lines)) <= columns and shown in t.screen(), t.screen()
            assert "WHAT" in lines[0] and "…" in t.screen(), t.screen()
    wide, narrow = terminal("log", columns=160), terminal("log", columns=80)
    assert wide.ended() == narrow.ended() == 0
    assert "RULE" in wide.screen() and "CLASS" in wide.screen() and "RULE" not in narrow.screen()


@on_terminal
def test_a_refused_input_is_told_in_words(box, terminal):
    t = terminal("call", "read_file", "{}")
    assert t.ended() == 1 and "/path: is required" in t.screen(), t.screen()
    assert "validation_error: /path: is required" in box.run("call", "read_file", "{}").stderr
