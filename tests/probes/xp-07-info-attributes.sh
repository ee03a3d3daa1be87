#!/bin/sh
# probe: xp-07-info-attributes
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.git/info/attributes
# about: filters by .git/info/attributes, in a repository that had no info
cd "$ROOT" && mkdir -p .git/info 2>/dev/null; echo "* filter=x" > .git/info/attributes 2>/dev/null && exit 0; exit 10
