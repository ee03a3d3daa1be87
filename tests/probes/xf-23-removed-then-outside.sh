#!/bin/sh
# probe: xf-23-removed-then-outside
# class: fs-magic
# needs: python3
# evidence: file:$EVID/ev-xf-23-removed-then-outside
# about: a directory in ROOT replaced by a link while a descriptor of it is used with ..
python3 - 2>/dev/null <<'P'; exit $?
import ctypes, os, sys
sys.excepthook = lambda *_: os._exit(10)
libc = ctypes.CDLL(None, use_errno=True)
evid, root, token = os.environ["EVID"], os.environ["ROOT"], os.environ["TOKEN"]
os.makedirs(f"{root}/a/b")
d = os.open(f"{root}/a/b", os.O_RDONLY)
os.rename(f"{root}/a", f"{root}/z"); os.symlink(evid, f"{root}/a")
for name in ("../../a/ev-xf-23-removed-then-outside", "../../../../outside/ev-xf-23-removed-then-outside"):
    try: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=d))
    except OSError: pass
sys.exit(0 if os.path.exists(f"{evid}/ev-xf-23-removed-then-outside") else 10)
P
