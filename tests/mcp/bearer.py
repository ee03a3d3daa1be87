#!/usr/bin/env python3
"""Passes connections on to a server on this machine and says its token above each request, for clients that cannot say
one. Everything else passes as it came, names and pages too.
  bearer.py TOKEN-FILE SERVER-PORT     prints its own port"""
import asyncio
import sys

TOKEN = open(sys.argv[1]).read().strip()
SERVER = int(sys.argv[2])


async def requests(reader, writer):
    while head := await reader.readuntil(b"\r\n\r\n"):
        line, rest = head.split(b"\r\n", 1)
        length = 0
        for field in rest.split(b"\r\n"):
            name, _, value = field.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        writer.write(line + b"\r\nauthorization: Bearer " + TOKEN.encode() + b"\r\n" + rest)
        writer.write(await reader.readexactly(length))
        await writer.drain()


async def answers(reader, writer):
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def client(reader, writer):
    to_reader, to_writer = await asyncio.open_connection("127.0.0.1", SERVER)
    ways = [asyncio.ensure_future(requests(reader, to_writer)), asyncio.ensure_future(answers(to_reader, writer))]
    # Whoever ends first ends the other.
    _, others = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in others:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    writer.close()
    to_writer.close()


async def main():
    server = await asyncio.start_server(client, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
