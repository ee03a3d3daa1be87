#!/bin/sh
# probe: xs-10-dgram-pair
# class: sockets
# needs: python3
# evidence: file:$EVID/ev-xs-10-dgram-pair
# about: a datagram from one end of a socketpair, which needs no socket(2), to a socket of the host
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket, time
socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto((token + ":xs-10-dgram-pair").encode(), os.environ["DGRAM_SOCK"]); time.sleep(0.2)
P
