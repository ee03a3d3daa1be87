#!/usr/bin/env python3
"""MCP over standard input and output: pinfold beside the least server on the same SDK, and behind its own proxy.

  PINFOLD=path BARE=path benches/mcp.py [ROUNDS]

PINFOLD: the binary of a release build. BARE: `cargo build --release -p pinfold-mcp --example bare`. Prints the middle and
the slowest of a hundred, in microseconds, for: the start up to the answer to `initialize`; a read of 4 KiB; an edit of a
file of 64 KiB; glob and grep over 5,000 files; the same read by the bare server behind `pinfold mcp proxy`.
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
PINFOLD, BARE = os.environ["PINFOLD"], os.environ["BARE"]
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


def measured(name, rounds, act):
    took = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        act()
        took.append((time.perf_counter_ns() - began) / 1000)
    took.sort()
    print(f"{name:<40} {took[len(took) // 2]:>10.0f} {took[len(took) * 99 // 100]:>10.0f}", flush=True)


def main():
    with tempfile.TemporaryDirectory(prefix="pinfold-bench.") as bed:
        folder = bed + "/folder"
        os.makedirs(bed + "/home")
        for number in range(5000):
            place = f"{folder}/tree/{number // 100}"
            os.makedirs(place, exist_ok=True)
            with open(f"{place}/{number}.txt", "w") as file:
                file.write(f"line {number}\n" * 20)
        with open(folder + "/small.txt", "w") as file:
            file.write("0123456789abcde\n" * 256)
        with open(folder + "/large.txt", "w") as file:
            file.write("0123456789abcde\n" * 4095 + "first\n")
        # In the folder: the rest of a temporary place is covered inside.
        bare = shutil.copy(BARE, folder + "/bare")
        print(f"{'':<40} {'p50 µs':>10} {'p99 µs':>10}")
        serve = [PINFOLD, "mcp", "serve", "--folder", folder]
        proxy = [PINFOLD, "mcp", "proxy", "--name", "bare", "--folder", folder, "--allowedTools", "mcp__bare", "--", bare]
        small = {"file_path": folder + "/small.txt"}
        starts = max(ROUNDS // 20, 5)
        measured("start: bare", starts, lambda: Server([bare], bed).end())
        measured("start: pinfold", starts, lambda: Server(serve, bed).end())
        measured("start: bare behind the proxy", starts, lambda: Server(proxy, bed).end())
        for name, words, tool in [("bare", [bare], "read_file"), ("pinfold", serve, "Read"),
                                  ("bare behind the proxy", proxy, "read_file")]:
            server = Server(words, bed)
            server.call(tool, small)
            measured(f"read 4 KiB: {name}", ROUNDS, lambda: server.call(tool, small))
            server.end()
        server = Server(serve, bed)
        server.call("Read", {"file_path": "large.txt"})
        words = ["first", "other"]

        def edit():
            server.call("Edit", {"file_path": "large.txt", "old_string": words[0], "new_string": words[1]})
            words.reverse()

        measured("edit 64 KiB: pinfold", ROUNDS, edit)
        measured("glob 5,000 files: pinfold", starts, lambda: server.call("Glob", {"pattern": "**/*7.txt"}))
        measured("grep 5,000 files: pinfold", starts, lambda: server.call("Grep", {"pattern": "line 4321$"}))
        server.end()


main()
