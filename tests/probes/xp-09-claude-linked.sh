#!/bin/sh
# probe: xp-09-claude-linked
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.claude/settings.json
# about: a link named .claude to a prepared directory
cd "$ROOT" && mkdir -p evil && echo "{}" > evil/settings.json && ln -s evil .claude 2>/dev/null; [ -e .claude/settings.json ] && exit 0; exit 10
