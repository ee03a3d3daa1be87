#!/bin/sh
# probe: xp-08-commondir
# class: protected-path
# needs: sh
# evidence: grepf:$ROOT/.git/commondir:evil
# about: send git to another common directory
cd "$ROOT" && mkdir -p evil && echo ../evil > .git/commondir 2>/dev/null && exit 0; exit 10
