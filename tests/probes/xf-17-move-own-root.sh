#!/bin/sh
# probe: xf-17-move-own-root
# class: fs-write
# needs: sh
# evidence: file:$ROOT-moved
# about: rename the granted folder itself
mv "$ROOT" "$ROOT-moved" 2>/dev/null && exit 0; exit 10
