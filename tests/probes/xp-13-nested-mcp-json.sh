#!/bin/sh
# probe: xp-13-nested-mcp-json
# class: protected-path
# needs: sh
# evidence: file:$ROOT/sub/.mcp.json
# about: an .mcp.json in a folder below
cd "$ROOT" && mkdir -p sub && true > sub/.mcp.json 2>/dev/null && exit 0; exit 10
