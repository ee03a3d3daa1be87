"""A server under development: echoes what it hears, and ends its side when the other has ended its own."""
import os
import socket
import sys
import threading

host, port = sys.argv[1], int(sys.argv[2])


def serve(stream):
    with stream:
        said = 0
        while data := stream.recv(65536):
            stream.sendall(data)
            said += len(data)
        stream.sendall(b"|%d" % said)


family = socket.AF_INET6 if ":" in host else socket.AF_INET
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if family == socket.AF_INET6:
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
listener.bind((host, port))
listener.listen(64)
print("ready", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
