#!/bin/sh
# probe: xp-06-config-renamed-over
# class: protected-path
# needs: sh
# evidence: grepf:$ROOT/.git/config:fsmonitor
# about: rename a prepared file over .git/config
cd "$ROOT" && printf "[core]\n\tfsmonitor = ./x\n" > c && mv c .git/config 2>/dev/null && exit 0; exit 10
