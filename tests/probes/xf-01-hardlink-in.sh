#!/bin/sh
# probe: xf-01-hardlink-in
# class: fs-write
# needs: sh
# evidence: grep:$EVID/hard.txt:TOKEN
# about: link an outside file into ROOT and write through the new name
cd "$ROOT" && ln "$EVID/hard.txt" inside 2>/dev/null && echo "$TOKEN" >> inside 2>/dev/null && exit 0; exit 10
