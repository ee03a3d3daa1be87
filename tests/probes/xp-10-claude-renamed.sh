#!/bin/sh
# probe: xp-10-claude-renamed
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.claude/settings.json
# about: a prepared directory renamed to .claude
cd "$ROOT" && mkdir -p evil && echo "{}" > evil/settings.json && mv -T evil .claude 2>/dev/null; [ -e .claude/settings.json ] && exit 0; exit 10
