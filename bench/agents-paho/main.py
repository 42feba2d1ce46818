"""A gateway with a process per device on paho-mqtt, like vendors' Python SDKs.

A small acceptor reads a device's CONNECT and hands the connection to the device's agent, a separate process. The agent
publishes each message separately at QoS 1 over its own TLS 1.3 session, and acknowledges the device in the order of its
messages once the broker has acknowledged. Ends on SIGTERM.
"""

import argparse
import ctypes
import os
import select
import signal
import socket
import ssl
import struct
import sys
import threading
from collections import deque

import paho.mqtt.client as mqtt

HANDED_BYTES = 65536
PENDING = 1024
CONNECT, PUBLISH, PINGREQ = 1, 3, 12


def parse(data, at=0):
    """Returns (type, flags, body, end) of the packet at `at`, or None if it is incomplete."""
    length, shift, i = 0, 0, at + 1
    while True:
        if i >= len(data):
            return None
        if shift > 21:
            raise ValueError('remaining length')
        length |= (data[i] & 0x7F) << shift
        shift += 7
        i += 1
        if not data[i - 1] & 0x80:
            break
    if len(data) - i < length:
        return None
    return data[at] >> 4, data[at] & 15, data[i : i + length], i + length


class Agent:
    """Thread safety: run() in the main thread, on_publish() in paho's."""

    def __init__(self, device, options, acceptor):
        self.acceptor = acceptor
        self.window = options.window
        self.lock = threading.Lock()
        self.room = threading.Condition(self.lock)
        self.waiting = deque()  # [message id, packet id of the device, its connection, acknowledged]
        self.early = set()  # acknowledged before publish() returned
        self.connection = None
        self.up = threading.Event()
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, f'agent-{device}', clean_session=False)
        context = ssl.create_default_context(cafile=options.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        client.tls_set_context(context)
        client.max_inflight_messages_set(options.window)
        client.reconnect_delay_set(1, 2)
        client.on_socket_open = lambda _client, _data, sock: sock.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        client.on_connect = lambda *_: self.up.set()
        client.on_publish = self.on_publish
        client.connect_async(options.broker_host, options.broker_port, keepalive=60)
        client.loop_start()
        self.client = client

    def run(self):
        rest = b''
        while True:
            ready, _, _ = select.select([self.acceptor] + ([self.connection] if self.connection else []), [], [])
            if self.acceptor in ready:
                rest = self.take()
                if rest is None:
                    return
                if not self.serve(rest):
                    self.drop()
                rest = self.rest
                continue
            try:
                got = self.connection.recv(16384)
            except OSError:
                got = b''
            if not got or not self.serve(rest + got):
                self.drop()
            rest = self.rest

    def take(self):
        message, handed, _, _ = socket.recv_fds(self.acceptor, HANDED_BYTES, 1)
        if not message:
            return None
        self.drop()
        self.up.wait(10)  # the benchmark waits for the CONNACK
        with self.lock:
            self.connection = socket.socket(fileno=handed[0])
        self.connection.sendall(b'\x20\x02\x00\x00')
        return message[parse(message)[3] :]

    def drop(self):
        self.rest = b''
        with self.lock:
            if self.connection:
                self.connection.close()
            self.connection = None

    def serve(self, data):
        at = 0
        try:
            while packet := parse(data, at):
                kind, flags, body, at = packet
                if kind == PINGREQ:
                    self.connection.sendall(b'\xd0\x00')
                elif kind != PUBLISH or flags & 4:
                    return False
                else:
                    self.publish(body, flags >> 1 & 1)
        except (ValueError, IndexError, struct.error, OSError):
            return False
        self.rest = data[at:]
        return True

    def publish(self, body, qos):
        (length,) = struct.unpack_from('!H', body)
        topic = body[2 : 2 + length].decode()
        (packet_id,) = struct.unpack_from('!H', body, 2 + length) if qos else (0,)
        with self.lock:
            while len(self.waiting) >= self.window:
                self.room.wait()
        info = self.client.publish(topic, body[2 + length + 2 * qos :], qos=1)
        with self.lock:
            acknowledged = info.mid in self.early
            self.early.discard(info.mid)
            self.waiting.append([info.mid, packet_id, self.connection, acknowledged])
            self.answer()

    def on_publish(self, _client, _data, mid, _reason, _properties):
        with self.lock:
            for each in self.waiting:  # brokers answer in order, so the first entry nearly always matches
                if each[0] == mid and not each[3]:
                    each[3] = True
                    break
            else:
                self.early.add(mid)
            self.answer()
            self.room.notify()

    def answer(self):
        out = b''
        connection = None
        while self.waiting and self.waiting[0][3]:
            _, packet_id, connection, _ = self.waiting.popleft()
            if packet_id and connection is self.connection:
                out += struct.pack('!BBH', 0x40, 2, packet_id)
        if out and self.connection:
            try:
                self.connection.sendall(out)
            except OSError:
                pass  # the next recv() fails


def client_id(data):
    """Returns the client id of a CONNECT of MQTT 3.1.1, None if it is incomplete. Raises ValueError if it is invalid."""
    packet = parse(data)
    if packet is None:
        return None
    kind, _, body, _ = packet
    if kind != CONNECT or body[:7] != b'\0\4MQTT\4' or len(body) < 13:
        raise ValueError('no CONNECT')
    (length,) = struct.unpack_from('!H', body, 10)
    return body[12 : 12 + length].decode()


class Gateway:
    def __init__(self, options):
        self.options = options
        self.agents = {}
        self.pids = []
        self.pending = {}
        self.listener = socket.create_server((options.host, options.port), backlog=4096)

    def run(self):
        poll = select.epoll()
        poll.register(self.listener, select.EPOLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self.listener.fileno():
                    connection, _ = self.listener.accept()
                    if len(self.pending) >= PENDING:
                        connection.close()
                        continue
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.pending[connection.fileno()] = (connection, b'')
                    poll.register(connection, select.EPOLLIN)
                elif self.read(fd):
                    poll.unregister(fd)
                    self.pending.pop(fd)[0].close()

    def read(self, fd):
        """Returns True if the acceptor is done with this connection."""
        connection, data = self.pending[fd]
        try:
            got = connection.recv(4096)
            data += got
            device = client_id(data) if got else ''
        except (OSError, ValueError, IndexError, struct.error):
            return True
        if device is None and len(data) < HANDED_BYTES:
            self.pending[fd] = (connection, data)
            return False
        if device:
            socket.send_fds(self.agent(device), [data], [fd])
        return True

    def agent(self, device):
        if device in self.agents:
            return self.agents[device]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
            if os.getppid() == parent:
                for other in [ours, self.listener, *self.agents.values()]:
                    other.close()
                Agent(device, self.options, theirs).run()
            os._exit(0)
        theirs.close()
        self.pids.append(pid)
        self.agents[device] = ours
        return ours

    def stop(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
        for pid in self.pids:
            os.waitpid(pid, 0)
        sys.exit(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--host', default='127.0.0.1')
    parser.add_argument('--port', type=int, required=True)
    parser.add_argument('--broker-host', required=True)
    parser.add_argument('--broker-port', type=int, required=True)
    parser.add_argument('--ca', required=True)
    parser.add_argument('--window', type=int, default=1024, help='messages that the broker has not acknowledged')
    gateway = Gateway(parser.parse_args())
    signal.signal(signal.SIGTERM, gateway.stop)
    gateway.run()


main()
