#!/bin/sh
# probe: xp-04-hooks-replaced
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.git/hooks/post-checkout
# about: move the hooks away and put others in their place
cd "$ROOT" && mv .git/hooks .git/away 2>/dev/null && mkdir .git/hooks && true > .git/hooks/post-checkout && exit 0; exit 10
