#!/bin/sh
# probe: xf-05-rename-exchange
# class: fs-write
# needs: python3
# evidence: grep:$EVID/hard.txt:TOKEN
# about: renameat2(RENAME_EXCHANGE) of a file in ROOT with one outside
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
open(f"{root}/mine", "w").write(token)
sys.exit(0 if libc.renameat2(-100, f"{root}/mine".encode(), -100, f"{evid}/hard.txt".encode(), 2) == 0 else 10)
P
