#!/bin/sh
# probe: xp-01-git-replaced
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.git/hooks/pre-commit
# about: move .git away and put one with a hook in its place
cd "$ROOT" && mv .git .old 2>/dev/null && mkdir -p .git/hooks && true > .git/hooks/pre-commit && exit 0; exit 10
