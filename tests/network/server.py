"""Servers outside, each on a port of its own. What reaches them is written down, a line each.

    server.py CERTIFICATE KEY HITS

prints the ports as JSON and serves until standard input ends.
"""
import asyncio
import base64
import hashlib
import json
import os
import resource
import socket
import ssl
import sys

CERTIFICATE, KEY, HITS = sys.argv[1:4]
log = open(HITS, "a", buffering=1)
limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def hit(kind, what):
    log.write(f"{kind} {what}\n")


async def head(reader):
    text = await reader.readuntil(b"\r\n\r\n")
    first, *lines = text.decode("latin1").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines if ": " in line)
    fields = {name.lower(): value for name, value in pairs}
    return first.split(" "), fields


async def websocket(reader, writer, key):
    accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    writer.write(f"{answer}Sec-WebSocket-Accept: {base64.b64encode(accept).decode()}\r\n\r\n".encode())
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()


async def http(kind, reader, writer):
    try:
        while True:
            (method, path, *_), fields = await head(reader)
            hit(kind, f"{fields.get('host')} {path}")
            if fields.get("upgrade") == "h2c":
                # As a server does that speaks HTTP/2 without TLS: whatever comes now names hosts of its own.
                writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
                hit(kind, "smuggled " + (await reader.read(4096)).decode("latin1"))
                return
            if fields.get("upgrade") == "websocket":
                return await websocket(reader, writer, fields["sec-websocket-key"])
            body = b"hello from outside\n"
            status, more = "200 OK", ""
            if path == "/redirect":
                status, more = "302 Found", "Location: http://169.254.169.254/latest/meta-data/\r\n"
            if path == "/elsewhere":
                status, more = "302 Found", f"Location: http://other.test:{PORTS['http']}/stolen\r\n"
            if path.startswith("/git/"):
                try:
                    with open(os.path.join(os.path.dirname(HITS), path[1:].split("?")[0]), "rb") as file:
                        body = file.read()
                except OSError:
                    status, body = "404 Not Found", b""
            if path == "/large":
                body = b"x" * (8 << 20)
            writer.write(f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
            if fields.get("connection", "").lower() == "close":
                return
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
        pass
    finally:
        writer.close()


async def banner(reader, writer):
    """Speaks first, as ssh and mail do, then echoes, and ends its side when the other has ended its own."""
    try:
        writer.write(b"SSH-2.0-outside\r\n")
        while data := await reader.read(65536):
            hit("banner", data[:200].decode("latin1").strip())
            writer.write(data)
            await writer.drain()
        writer.write(b"bye\r\n")
        await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


class Datagrams(asyncio.DatagramProtocol):
    def datagram_received(self, data, _):
        hit("udp", data[:200].decode("latin1"))


def streams(handler, **more):
    return asyncio.start_server(handler, "127.0.0.1", 0, backlog=4096, **more)


async def main():
    global PORTS
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(CERTIFICATE, KEY)
    listening = {
        "http": await streams(lambda r, w: http("http", r, w)),
        "https": await streams(lambda r, w: http("https", r, w), ssl=tls),
        "banner": await streams(banner),
    }
    PORTS = {name: server.sockets[0].getsockname()[1] for name, server in listening.items()}
    # The same at a second address of this machine, which no rule names.
    for name, port in list(PORTS.items()):
        handler = {"http": lambda r, w: http("http", r, w), "https": lambda r, w: http("https", r, w), "banner": banner}
        more = {"ssl": tls} if name == "https" else {}
        await asyncio.start_server(handler[name], "127.0.0.2", port, **more)
        if socket.has_ipv6:
            try:
                await asyncio.start_server(handler[name], "::1", port, **more)
            except OSError:
                pass
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Datagrams, local_addr=("127.0.0.2", PORTS["banner"]))
    abstract = f"\0pinfold-outside-{os.getpid()}"
    await asyncio.start_unix_server(banner, abstract)
    print(json.dumps(PORTS | {"abstract": abstract[1:]}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())
