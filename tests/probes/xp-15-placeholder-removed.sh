#!/bin/sh
# probe: xp-15-placeholder-removed
# class: protected-path
# needs: sh
# evidence: file:$ROOT/.mcp.json
# about: take away what stands in the place of a protected name, or rename over it
cd "$ROOT" && { rmdir .mcp.json; rm -rf .mcp.json; true > m && mv -T m .mcp.json; } 2>/dev/null; [ -f .mcp.json ] && exit 0; exit 10
