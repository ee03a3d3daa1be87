#!/bin/bash
# pinfold beside what it is measured against, in one go, interleaved, as an ordinary user: `benches/compare.sh`.
#
#   ROUNDS=200 benches/compare.sh          start-up rounds (heavier parts use fewer)
#   PINFOLD=path benches/compare.sh        a binary that is there already (else: cargo build --release)
#   ONLY='start memory' benches/compare.sh parts: start memory compile files check hook
#
# Needs cc and python3; bubblewrap is left out, and said so, when it is missing. As root everything is run as user
# BENCH_UID (60001). What the columns mean: benches/README.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-200}
parts=${ONLY:-start memory compile files check hook}

if [ -z "${PINFOLD:-}" ]; then
  PINFOLD=$(cd "$here/.." && cargo build --release -p pinfold-cli --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/pinfold\)".*/\1/p')
fi

bed=$(mktemp -d "${TMPDIR:-/tmp}/pinfold-bench.XXXXXX")
trap 'rm -rf "$bed"' EXIT
chmod 755 "$bed"
mkdir -p "$bed/folder" "$bed/outside" "$bed/home"
cp "$PINFOLD" "$bed/pinfold"
for program in minimal rounds; do cc -O2 -static -o "$bed/$program" "$here/$program.c"; done
# In the folder: the rest of a temporary place is covered inside.
printf 'int main(void) { return 0; }\n' | cc -O2 -static -x c -o "$bed/folder/true" -
as=()
if [ "$(id -u)" = 0 ]; then
  uid=${BENCH_UID:-60001}
  as=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups --)
  chown -R "$uid:$uid" "$bed/folder" "$bed/outside" "$bed/home"
