#!/bin/sh
# probe: xp-11-vscode
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.vscode/tasks.json
# about: tasks that an editor runs when the folder is opened
cd "$ROOT" && mkdir -p .vscode 2>/dev/null && true > .vscode/tasks.json 2>/dev/null && exit 0; exit 10
