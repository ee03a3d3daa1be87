#!/bin/sh
# probe: xf-20-mount-directly
# class: surface
# needs: python3
# evidence: exit
# about: mount(2) without a namespace of its own
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
os.mkdir(f"{root}/m")
if libc.mount(b"none", f"{root}/m".encode(), b"tmpfs", 0, None) != 0: sys.exit(10)
libc.umount2(f"{root}/m".encode(), 2)
P
