#!/bin/sh
# probe: xr-02-pid1-environment
# class: secrets
# needs: sh
# evidence: grep:$ROOT/stolen:OWN_SECRET
# about: a credential-named variable of the launcher in the environment of this process, of process 1 or of an ancestor
cat /proc/$$/environ /proc/1/environ /proc/$PPID/environ "/proc/$LAUNCHER_PID/environ" > "$ROOT/stolen" 2>/dev/null; pid=$PPID; for i in 1 2 3 4 5 6; do cat "/proc/$pid/environ" >> "$ROOT/stolen" 2>/dev/null; pid=$(sed -n "s/^PPid:[[:space:]]*//p" "/proc/$pid/status" 2>/dev/null); [ "${pid:-0}" -gt 0 ] || break; done; exit 0
