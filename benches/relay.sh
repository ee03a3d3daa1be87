#!/bin/bash
# The relay beside other ways through, over loopback: throughput, latency, memory with many connections.
#
#   ROUNDS=5 benches/relay.sh              rounds, interleaved
#   PINFOLD=path benches/relay.sh          a binary that is there already (else: cargo build --release)
#   ONLY='throughput latency' benches/relay.sh   parts: throughput latency many start
#
# Needs cc, python3 and setpriv; haproxy and tinyproxy are left out, and said so, when they are missing. As root
# everything is run as user BENCH_UID (60001). What the rows mean: benches/README.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rounds=${ROUNDS:-5}
parts=${ONLY:-throughput latency many start}
mebibytes=${MEBIBYTES:-1024}
words=${WORDS:-10000}
connections=${CONNECTIONS:-5000}
kinds=${KINDS:-hold hello rest part}

if [ -z "${PINFOLD:-}" ]; then
  PINFOLD=$(cd "$here/.." && cargo build --release -p pinfold-cli --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/pinfold\)".*/\1/p')
fi

bed=$(mktemp -d "${TMPDIR:-/tmp}/pinfold-bench.XXXXXX")
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; rm -rf "$bed"' EXIT
chmod 755 "$bed"
mkdir -p "$bed/folder" "$bed/home/.config/pinfold"
cp "$PINFOLD" "$bed/pinfold"
cc -O2 -pthread -o "$bed/folder/traffic" "$here/traffic.c"
cc -O2 -static -o "$bed/rounds" "$here/rounds.c"
printf 'int main(void) { return 0; }\n' | cc -O2 -static -x c -o "$bed/folder/true" -

read -r port splice proxy tunnel < <(python3 - <<'P'
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(4)]
print(*(one.getsockname()[1] for one in held))
P
)
cat >"$bed/home/.config/pinfold/settings.json" <<S
{"network": {"hosts": {"bench.test": ["127.0.0.1"]}, "allow": ["127.0.0.1:$port"]}}
S
cat >"$bed/haproxy.cfg" <<S
global
  maxconn 6000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen relay
  bind 127.0.0.1:$proxy
  maxconn 6000
  option splice-auto
  option splice-request
  option splice-response
  server host 127.0.0.1:$port
S
cat >"$bed/tinyproxy.conf" <<S
Port $tunnel
Listen 127.0.0.1
Timeout 3600
MaxClients 6000
Allow 127.0.0.1
ConnectPort $port
LogLevel Critical
S
as=()
if [ "$(id -u)" = 0 ]; then
  uid=${BENCH_UID:-60001}
  as=(setpriv "--reuid=$uid" "--regid=$uid" --clear-groups --)
  chown -R "$uid:$uid" "$bed/folder" "$bed/home"
fi
cd "$bed/folder"
plain=("${as[@]}" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$bed/home" LANG=C.UTF-8)
run() { "${plain[@]}" "$@"; }
serve() {
  "${plain[@]}" prlimit --nofile=20000 "$@" >/dev/null 2>&1 &
  servers+=($!)
}
inside=("$bed/pinfold" run --quiet --ask nobody --allow-host "bench.test:$port" --)
traffic=$bed/folder/traffic

serve "$traffic" serve "$port"
serve "$traffic" splice "$splice" "$port"
splice_pid=${servers[1]}
ways=(direct splice pinfold)
if command -v haproxy >/dev/null; then
  serve haproxy -f "$bed/haproxy.cfg" -db
  haproxy_pid=${servers[-1]} ways+=(haproxy)
else
  echo "haproxy is not installed: left out"
fi
if command -v tinyproxy >/dev/null; then
  serve tinyproxy -d -c "$bed/tinyproxy.conf"
  tinyproxy_pid=${servers[-1]} ways+=(tinyproxy)
else
  echo "tinyproxy is not installed: left out"
fi
sleep 1

# through WAY KIND TIMES
through() {
  case $1 in
    direct) run "$traffic" "$2" 127.0.0.1 "$port" "$3" ;;
    splice) run "$traffic" "$2" 127.0.0.1 "$splice" "$3" ;;
    haproxy) run "$traffic" "$2" 127.0.0.1 "$proxy" "$3" ;;
    tinyproxy) run VIA="$tunnel" "$traffic" "$2" 127.0.0.1 "$port" "$3" ;;
    pinfold) run "${inside[@]}" "$traffic" "$2" bench.test "$port" "$3" ;;
  esac
}

