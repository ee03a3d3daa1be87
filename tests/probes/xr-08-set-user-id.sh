#!/bin/sh
# probe: xr-08-set-user-id
# class: process
# needs: sh
# evidence: file:$EVID/ev-xr-08-set-user-id
# about: a set-user-id helper of the host
[ -n "$SUID_HELPER" ] || exit 77; [ "$(id -u)" != 0 ] || exit 77; "$SUID_HELPER" "$EVID/ev-xr-08-set-user-id" 2>/dev/null && exit 0; exit 10
