#!/bin/bash
# Runs the official conformance suite of the Model Context Protocol against `pinfold mcp serve --http`, and compares each
# scenario with what is expected of it (conformance.txt). Needs node, npm and python3, and the npm registry once.
#   tests/mcp/conformance.sh PINFOLD     a built binary
set -u
here=$(cd "$(dirname "$0")" && pwd)
suite=@modelcontextprotocol/conformance@0.2.0-alpha.12
pinfold=$(realpath "${1:?name a built binary}")
bed=$(mktemp -d) || exit 1
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$bed"' EXIT

node=${CONFORMANCE:-$bed/node}
if [ ! -x "$node/node_modules/.bin/conformance" ]; then
  mkdir -p "$node" && (cd "$node" && npm install --silent --no-audit --no-fund --ignore-scripts "$suite") || exit 1
fi

# run URL: what became of each scenario, as `REVISION SCENARIO passed|failed`.
run() {
  for revision in 2025-11-25 2026-07-28; do
    timeout 600 "$node/node_modules/.bin/conformance" server --url "$1" --requirements $revision -o "$bed/out" > "$bed/said" 2>&1
    sed 's/\x1b\[[0-9;]*m//g' "$bed/said" | awk -v revision=$revision '
      /=== SUMMARY ===/ { summary = 1 }
      summary && /^(✓|✗) [a-z]/ { sub(/:$/, "", $2); print revision, $2, ($1 == "✓" ? "passed" : "failed") }'
  done | sort -u
}

mkdir "$bed/home" "$bed/folder"
export HOME=$bed/home
cd "$bed/folder" || exit 1
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$bed/token"
chmod 600 "$bed/token"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
python3 "$here/bearer.py" "$bed/token" "$port" > "$bed/port" &
pids+=($!)
until [ -s "$bed/port" ]; do sleep 0.1; done
front=$(cat "$bed/port")
"$pinfold" mcp serve --http "$port" --token-file "$bed/token" --http-host "127.0.0.1:$front" --http-host "localhost:$front" \
  > "$bed/listens" 2> "$bed/told" &
pids+=($!)
until [ -s "$bed/listens" ]; do kill -0 ${pids[1]} || { cat "$bed/told"; exit 1; }; sleep 0.1; done
run "http://127.0.0.1:$front/mcp" > "$bed/found"
[ -s "$bed/found" ] || { cat "$bed/said"; exit 1; }
grep -v '^#' "$here/conformance.txt" | cut -d' ' -f1-3 | sort > "$bed/expected"
diff -u "$bed/expected" "$bed/found" &&
  echo "$(wc -l < "$bed/found") scenarios, $(grep -c passed "$bed/found") passed, all as expected"
