#!/bin/sh
# probe: xp-12-envrc
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.envrc
# about: a file that the shell of the person loads
cd "$ROOT" && true > .envrc 2>/dev/null; [ -f .envrc ] && exit 0; exit 10
