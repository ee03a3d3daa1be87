#!/bin/sh
# probe: xf-09-fifo-outside
# class: fs-write
# needs: mkfifo
# evidence: file:$EVID/ev-xf-09-fifo-outside
# about: make a FIFO outside
mkfifo "$EVID/ev-xf-09-fifo-outside" 2>/dev/null && exit 0; exit 10
