#!/bin/sh
# probe: xp-03-hook
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.git/hooks/post-checkout
# about: plant a hook
cd "$ROOT" && true > .git/hooks/post-checkout 2>/dev/null && exit 0; exit 10
