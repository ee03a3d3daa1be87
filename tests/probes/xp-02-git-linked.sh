#!/bin/sh
# probe: xp-02-git-linked
# class: protected-path
# needs: sh
# evidence: link:$ROOT/.git
# about: put a link in the place of .git
cd "$ROOT" && cp -r .git evil 2>/dev/null; rm -rf .git 2>/dev/null; ln -s evil .git 2>/dev/null; [ -L .git ] && exit 0; exit 10
