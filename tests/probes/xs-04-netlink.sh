#!/bin/sh
# probe: xs-04-netlink
# class: network-surface
# needs: python3
# evidence: exit
# about: netlink families other than routing
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
for family in (4, 6, 9, 12, 15, 16, 20):
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, family); sys.exit(0)
    except OSError: pass
sys.exit(10)
P
