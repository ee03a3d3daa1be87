#!/bin/sh
# probe: xf-08-mkdir-outside
# class: fs-write
# needs: sh
# evidence: file:$EVID/ev-xf-08-mkdir-outside
# about: make a directory outside
mkdir "$EVID/ev-xf-08-mkdir-outside" 2>/dev/null && exit 0; exit 10
