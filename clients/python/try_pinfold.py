"""Tries the client: `python3 try_pinfold.py PINFOLD FOLDER`, with an empty folder."""

import os
import subprocess
import sys
import tempfile
import threading

from pinfold import Check, Gate, PinfoldError

PINFOLD, FOLDER = sys.argv[1:]


def raises(act):
    try:
        act()
    except PinfoldError as error:
        return str(error)
    raise AssertionError("it did not fail")


with Gate(FOLDER, pinfold=PINFOLD) as gate:
    reply = gate.call("Write", {"file_path": "a.txt", "content": "one\nzwei ä\n"})
    assert (reply.ended, reply.text) == ("done", "created a.txt (2 lines)"), reply
    # In one session a file that was read can be edited.
    assert gate.call("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "1"}).ended == "done"
    outside = gate.call("Write", {"file_path": "/etc/pinfold-was-here", "content": "x"})
    assert outside.ended == "refused" and outside.structured["error"] == "RequiresApproval", outside
    assert not os.path.exists("/etc/pinfold-was-here")
    assert gate.call("Read", {"file_path": "missing"}).ended == "failed"
    names = [f"{n}.txt" for n in range(8)]
    made = {}

    def make(name):
        made[name] = gate.call("Write", {"file_path": name, "content": name}).text

    threads = [threading.Thread(target=make, args=(name,)) for name in names]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert made == {name: f"created {name} (1 lines)" for name in names}, made
assert open(os.path.join(FOLDER, "a.txt"), encoding="utf-8").read() == "1\nzwei ä\n"
gate.close()
raises(lambda: gate.call("Read", {"file_path": "a.txt"}))

with Gate(FOLDER, options=["--read-only"], pinfold=PINFOLD) as gate:
    assert gate.call("Write", {"file_path": "b.txt", "content": "x"}).ended == "refused"

with Check(options=["--no-settings"], pinfold=PINFOLD) as check:
    decision = check.decide("Bash", {"command": "git push -f"}, cwd=FOLDER)
    assert (decision.decision, decision.safeguard) == ("ask", "force-push"), decision
    assert decision.claims["commands"] == ["git push -f"]
    headless = check.decide("Bash", {"command": "git push -f"}, cwd=FOLDER, headless=True)
    assert headless.decision == "deny" and headless.refusal is not None, headless
    allowed = check.decide("Bash", {"command": "make"}, cwd=FOLDER, rules={"allow": ["Bash(make)"]})
    assert (allowed.decision, allowed.rule) == ("allow", "Bash(make)"), allowed
    assert "misspelt" in raises(lambda: check.decide("Read", {"file_path": "a"}, misspelt=True))
    # And it goes on.
    assert check.decide("Read", {"file_path": "a"}, cwd=FOLDER).decision == "allow"

# The same over a socket, with a program that answers questions itself.
with tempfile.TemporaryDirectory() as private:
    path, outside = os.path.join(private, "s"), os.path.join(private, "outside")
    os.chmod(private, 0o700)
    server = subprocess.Popen([PINFOLD, "serve", "--socket", path, "--folder", FOLDER], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None and server.stdout.readline() == path + "\n"
    with Gate(FOLDER, socket=path) as gate, Gate(FOLDER, socket=path) as other, Check(socket=path) as check:
        assert gate.call("Write", {"file_path": "s.txt", "content": "1\n"}).ended == "done"
        refused = other.call("Write", {"file_path": outside, "content": "x"})
        assert refused.ended == "refused" and not os.path.exists(outside), refused
        assert "misspelt" in raises(lambda: check.decide("Read", {"file_path": "a"}, misspelt=True))
        assert check.decide("Read", {"file_path": "a"}, cwd=FOLDER).decision == "allow"
    asked = []

    def answers(request):
        asked.append(request["tool"])
        return {"choice": "yes"} if len(asked) > 1 else {"choice": "no", "message": "not yet"}

    with Gate(FOLDER, socket=path, answers=answers) as gate:
        no = gate.call("Write", {"file_path": outside, "content": "x"})
        assert no.ended == "refused" and "not yet" in no.text, no
        assert gate.call("Write", {"file_path": outside, "content": "x"}).ended == "done"
    assert asked == ["Write", "Write"] and os.path.exists(outside)
    assert "not for" in raises(lambda: Gate(private, socket=path))
    server.terminate()
    assert server.wait() == 0 and not os.path.exists(path)
    raises(lambda: Gate(FOLDER, socket=path))

assert "cannot be started" in raises(lambda: Gate(FOLDER, pinfold=os.path.join(FOLDER, "gone")))
broken = Gate(FOLDER, options=["--no-such-option"], pinfold=PINFOLD)
assert "--no-such-option" in raises(lambda: broken.call("Read", {"file_path": "a"}))
broken.close()
print("ok")
