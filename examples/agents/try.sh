#!/bin/sh
# Runs an example in a workspace of its own, and takes everything away again.
#
#   examples/agents/try.sh test-perm | adapters | nginx | tenants | all
#
# No model is needed: each has a script in its place. PINFOLD names the program, where it is neither on the path nor built
# here.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
pinfold=${PINFOLD:-$(command -v pinfold || ls -t "$here"/../../target/*/release/pinfold 2> /dev/null | head -n 1)}
test -n "$pinfold" || { echo 'pinfold is neither on the path nor built here: cargo build --release' >&2; exit 1; }
home=$HOME

# Below home, since a run has a /tmp of its own.
place=$(mktemp -d "$HOME/pinfold-example.XXXXXX")
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM

# Nothing of your own settings, records or runs is touched.
mkdir -p "$place/home/.config/pinfold" "$place/work"
export HOME="$place/home" XDG_CONFIG_HOME="$place/home/.config" XDG_STATE_HOME="$place/home/.local/state"
unset XDG_RUNTIME_DIR
cd "$place/work"

agent() { "$pinfold" agent run "$@"; }

# A definition with a list: four commands, four outcomes.
test_perm() {
    git init --quiet . && echo one > a.txt && git add a.txt
    for command in 'git diff --stat' 'git diff && git status' 'git stash list' 'git diff && rm -rf /tmp/dummy'; do
        agent --agents "$here/test-perm/agents" --type test-perm --allow-bash \
            --script "$here/test-perm/script.jsonl" --prompt "Run bash: $command"
    done
}

# An agent below another one writes in its folder, and defers the rest to the one that started it.
adapters() {
    mkdir -p packages/adapters/src packages/core/src/ports
    printf 'export interface FileSystem {\n  read(path: string): string\n}\n' > packages/core/src/ports/FileSystem.ts
    echo 'Adapters implement the ports of packages/core.' > packages/adapters/SCOPE.md
    agent --allowed-tools Agent --script "$here/adapters/script.jsonl" --prompt 'Add stat to the file system'
    "$pinfold" agent tree
}

# A write outside the folder: refused where nobody can be asked, done on a yes, and not asked about twice.
nginx() {
    conf="$place/etc/nginx/nginx.conf"
    mkdir -p "${conf%/*}" && echo 'worker_processes 1;' > "$conf"
    echo '--- nobody can be asked'
    agent --ask none --script "$here/nginx/script.jsonl" --prompt "Set up $conf"
    cat "$conf"
    echo '--- a person says yes, at another terminal'
    echo '{"approvals": {"socket": true}}' > "$XDG_CONFIG_HOME/pinfold/settings.json"
    agent --script "$here/nginx/script.jsonl" --prompt "Set up $conf" < /dev/null &
    running=$!
    tries=0
    until "$pinfold" approve agent- --yes 2> /dev/null; do
        tries=$((tries + 1))
        test "$tries" -lt 200 || { echo 'nothing was asked' >&2; kill "$running"; exit 1; }
        sleep 0.1
    done
    wait "$running"
    cat "$conf"
}

# Two tenants on one machine: whatever agent B tries, it sees nothing of agent A's tree.
tenants() {
    export AGENT_A="$place/agent-a"
    mkdir -p "$AGENT_A" "$HOME/.ssh" "$XDG_CONFIG_HOME/pinfold/profiles"
    echo 'P-1017,a diagnosis' > "$AGENT_A/patients.csv"
    echo 'a key' > "$HOME/.ssh/id_ed25519"
    cp "$here/tenants/profiles/agent-b.yaml" "$XDG_CONFIG_HOME/pinfold/profiles/"
    echo 'call back on Monday' > notes.md
    ln -s "$AGENT_A" shortcut
    # What no look at the words can see is held by the kernel.
    printf 'd=agent\ncat "../$d-a/patients.csv"\n' > hidden.sh
    agent --profile agent-b --allow-bash --allowed-tools Agent --script "$here/tenants/script.jsonl" \
        --prompt "Look into $AGENT_A"
}

case ${1:-} in
    test-perm) test_perm ;;
    adapters | nginx | tenants) "$1" ;;
    all) export HOME="$home"; for one in test-perm adapters nginx tenants; do echo "=== $one" && sh "$here/try.sh" "$one"; done ;;
    *) sed -n '2,7p' "$here/try.sh" >&2 && exit 2 ;;
esac
