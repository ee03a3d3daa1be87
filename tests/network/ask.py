"""Asks hosts for something, one after the other: `HOST[:NUMBER]`, the number being how often and at one time."""
import threading
from inside import *

socket.setdefaulttimeout(90)


def once(host, say):
    try:
        said = ask(tcp(host, HTTP, 90), f"{host}:{HTTP}", f"/{NAME}")
        say(said.split(b"\r\n")[0].decode() + " " + said.split(b"\r\n\r\n")[-1].decode().strip() if said else "closed")
    except OSError as error:
        say(type(error).__name__)


for wanted in sys.argv[2:]:
    host, _, number = wanted.partition(":")
    said = []
    threads = [threading.Thread(target=once, args=(host, said.append)) for _ in range(int(number or 1))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for words, times in sorted({words: said.count(words) for words in said}.items()):
        print(f"{host}: {times} x {words}", flush=True)
