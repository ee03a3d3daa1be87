#!/bin/bash
# What the newest of a large record costs: `benches/log.sh`.
#
#   LINES=1000000 benches/log.sh           lines of the record, over files of 16 MiB
#   PINFOLD=path benches/log.sh            a binary that is there already (else: cargo build --release)
#
# Needs python3. Goal: 50 ms for each of them, however many lines there are. `-n 20` and `-f` never read more than the end;
# `--since` reads what was written since, and the thousand lines before; `why NAME`
# to a thousand lines before the call.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${PINFOLD:-}" ]; then
  PINFOLD=$(cd "$here/.." && cargo build --release -p pinfold-cli --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/pinfold\)".*/\1/p')
fi
bed=$(mktemp -d "${TMPDIR:-/tmp}/pinfold-log.XXXXXX")
trap 'rm -rf "$bed"' EXIT
python3 - "$PINFOLD" "$bed" "${LINES:-1000000}" <<'P'
import datetime, json, os, statistics, subprocess, sys, time

pinfold, bed, lines = sys.argv[1], sys.argv[2], int(sys.argv[3])
record = os.path.join(bed, "record/pinfold/record")
os.makedirs(record, mode=0o700)
now = datetime.datetime.now(datetime.timezone.utc)
hash_ = "0" * 64
# One line each tenth of a second up to now: `--since 10s` is a hundred of them, `--since 10m` 6,000.
file, size, number = None, 0, 0
for n in range(lines):
    at = now - datetime.timedelta(seconds=(lines - n) / 10)
    line = json.dumps({"v": 2, "at": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "session": f"call-{n // 50:012d}", "id": n % 50,
        "principal": "main", "tool": "Edit", "kind": "decision", "decision": "allow", "step": "mode-default", "ruling": "permit",
        "reason": "the mode acceptEdits says so", "folder": "/home/ana/work/project", "mode": "acceptEdits",
        "input": {"file_path": "/home/ana/work/project/src/lib.rs", "old_string": "fn before() -> u32 {", "new_string": "fn after() -> u64 {"},
        "machine": "0a", "seq": n + 1, "prev": hash_}, separators=(",", ":")) + "\n"
    if file is None or size > 16 << 20:
        if file: file.close()
        number, size = number + 1, 0
        file = open(os.path.join(record, f"record-{number:06d}.jsonl"), "w")
    size += file.write(line)
file.close()
os.rename(os.path.join(record, f"record-{number:06d}.jsonl"), os.path.join(record, "record.jsonl"))

env = {"HOME": bed, "XDG_STATE_HOME": os.path.join(bed, "record"), "PATH": "/usr/bin:/bin"}
def first_line(args):
    begun = time.perf_counter()
    child = subprocess.Popen([pinfold, "log", *args], env=env, cwd=bed, stdout=subprocess.PIPE)
    child.stdout.readline()
    took = time.perf_counter() - begun
    child.kill(); child.wait(); child.stdout.close()
    return took
def whole(args):
    begun = time.perf_counter()
    subprocess.run([pinfold, "log", *args], env=env, cwd=bed, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun
def why(args):
    begun = time.perf_counter()
    # Its exit code is the decision.
    subprocess.run([pinfold, "why", *args], env=env, cwd=bed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun

print(f"{lines} lines in {number} files; ms, median and worst of 9")
worst = 0
for name, measure, args in [
    ("log -n 20", whole, ["-n", "20"]),
    ("log --since 10s", whole, ["--since", "10s"]),
    ("log --since 10m", whole, ["--since", "10m"]),
    ("log -f, to its first line", first_line, ["-f"]),
    ("log stats --since 10m", whole, ["stats", "--since", "10m"]),
    ("why NAME, near the end", why, [f"call-{(lines - 1) // 50:012d}:{(lines - 1) % 50}"]),
]:
    times = sorted(1e3 * measure(args) for _ in range(9))
    worst = max(worst, statistics.median(times))
    print(f"  {name:<28} {statistics.median(times):7.1f} {times[-1]:7.1f}")
sys.exit(0 if worst <= 50 else 1)
P
