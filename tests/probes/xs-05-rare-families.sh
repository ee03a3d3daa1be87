#!/bin/sh
# probe: xs-05-rare-families
# class: network-surface
# needs: python3
# evidence: exit
# about: socket families that no build needs: vsock, bluetooth, tipc, can, nfc, qipcrtr, smc, xdp, packet, kcm
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket
for family, kind in ((40, 1), (31, 3), (30, 1), (29, 3), (39, 1), (42, 2), (43, 1), (44, 3), (17, 3), (41, 5), (38, 5), (21, 5), (5, 2), (9, 5), (3, 5)):
    try: socket.socket(family, kind); sys.exit(0)
    except OSError: pass
sys.exit(10)
P
