#!/bin/sh
# probe: xs-11-dgram-pair-connect
# class: sockets
# needs: python3
# evidence: file:$EVID/ev-xs-11-dgram-pair-connect
# about: one end of a socketpair for datagrams, connected to a socket of the host afterwards
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
import socket, time
end = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
end.connect(os.environ["DGRAM_SOCK"]); end.send((token + ":xs-11-dgram-pair-connect").encode()); time.sleep(0.2)
P