measured() {
  local kind=$1 times=$2 round way
  for ((round = 0; round < rounds; round++)); do
    for way in "${ways[@]}"; do echo "$way $(through "$way" "$kind" "$times")"; done
  done
}

# The median of each column, and how it stands to another row.
medians() {
  python3 -c '
import statistics, sys
against, how = sys.argv[1:]
rows = {}
for line in sys.stdin:
    way, *figures = line.split()
    rows.setdefault(way, []).append([float(figure) for figure in figures])
middle = {way: [statistics.median(column) for column in zip(*all)] for way, all in rows.items()}
for way, figures in middle.items():
    beside = figures[0] / middle[against][0] if how == "ratio" else figures[0] - middle[against][0]
    print(f"  {way:<12}", *(f"{figure:>10.1f}" for figure in figures), f"{beside:>10.2f}")' "$@"
}

throughput() {
  echo; echo "throughput of one connection, MiB/s; beside splice ($mebibytes MiB, $rounds rounds)"
  measured push "$mebibytes" | medians splice ratio
}

latency() {
  echo; echo "a word there and back, µs: median, 95th percentile; more than direct ($words words, $rounds rounds)"
  measured ping "$words" | medians direct difference
}

resident() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$1/status"; }

# What the relay of a way holds while so many connections of a kind are open.
held() {
  local way=$1 pid
  exec {hold}> >(through "$way" "$2" "$3" >"$bed/held" 2>&1)
  local holder=$!
  for _ in $(seq 600); do
    if grep -q held "$bed/held"; then break; fi
    sleep 0.1
  done
  case $way in
    # The first process inside has the same command line, and was started later.
    pinfold) pid=$(pgrep -o -f "^$bed/pinfold run") ;;
    splice) pid=$splice_pid ;;
    haproxy) pid=$haproxy_pid ;;
    tinyproxy) pid=$tinyproxy_pid ;;
  esac
  grep -q held "$bed/held" && awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$pid/status" || echo –
  exec {hold}>&-
  wait "$holder" 2>/dev/null || true
  # The next one is told apart by being the only one.
  while pgrep -f "^$bed/pinfold run" >/dev/null; do sleep 0.1; done
}

many() {
  echo; echo "resident memory of the relay, MiB, with one connection and with $connections: $kinds"
  local way kind
  for way in "${ways[@]}"; do
    # Two threads and four pipes for each: too many descriptors.
    [[ $way = direct || $way = splice ]] && continue
    printf '  %-12s %10s' "$way" "$(held "$way" hold 1)"
    for kind in $kinds; do printf ' %10s' "$(held "$way" "$kind" "$connections")"; done
    echo
  done
}

# What a relay costs a run that hardly uses it: with no hosts, with one, and where somebody can be asked about others.
start() {
  local n=${STARTS:-200} home=$bed/home-asking
  echo; echo "start to end of a program that does nothing ($n rounds, interleaved)"
  mkdir -p "$home/.config/pinfold" && echo '{"approvals": {"socket": true}}' >"$home/.config/pinfold/settings.json"
  [ ${#as[@]} -eq 0 ] || chown -R "$uid:$uid" "$home"
  run "$bed/rounds" "$n" off "$bed/pinfold" run --ask nobody -- "$bed/folder/true" --next hosts "${inside[@]}" "$bed/folder/true" \
    --next asking env "HOME=$home" "$bed/pinfold" run -- "$bed/folder/true" |
    python3 "$here/table.py" off
}

for part in $parts; do "$part"; done
