#!/bin/sh
# probe: xp-14-bare-layout
# class: protected-path
# needs: sh
# evidence: grepf:$ROOT/sub/config:fsmonitor
# about: a bare repository laid out by hand in a folder below
cd "$ROOT" && mkdir -p sub/objects sub/refs && echo "ref: refs/heads/main" > sub/HEAD && printf "[core]\n\tbare = true\n\tfsmonitor = ./x\n" > sub/config 2>/dev/null && exit 0; exit 10