fi
cd "$bed/folder"
# A plain place to work in: no cache, no configuration of the person at the keyboard.
run() { "${as[@]}" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$bed/home" LANG=C.UTF-8 ${LOUD:+LOUD=1} "$@"; }

full=("$bed/pinfold" run --)
light=("$bed/pinfold" run --landlock-only --allow-degraded --)
bubblewrap=()
if command -v bwrap >/dev/null; then
  bubblewrap=(bwrap --unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run
    --bind "$bed/folder" "$bed/folder" --chdir "$bed/folder" --)
  run "${bubblewrap[@]}" "$BASH" -c : 2>/dev/null || { bubblewrap=(); echo "bubblewrap cannot run here: left out"; }
else
  echo "bubblewrap is not installed: left out"
fi

table() { python3 "$here/table.py" "$@"; }

start() {
  echo; echo "start to end of a program that does nothing ($rounds rounds, interleaved)"
  local extra=()
  [ ${#bubblewrap[@]} -eq 0 ] || extra=(--next bubblewrap "${bubblewrap[@]}" "$bed/folder/true")
  run "$bed/rounds" "$rounds" bare "$bed/folder/true" --next minimal "$bed/minimal" full "$bed/folder/true" --next pinfold "${full[@]}" "$bed/folder/true" \
    --next minimal-landlock "$bed/minimal" light "$bed/folder/true" --next pinfold-landlock "${light[@]}" "$bed/folder/true" "${extra[@]}" |
    table minimal minimal-landlock bubblewrap
}

# What stays in memory while a command runs: the supervisor, and the processes of ours inside.
memory() {
  echo; echo "memory while a command runs (KiB: resident now, resident at most, of that private)"
  local tier
  for tier in full light; do
    local -n command=$tier
    run "${command[@]}" sleep 3 2>/dev/null &
    local waiter=$!
    sleep 1
    python3 - "$bed/pinfold" "$tier" <<'P'
import os, sys
binary, tier = sys.argv[1:]
def status(pid):
    return dict(l.split(":", 1) for l in open(f"/proc/{pid}/status").read().splitlines() if ":" in l)
ours = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if os.path.samefile(f"/proc/{pid}/exe", binary): ours.append((int(pid), status(pid)))
    except OSError: pass
kib = lambda s, key: int(s.get(key, "0 kB").split()[0])
if not ours: sys.exit("no process of pinfold found: it has ended")
for index, (pid, s) in enumerate(sorted(ours)):
    role = "supervisor" if index == 0 else "first process inside"
    print(f"{tier:8}{role:24}{kib(s, 'VmRSS'):8}{kib(s, 'VmHWM'):8}{kib(s, 'RssAnon'):8}")
P
    wait "$waiter" || true
  done
}

compile() {
  local n=${COMPILE_ROUNDS:-5}
  echo; echo "compiling 24 C files with make, clean each time ($n rounds, interleaved)"
  python3 - "$bed/folder/project" <<'P'
import os, sys
at = sys.argv[1]; os.makedirs(at)
for i in range(24):
    with open(f"{at}/part{i}.c", "w") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n")
        for j in range(60):
            f.write(f"double work_{i}_{j}(double x, int n) {{ double s = x; for (int k = 0; k < n; k++) {{ s += sqrt(s * k + {j}); if (s > 1e6) s = fmod(s, {j + 2}); }} return s; }}\n")
with open(f"{at}/main.c", "w") as f: f.write("int main(void) { return 0; }\n")
with open(f"{at}/Makefile", "w") as f:
    f.write("OBJECTS = main.o " + " ".join(f"part{i}.o" for i in range(24)) + "\nall: program\nprogram: $(OBJECTS)\n\t$(CC) -o $@ $^ -lm\n%.o: %.c\n\t$(CC) -O1 -c -o $@ $<\nclean:\n\trm -f program *.o\n")
P
  [ ${#as[@]} -eq 0 ] || chown -R "$uid:$uid" "$bed/folder/project"
  local job=(sh -c 'make -C project -s clean && make -C project -s')
  run "$bed/rounds" "$n" outside "${job[@]}" --next pinfold "${full[@]}" "${job[@]}" --next pinfold-landlock "${light[@]}" "${job[@]}" |
    table outside
}

files() {
  local n=${FILES_ROUNDS:-5}
  echo; echo "5000 small files: unpacked, copied, removed ($n rounds, interleaved)"
  run python3 - "$bed/folder" <<'P'
import os, sys, tarfile, io
with tarfile.open(f"{sys.argv[1]}/small.tar", "w") as tar:
    for i in range(5000):
        text = f"file {i}\n".encode() * 20
        entry = tarfile.TarInfo(f"small/{i % 50}/{i}.txt"); entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text))
P
  local job=(sh -c 'tar xf small.tar && cp -r small copy && rm -rf small copy')
  # A rule that could let something through outside: what lies there is held and decided about.
  local home=$bed/home-asking
  mkdir -p "$home/.config/pinfold" && echo '{"permissions": {"allow": ["Edit(//srv/none/**)"]}}' >"$home/.config/pinfold/settings.json"
  [ ${#as[@]} -eq 0 ] || chown -R "$uid:$uid" "$home"
  local asking=(env "HOME=$home" "${full[@]}")
  run "$bed/rounds" "$n" outside "${job[@]}" --next pinfold "${full[@]}" "${job[@]}" --next pinfold-asking "${asking[@]}" "${job[@]}" \
    --next pinfold-landlock "${light[@]}" "${job[@]}" | table outside
}

# Verdicts: how many lines a core answers in a second, and what one call costs from start to end.
check() {
  local n=${CHECK_LINES:-200000}
  echo; echo "pinfold check --no-settings on a stream ($n lines of each kind; processor time of user and system)"
  python3 - "$bed/folder" "$n" <<'P'
import json, sys
at, n = sys.argv[1], int(sys.argv[2])
commands = ["git push origin main", "npm run build && npm test", "ls -la src | wc -l", "cargo test --workspace", "git status"]
place = {"cwd": "/home/u/proj", "project_root": "/home/u/proj", "home": "/home/u", "mode": "default"}
rules = {"allow": ["Bash(npm *)", "Bash(git status)"] + [f"Bash(tool{i} *)" for i in range(1000)], "deny": ["Bash(curl *)"]}
kinds = {
    "command": lambda i: {"tool": "Bash", "input": {"command": commands[i % 5]}},
    "command-setup": lambda i: {"tool": "Bash", "input": {"command": commands[i % 5]}, **place},
    "command-1000": lambda i: {"tool": "Bash", "input": {"command": commands[i % 5]}, **place, "rules": rules},
    "file": lambda i: {"tool": "Edit" if i % 2 else "Read", "input": {"file_path": f"src/a{i % 50}.rs"}},
    "file-imagined": lambda i: {"tool": "Edit" if i % 2 else "Read", "input": {"file_path": f"src/a{i % 50}.rs"}, **place},
}
for kind, line in kinds.items():
    # Lines with a thousand rules are long: fewer of them say as much.
    count = n // 20 if kind == "command-1000" else n
    with open(f"{at}/{kind}.jsonl", "w") as f:
        for i in range(count): f.write(json.dumps({"id": i, **line(i)}) + "\n")
P
  run python3 - "$bed/pinfold" "$bed/folder" <<'P'
import os, resource, subprocess, sys
binary, at = sys.argv[1:]
for kind in ["command", "command-setup", "command-1000", "file", "file-imagined"]:
    with open(f"{at}/{kind}.jsonl", "rb") as lines: count = sum(1 for _ in lines)
    best = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(f"{at}/{kind}.jsonl", "rb") as lines:
            subprocess.run([binary, "check", "--no-settings"], stdin=lines, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = used if best is None else min(best, used)
    print(f"{kind:16}{count / best:12,.0f} lines/s{best / count * 1e6:8.2f} us a line")
P
  echo; echo "one call from start to end ($rounds rounds, interleaved)"
  run "$bed/rounds" "$rounds" bare "$bed/folder/true" --next check "$bed/pinfold" check --no-settings --permission-mode bypassPermissions Bash '{"command":"ls"}' |
    table bare
}

# A call that an agent asks its hook about, from the start of the process to its end: what each call of the agent waits for. All of them
# are started as agents do it, by a shell.
hook() {
  echo; echo "one call of an agent, asked about through its hook ($rounds rounds, interleaved)"
  # The least that answers: reads all, says yes.
  printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { char text[65536]; while (read(0, text, sizeof text) > 0); puts("{}"); return 0; }\n' |
    cc -O2 -static -x c -o "$bed/folder/yes" -
  local call='{"session_id":"s","cwd":"'$bed/folder'","hook_event_name":"PreToolUse","tool_use_id":"t","tool_name":'
  echo "$call"'"Bash","tool_input":{"command":"git status && npm run build","description":"d"}}' >"$bed/command.json"
  echo "$call"'"Write","tool_input":{"file_path":"'$bed/folder'/new.txt","content":"x"}}' >"$bed/write.json"
  local asked="CLAUDE_PROJECT_DIR=$bed/folder exec $bed/pinfold hook claude"
  # A quick refusal is no answer.
  for one in command write; do
    run sh -c "$asked <$bed/$one.json" | grep -q permissionDecision || { echo "the hook does not judge" >&2; exit 1; }
  done
  run "$bed/rounds" "$rounds" minimal-hook sh -c "exec $bed/folder/yes <$bed/command.json" \
    --next hook-write sh -c "$asked <$bed/write.json" --next hook-command sh -c "$asked <$bed/command.json" \
    --next hook-no-record sh -c "$asked --no-record <$bed/command.json" | table minimal-hook
}

echo "$(uname -sr), $(nproc) processors, user $("${as[@]}" id -u), load $(cut -d' ' -f1 /proc/loadavg), binary $(stat -c %s "$bed/pinfold") bytes"
for part in $parts; do
  case $part in
    start | memory | compile | files | check | hook) "$part" ;;
    *) echo "no such part: $part" >&2; exit 2 ;;
  esac
done
