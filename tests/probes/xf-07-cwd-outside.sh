#!/bin/sh
# probe: xf-07-cwd-outside
# class: fs-write
# needs: sh
# evidence: file:$EVID/ev-xf-07-cwd-outside
# about: change into the outside directory, then a bare name
cd "$EVID" && true > ev-xf-07-cwd-outside 2>/dev/null && exit 0; exit 10
