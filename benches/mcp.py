#!/usr/bin/env python3
"""MCP over standard input and output: pinfold beside the least server on the same SDK, the least proxy, and ripgrep.

  PINFOLD=path BARE=path PASS=path benches/mcp.py [ROUNDS]

PINFOLD: the binary of a release build. BARE, PASS: `cargo build --release -p pinfold-mcp --examples`. FILES=N: how many
files the tree has that is searched, 5,000 where nothing is said. Prints the middle and the slowest of a hundred, in
microseconds, for: a start, up to the answer to `initialize`; a read of 4 KiB; an edit of a file of 64 KiB;
glob and grep over the tree. What is compared is measured in turn within each round. The last column is the middle beside
that of the first row of its part. Rows of `rg` are left out, and said so, when it is missing.
Measure on an idle machine.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
FILES = int(os.environ.get("FILES", "5000"))
PINFOLD, BARE, PASS = os.environ["PINFOLD"], os.environ["BARE"], os.environ["PASS"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Server:
    def __init__(self, words, bed):
        environment = {"HOME": bed + "/home", "PATH": os.environ["PATH"]}
        self.child = subprocess.Popen(words, cwd=bed + "/folder", env=environment, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.last = 0
        self.ask("initialize", HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            answer = json.loads(self.child.stdout.readline())
            if answer.get("id") == self.last:
                return answer

    def call(self, tool, arguments):
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        assert not result.get("isError"), result
        return result

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def measured(part, rounds, acts, behind=lambda made: None):
    """Each act once in every round, and what each took. What comes `behind` takes no time."""
    took = {name: [] for name in acts}
    for _ in range(rounds):
        for name, act in acts.items():
            began = time.perf_counter_ns()
            made = act()
            took[name].append((time.perf_counter_ns() - began) / 1000)
            behind(made)
    first = None
    for name, times in took.items():
        times.sort()
        middle, slow = times[len(times) // 2], times[len(times) * 99 // 100]
        first = first or middle
        print(f"{part + ': ' + name:<44} {middle:>10.0f} {slow:>10.0f} {middle / first:>8.2f}", flush=True)


def searched(*words):
    """ripgrep, from its start to its end."""
    done = subprocess.run(["rg", "--no-config", *words], stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done


def main():
    with tempfile.TemporaryDirectory(prefix="pinfold-bench.") as bed:
        folder = bed + "/folder"
        tree = folder + "/tree"
        os.makedirs(bed + "/home")
        os.makedirs(folder)
        with open(folder + "/small.txt", "w") as file:
            file.write("0123456789abcde\n" * 256)
        with open(folder + "/large.txt", "w") as file:
            file.write("0123456789abcde\n" * 4095 + "first\n")
        # In the folder: the rest of a temporary place is covered inside.
        bare = shutil.copy(BARE, folder + "/bare")
        print(f"{'':<44} {'p50 µs':>10} {'p99 µs':>10} {'ratio':>8}")
        serve = [PINFOLD, "mcp", "serve", "--folder", folder]
        proxy = [PINFOLD, "mcp", "proxy", "--name", "bare", "--folder", folder, "--allowedTools", "mcp__bare", "--", bare]
        ways = {"bare": [bare], "pinfold": serve, "bare behind the least proxy": [PASS, bare],
                "bare behind ours": proxy}
        tools = {"pinfold": "Read"}
        starts = max(ROUNDS // 20, 5)
        measured("start", starts, {way: lambda words=words: Server(words, bed) for way, words in ways.items()}, Server.end)
        for number in range(FILES):
            place = f"{tree}/{number // 100}"
            os.makedirs(place, exist_ok=True)
            with open(f"{place}/{number}.txt", "w") as file:
                file.write(f"line {number}\n" * 20)
        several = {way: words for way, words in ways.items() if way == "bare" or "behind ours" in way}
        measured(f"start, {FILES} files in the folder", starts,
                 {way: lambda words=words: Server(words, bed) for way, words in several.items()}, Server.end)
        servers = {way: Server(words, bed) for way, words in ways.items()}
        read = {way: lambda way=way: servers[way].call(tools.get(way, "read_file"), {"file_path": folder + "/small.txt"})
                for way in ways}
        for act in read.values():
            act()
        measured("read 4 KiB", ROUNDS, read)
        server = servers["pinfold"]
        server.call("Read", {"file_path": "large.txt"})
        words = ["first", "other"]

        def edit():
            server.call("Edit", {"file_path": "large.txt", "old_string": words[0], "new_string": words[1]})
            words.reverse()

        measured("edit 64 KiB", ROUNDS, {"pinfold": edit})
        glob = {"pinfold": lambda: server.call("Glob", {"pattern": "**/*7.txt", "path": tree})}
        grep = {"pinfold": lambda: server.call("Grep", {"pattern": "line 4321$", "path": tree})}
        if shutil.which("rg"):
            glob = {"rg": lambda: searched("--files", "-g", "**/*7.txt", tree)} | glob
            grep = {"rg": lambda: searched("-l", "line 4321$", tree)} | grep
        else:
            print("rg is missing: its rows are left out", file=sys.stderr)
        measured(f"glob, {FILES} files", starts, glob)
        measured(f"grep, {FILES} files", starts, grep)
        for server in servers.values():
            server.end()


main()
