#!/bin/sh
# probe: xf-18-host-tmp
# class: fs-write
# needs: sh
# evidence: file:$T/ev-planted
# about: write beside the granted folder, in the temporary directory of the host
true > "$T/ev-planted" 2>/dev/null && exit 0; exit 10
