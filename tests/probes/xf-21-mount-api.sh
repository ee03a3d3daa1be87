#!/bin/sh
# probe: xf-21-mount-api
# class: surface
# needs: python3
# evidence: exit
# about: fsopen(2), and open_tree(2) and open_tree_attr(2) with OPEN_TREE_CLONE
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
def call(*a):
    r = libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    return r
calls = [(430, b"tmpfs", 0), (428, -100, evid.encode(), 1), (467, -100, evid.encode(), 1, 0, 0)]
sys.exit(0 if any(call(*c) >= 0 for c in calls) else 10)
P
