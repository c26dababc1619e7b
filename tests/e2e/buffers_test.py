"""What clients make the node hold is bounded, and goes back to the system."""

import socket
import struct
import unittest

import weir_server
from weir_server import Weir, check_request, wait_until

MIB = 1 << 20


def connect(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(20)
    return client


def send_without_reading(clients, data):
    """As much as the server takes; one that it resets has sent enough."""
    for client in clients:
        client.setblocking(False)
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[client.send(rest):]
        except (BlockingIOError, ConnectionError):
            continue


def frame(kind, flags, stream, payload):
    return struct.pack("!IBBI", len(payload), kind, flags, stream)[1:] + payload


def streams_without_window(count):
    """Requests for a page on streams that may be sent nothing."""
    path = b"/metrics"
    head = b"\x82\x86\x04" + bytes([len(path)]) + path + b"\x01\x01a"
    settings = frame(4, 0, 0, struct.pack("!HI", 4, 0))
    heads = b"".join(frame(1, 5, 2 * number + 1, head) for number in range(count))
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + heads


class Buffers(unittest.TestCase):
    def test_those_that_hold_most_are_shed(self):
        with Weir("--threads", "2", "--max-keys", "1024", "--max-buffered", str(8 * MIB)) as weir:
            with weir.connect() as innocent:
                innocent.check(key="innocent", limit=5, window=60)
                before = weir.rss_kib()
                self.assertEqual(weir.metric("weir_buffered_bytes_max"), 8 * MIB)
                head = b"POST /check HTTP/1.1\r\nHost: w\r\nContent-Length: 1000000\r\n\r\n"
                greedy = [connect(weir.port) for _ in range(40)]
                for client in greedy:
                    try:
                        client.sendall(head + b" " * 900_000)
                    except ConnectionError:
                        continue
                wait_until(lambda: weir.metric("weir_connections_shed_total") >= 20, "some go")
                wait_until(lambda: weir.metric("weir_buffered_bytes") <= 8 * MIB, "enough go")
                weir.wait_for_log("held more than max_buffered, 8388608 bytes: reset")
                self.assertEqual(innocent.ask(
                    check_request(key="innocent", limit=5, window=60)).status, 200)
                for client in greedy:
                    client.close()
                wait_until(lambda: weir.metric("weir_buffered_bytes") < MIB, "all have gone")
                if not weir_server.IS_ASAN:
                    wait_until(lambda: weir.rss_kib() < before + 8 * 1024, "memory goes back")
            self.assertEqual(weir.stop(), 0)

    def test_streams_without_a_window_count(self):
        with Weir("--threads", "1", "--max-keys", "1024", "--max-buffered", str(8 * MIB)) as weir:
            before = weir.rss_kib()
            clients = [connect(weir.port) for _ in range(10)]
            send_without_reading(clients, streams_without_window(1000))
            wait_until(lambda: weir.metric("weir_connections_shed_total") >= 5, "some go")
            wait_until(lambda: weir.metric("weir_buffered_bytes") <= 8 * MIB, "enough go")
            if not weir_server.IS_ASAN:
                self.assertLess(weir.rss_kib() - before, 64 * 1024)
            for client in clients:
                client.close()
            self.assertEqual(weir.stop(), 0)


if __name__ == "__main__":
    weir_server.main()
