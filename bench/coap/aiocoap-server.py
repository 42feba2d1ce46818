"""A simple server on aiocoap: answers every POST or PUT with 2.04 at once.

usage: aiocoap-server.py PORT tcp|udp      on 127.0.0.1
"""

import asyncio
import sys

import aiocoap
from aiocoap import resource


class Records(resource.Resource, resource.PathCapable):
    async def render_post(self, request):
        return aiocoap.Message(code=aiocoap.CHANGED)

    render_put = render_post


async def main(port, transport):
    site = resource.Site()
    site.add_resource(["d"], Records())
    transports = ["tcpserver"] if transport == "tcp" else ["udp6"]
    context = await aiocoap.Context.create_server_context(
        site, bind=("127.0.0.1", port) if transport == "tcp" else ("::ffff:127.0.0.1", port), transports=transports
    )
    print("ready", flush=True)
    await asyncio.get_running_loop().create_future()
    await context.shutdown()


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
