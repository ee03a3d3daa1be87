#!/bin/sh
# probe: xs-02-dgram-link
# class: sockets
# needs: python3
# evidence: file:$EVID/ev-xs-02-dgram-link
# about: a datagram to a socket of the host through a link in ROOT
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket, time
os.symlink(os.environ["DGRAM_SOCK"], f"{root}/d")
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto((token + ":xs-02-dgram-link").encode(), f"{root}/d"); time.sleep(0.2)
P
