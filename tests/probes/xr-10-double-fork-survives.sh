#!/bin/sh
# probe: xr-10-double-fork-survives
# class: lifetime
# needs: python3
# evidence: file:$ROOT/survived-xr-10-double-fork-survives
# settle: 1.8
# about: a daemon with its own session, ignoring every signal it can, outlives the command
python3 - <<'P'
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in range(1, 65):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        for f in (0, 1, 2): os.close(f)
        time.sleep(0.8); open(os.environ["ROOT"] + "/survived-xr-10-double-fork-survives", "w").close()
    os._exit(0)
os.wait()
P
exit 0
