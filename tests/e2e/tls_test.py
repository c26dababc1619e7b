"""TLS: the handshake, the certificate's reload, clients' certificates, and those in clear."""

import json
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

import grpc

import weir_server
from certificates import Authority
from weir_server import (DEADLINE_S, Connection, ConnectionClosed, Crowd, Weir, check_request,
                         get, wait_until)

CONNECTIONS = 1_000


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = cls.enterClassContext(Authority())
        cls.certificate, cls.key = cls.authority.issue("server")

    def serve(self, *arguments, **more):
        """In clear and under TLS. More than one core."""
        return self.enterContext(Weir(
            "--threads", "2", "--http-tls", "127.0.0.1:0", "--tls-certificate", self.certificate,
            "--tls-key", self.key, *arguments, **more))

    def context(self, own=None):
        context = ssl.create_default_context(cafile=self.authority.certificate)
        if own is not None:
            context.load_cert_chain(*own)
        return context

    def connect(self, weir, own=None):
        return Connection(weir.port_of("https"), self.context(own))

    def assert_serves(self, weir, own=None):
        with self.connect(weir, own) as connection:
            self.assertTrue(connection.check(key="others", limit=10**6, window=60)["allowed"])

    def test_curl_and_openssl_agree(self):
        weir = self.serve()
        for protocol, agreed, remaining in (("--http1.1", "1.1", 4), ("--http2", "2", 3)):
            reply = subprocess.run(
                ["curl", "-sS", protocol, "-w", " %{http_version}", "--cacert",
                 self.authority.certificate, "-d", '{"key":"curl","limit":5,"window":3600}',
                 weir.url_of("https") + "/check"],
                capture_output=True, check=True, text=True, timeout=DEADLINE_S)
            body, _, spoken = reply.stdout.rpartition(" ")
            self.assertEqual(spoken, agreed)
            self.assertEqual(json.loads(body)["remaining"], remaining)
        for version in ("-tls1_2", "-tls1_3"):
            said = self.s_client(weir, version, "-alpn", "http/1.1")
            self.assertIn("Verify return code: 0 (ok)", said)
            self.assertIn("ALPN protocol: http/1.1", said)
        self.assertIn("ALPN protocol: h2", self.s_client(weir, "-alpn", "http/1.1,h2"))
        self.assertIn("alert", self.s_client(weir, "-alpn", "smtp"))

    def s_client(self, weir, *arguments):
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{weir.port_of('https')}", "-CAfile",
             self.authority.certificate, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE_S,
            check=False)
        return done.stdout + done.stderr

    def test_both_ports_share_a_counter(self):
        weir = self.serve()
        terms = {"key": "a", "limit": 5, "window": 3600}
        self.assertEqual(weir.check(**terms)["remaining"], 4)
        with self.connect(weir) as connection:
            self.assertEqual(connection.check(**terms)["remaining"], 3)

    def test_redis_clients_speak_it_too(self):
        weir = self.serve("--resp-tls", "127.0.0.1:0")
        reply = subprocess.run(
            ["redis-cli", "-h", "127.0.0.1", "-p", str(weir.port_of("rediss")), "--tls",
             "--cacert", self.authority.certificate, "PING"],
            capture_output=True, text=True, check=True, timeout=DEADLINE_S)
        self.assertEqual(reply.stdout, "PONG\n")

    def test_grpc_clients_too_on_both_ports(self):
        weir = self.serve("--grpc-tls", "127.0.0.1:0")
        authority = pathlib.Path(self.authority.certificate).read_bytes()
        for scheme in ("grpcs", "https"):
            channel = grpc.secure_channel(f"localhost:{weir.port_of(scheme)}",
                                          grpc.ssl_channel_credentials(authority))
            with channel:
                check = channel.unary_unary("/grpc.health.v1.Health/Check")
                self.assertEqual(check(b"", timeout=DEADLINE_S), b"\x08\x01")  # SERVING

    def test_a_body_of_many_records(self):
        weir = self.serve()
        checks = [{"key": f"key-{i}", "limit": 5, "window": 60, "cost": 1} for i in range(256)]
        body = json.dumps({"checks": checks}).encode()
        body += b" " * (900_000 - len(body))
        with self.connect(weir) as connection:
            reply = connection.ask(weir_server.post("/v1/check", body))
            self.assertEqual(reply.status, 200, reply.text)

    def test_1000_connections(self):
        needed = CONNECTIONS + 500
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < needed:
            self.skipTest(f"the limit of open files, {hard}, forbids {CONNECTIONS} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        weir = self.serve()
        context = self.context()
        connections = [Connection(weir.port_of("https"), context) for _ in range(CONNECTIONS)]
        for number, connection in enumerate(connections):
            with connection:
                self.assertTrue(connection.check(key=f"k{number}", limit=1, window=60)["allowed"])

    # ---- reload ----

    def shown_certificate(self, weir):
        with self.connect(weir) as connection:
            subject = dict(part[0] for part in connection.socket.getpeercert()["subject"])
        return subject["commonName"]

    def reload(self, weir, until):
        before = weir.log_length()
        weir.signal(signal.SIGHUP)
        weir.wait_for_log(until, after=before)

    def test_a_reload_under_load_drops_nothing(self):
        live = self.authority.path("live.pem"), self.authority.path("live.key")
        pairs = [self.authority.issue(name) for name in ("first", "second")]
        self.install(pairs[0], live)
        self.certificate, self.key = live
        weir = self.serve()
        self.assertEqual(self.shown_certificate(weir), "first")
        crowd = Crowd(weir.port_of("https"), context=self.context(), requests_each=20,
                      key="crowd", limit=10**6, window=60)
        with crowd:
            for turn in range(10):
                self.install(pairs[(turn + 1) % 2], live)
                self.reload(weir, "reloaded")
                crowd.wait_for_replies(100)
                wait_until(lambda name=("second", "first")[turn % 2]:
                           {self.shown_certificate(weir) for _ in range(8)} == {name},
                           "both cores show the new certificate")
        self.assertEqual(crowd.failures, [])

    def install(self, pair, live):
        for source, target in zip(pair, live):
            shutil.copy(source, target)

    def test_a_broken_key_leaves_the_certificate_and_shows_in_the_metrics(self):
        live = self.authority.path("live.pem"), self.authority.path("live.key")
        self.install(self.authority.issue("good"), live)
        self.certificate, self.key = live
        weir = self.serve()
        pathlib.Path(live[1]).write_text(
            "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n", encoding="ascii")
        self.reload(weir, "not reloaded: the one in force stays")
        self.assertIn(f"the key {live[1]} cannot be used", weir.log())
        self.assertNotIn("hunter2", weir.log())
        self.assertEqual(weir.metric("weir_config_last_reload_successful"), 0)
        self.assertEqual(self.shown_certificate(weir), "good")

        self.install(self.authority.issue("mended"), live)
        self.reload(weir, f"certificate {live[0]} reloaded")
        self.assertEqual(weir.metric("weir_config_last_reload_successful"), 1)
        wait_until(lambda: self.shown_certificate(weir) == "mended", "it is in force")

    def test_a_bad_pair_keeps_the_files_rules_out_too(self):
        config = (f"tls:\n  certificate: {self.certificate}\n  key: {{key}}\n"
                  "listen: {{http_tls: 127.0.0.1:0}}\n"
                  "rules:\n  - {{id: api, limit: {limit}, window: 365d}}\n")
        weir = self.enterContext(
            Weir("--threads", "2", config=config.format(key=self.key, limit=5)))
        weir.write_config(config.format(key=self.certificate, limit=6))
        self.reload(weir, "not reloaded")
        self.assertEqual(weir.check(key="a", rule="api")["limit"], 5)
        self.assert_serves(weir)

    def test_a_start_without_a_usable_pair_says_what_to_do(self):
        for arguments, expected in (
                ((), "TLS needs a certificate and its key"),
                (("--tls-certificate", "/no/such.pem", "--tls-key", self.key), "/no/such.pem"),
                (("--tls-certificate", self.certificate, "--tls-key",
                  self.authority.issue("other")[1]), "key values mismatch")):
            code, _, said = weir_server.run_weir("serve", "--http-tls", "127.0.0.1:0", *arguments)
            self.assertEqual(code, 1)
            self.assertIn(expected, said)

    # ---- who may connect ----

    def test_clients_show_a_certificate_of_the_right_authority(self):
        weir = self.serve("--tls-client-ca", self.authority.certificate)
        known = self.authority.issue("client")
        with self.connect(weir, known) as connection:
            self.assertEqual(connection.ask(get("/health")).status, 200)
        with Authority() as strangers:
            for own in (None, strangers.issue("client")):
                with self.assertRaises((ssl.SSLError, ConnectionResetError, ConnectionClosed)):
                    with self.connect(weir, own) as connection:
                        connection.ask(get("/health"))
        wait_until(lambda: weir.metric("weir_tls_handshakes_failed_total") == 2, "both count")
        self.assert_serves(weir, known)

    def test_a_request_in_clear_to_the_port_of_tls(self):
        weir = self.serve()
        with Connection(weir.port_of("https")) as connection:
            connection.send(get("/health"))
            self.assertNotIn(b"HTTP", self.read_to_end(connection.socket))
        self.assert_serves(weir)
        wait_until(lambda: weir.metric("weir_tls_handshakes_failed_total") == 1, "it is counted")

    def test_tls_to_the_port_in_clear(self):
        weir = self.serve()
        with self.assertRaises((ssl.SSLError, ConnectionResetError)):
            Connection(weir.port, self.context())
        self.assertTrue(weir.check(key="a", limit=5, window=60)["allowed"])

    def read_to_end(self, stream):
        data = b""
        try:
            while chunk := stream.recv(65536):
                data += chunk
        except ConnectionResetError:
            pass
        return data

    # ---- slow, halved, vanished ----

    def test_a_handshake_byte_by_byte(self):
        weir = self.serve()
        stuck = [socket.create_connection(("127.0.0.1", weir.port_of("https"))) for _ in range(50)]
        for each in stuck:
            each.sendall(b"\x16\x03\x01\x02")  # and no more
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", weir.port_of("https")),
                                      timeout=DEADLINE_S) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.drive(tls.do_handshake, stream, incoming, outgoing)
            tls.write(check_request(key="slow", limit=5, window=60))
            reply = self.drive(lambda: tls.read(65536), stream, incoming, outgoing)
        self.assertIn(b"HTTP/1.1 200", reply)
        self.assert_serves(weir)
        for each in stuck:
            each.close()

    def drive(self, step, stream, incoming, outgoing):
        """Does the step of TLS, a byte at a time."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                for byte in outgoing.read():
                    stream.sendall(bytes([byte]))
                incoming.write(stream.recv(1))
            finally:
                for byte in outgoing.read():
                    stream.sendall(bytes([byte]))

    def test_a_client_that_has_closed_its_side_gets_its_reply(self):
        weir = self.serve()
        with self.connect(weir) as connection:
            connection.send(check_request(key="half", limit=5, window=60))
            # Without TLS's farewell; SSLSocket's own shutdown() would also stop reading.
            socket.socket.shutdown(connection.socket, socket.SHUT_WR)
            self.assertEqual(connection.read_reply().json()["remaining"], 4)

    def test_clients_that_vanish_cost_nobody_else(self):
        weir = self.serve()
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", weir.port_of("https"))) as stream:
                stream.sendall(b"\x16\x03\x01\x00\xff" + b"x" * 50)
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.assert_serves(weir)

    def test_a_drain_answers_what_was_asked_and_says_goodbye(self):
        weir = self.serve()
        crowd = Crowd(weir.port_of("https"), context=self.context(), key="crowd", limit=10**6,
                      window=60)
        with crowd:
            self.assertEqual(weir.stop(), 0)
            crowd.wait_until_all_have_ended()
        self.assertEqual(crowd.failures, [])


if __name__ == "__main__":
    weir_server.main()
