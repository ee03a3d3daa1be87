#!/bin/sh
# probe: xp-05-hook-hard-link
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.git/hooks/post-merge
# about: link a script into the hooks
cd "$ROOT" && true > script && ln script .git/hooks/post-merge 2>/dev/null && exit 0; exit 10
