#!/bin/sh
# probe: xf-02-move-in
# class: fs-write
# needs: sh
# evidence: gone:$EVID/movein.txt
# about: move an outside file into ROOT
mv "$EVID/movein.txt" "$ROOT/taken" 2>/dev/null; [ -e "$EVID/movein.txt" ] && exit 10; exit 0
