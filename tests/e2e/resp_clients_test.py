"""Redis clients as their users have them, and Redis itself as the measure of our replies."""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import redis
import weir_server
from resp_client import RespConnection, RespWeir
from weir_server import DEADLINE_S, wait_until

# ioredis comes from the network; a machine without one has nothing to test here.
NPM_TIMEOUT_S = 60

IOREDIS = """
const Redis = require("ioredis");
const client = new Redis(Number(process.argv[2]), "127.0.0.1",
                         {connectionName: "me", maxRetriesPerRequest: 0, retryStrategy: null});
client.on("error", (error) => { console.error("event: " + error); process.exitCode = 1; });
(async () => {
  await new Promise((ready) => client.once("ready", ready));
  console.log(JSON.stringify([
    await client.call("CL.THROTTLE", "io", 15, 30, 60),
    await client.pipeline().call("CL.THROTTLE", "io", 15, 30, 60).ping().exec(),
    await client.multi().call("CL.THROTTLE", "io", 15, 30, 60).exec(),
    await client.client("GETNAME"),
    await client.echo("hello"),
  ]));
  await client.quit();
})().catch((error) => { console.error(String(error)); process.exit(1); });
"""

# Redis 7.0 answers this word for word; what differs on purpose is in resp_commands_test.
SAME_AS_REDIS = [
    b"PING\r\n", b"PING hi\r\n", b"PING a b\r\n", b"PING\n", b"\r\n\n  \r\nPING\r\n",
    b"ECHO\r\n", b"echo \"a\\x41\\n b\"\r\n", b"ECHO 'it\\'s \\n'\r\n", b"ECHO a\"b c\"\r\n",
    b"HELLO 4\r\n", b"HELLO x\r\n", b"HELLO 3 JUNK\r\n", b"HELLO 3 AUTH x\r\n",
    b"HELLO 3 SETNAME \"a b\"\r\n", b"HELLO 2 AUTH nobody x\r\n",
    b"AUTH x\r\n", b"AUTH default x\r\n", b"AUTH nobody x\r\n", b"AUTH a b c\r\n", b"AUTH\r\n",
    b"SELECT 0\r\n", b"SELECT 99\r\n", b"SELECT\r\n", b"SELECT x\r\n",
    b"CLIENT\r\n", b"CLIENT SETNAME\r\n", b"CLIENT SETNAME a\r\nCLIENT GETNAME\r\n",
    b"CLIENT SETNAME \"a b\"\r\n", b"CLIENT GETNAME\r\n", b"CLIENT NOPE x\r\n",
    b"CLIENT NO-EVICT ON\r\n", b"CLIENT NO-EVICT x\r\n",
    b"COMMAND DOCS nope\r\n", b"COMMAND INFO nope\r\n", b"COMMAND NOPE\r\n",
    b"CONFIG GET save-nothing\r\n", b"CONFIG GET\r\n", b"CONFIG GET appendonly\r\n",
    b"QUIT\r\nPING\r\n", b"RESET\r\nPING\r\n", b"RESET x\r\n",
    b"NOPE\r\n", b"NOPE a b\r\n", b"NOPE \"a\\r\\nb\"\r\n", b"NOPE " + b"abc " * 60 + b"\r\n",
    b"N" * 200 + b" x\r\n", b"NOPE " + b"x" * 200 + b"\r\n",
    b"*x\r\n", b"*\r\n", b"*01\r\n", b"*99999999999\r\n", b"*1\r\n:1\r\n",
    b"*1\r\n$-5\r\n", b"*1\r\n$x\r\n", b"*1\r\n$600000000\r\n", b"*-1\r\n*0\r\nPING\r\n",
    b"PING \"x\r\n", b"PING \"x\"y\r\n", b"x" * 70000,
    b"POST / HTTP/1.1\r\n\r\n", b"Host: x\r\nPING\r\n",
    b"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
    b"HELLO 3\r\nCLIENT GETNAME\r\nCOMMAND DOCS nope\r\nCOMMAND INFO nope\r\nRESET\r\n"
    b"CLIENT GETNAME\r\n",
    b"EXEC\r\n", b"EXEC x\r\n", b"DISCARD\r\n", b"DISCARD x\r\n", b"MULTI x\r\n",
    b"UNWATCH\r\n", b"WATCH\r\n", b"MULTI\r\nEXEC\r\nEXEC\r\n",
    b"MULTI\r\nPING\r\nECHO hi\r\nEXEC\r\nPING\r\n",
    b"MULTI\r\nPING\r\nMULTI\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nPING\r\nWATCH a\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nUNWATCH\r\nEXEC\r\n", b"MULTI\r\nPING\r\nDISCARD\r\nEXEC\r\n",
    b"MULTI\r\nPING\r\nNOPE a\r\nPING\r\nEXEC\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nNOPE\r\nDISCARD\r\nMULTI\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nMULTI x\r\nEXEC\r\n", b"MULTI\r\nDISCARD x\r\nEXEC\r\n",
    b"MULTI\r\nECHO\r\nEXEC\r\n", b"MULTI\r\nCLIENT NOPE\r\nEXEC\r\n",
    b"MULTI\r\nPING\r\nEXEC x\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nSELECT 99\r\nPING a b\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nHELLO 3\r\nCLIENT GETNAME\r\nEXEC\r\nCLIENT GETNAME\r\n",
    b"HELLO 3\r\nMULTI\r\nCLIENT GETNAME\r\nHELLO 2\r\nCLIENT GETNAME\r\nEXEC\r\n",
    b"MULTI\r\nHELLO 4\r\nHELLO 3 AUTH nobody x\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nAUTH x\r\nAUTH nobody x\r\nPING\r\nEXEC\r\n",
    b"MULTI\r\nPING\r\nRESET\r\nEXEC\r\n", b"MULTI\r\nPING\r\nQUIT\r\nEXEC\r\n",
    b"MULTI\r\nCLIENT SETNAME a\r\nCLIENT GETNAME\r\nEXEC\r\n",
    b"MULTI\r\nPING \"x\r\nEXEC\r\n",
]
# With a password.
SAME_AS_REDIS_TO_STRANGERS = [
    b"PING\r\n", b"NOPE\r\n", b"ECHO\r\n", b"CLIENT SETNAME\r\n", b"CLIENT NOPE\r\n",
    b"HELLO 3\r\n", b"HELLO 3 AUTH default wrong\r\n", b"AUTH wrong\r\n",
    b"AUTH default wrong\r\n", b"QUIT\r\n", b"RESET\r\n", b"*11\r\n", b"*1\r\n$16385\r\n",
    b"AUTH open-sesame-please\r\nPING\r\nRESET\r\nPING\r\n",
    b"AUTH open-sesame-please\r\nAUTH wrong\r\nPING\r\n",
    b"MULTI\r\n", b"EXEC\r\n", b"EXEC x\r\n", b"WATCH a\r\n", b"DISCARD\r\n",
    b"AUTH open-sesame-please\r\nMULTI\r\nAUTH wrong\r\nPING\r\nEXEC\r\n",
    b"AUTH open-sesame-please\r\nMULTI\r\nRESET\r\nEXEC\r\n",
]
PASSWORD = "open-sesame-please"
CONFIG = "rules: [{id: r, limit: 3, window: 1h}]"


@contextlib.contextmanager
def redis_server(*options):
    """The port of a redis-server of our own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="weir-e2e-redis-") as folder:
        process = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
             "--dir", folder, *options], stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: listens(port), "redis-server listens")
            yield port
        finally:
            process.kill()
            process.wait()


def without_identity(reply):
    """Without the version and the number of the connection, which HELLO tells."""
    reply = re.sub(rb"\$\d\r\n7\.[.\d]+\r\n", b"", reply)
    return re.sub(rb"\r\nid\r\n:\d+", b"", reply)


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def redis_cli(port, *words, said=None):
    done = subprocess.run(["redis-cli", "-p", str(port), *words], input=said,
                          capture_output=True, text=True, timeout=DEADLINE_S, check=True,
                          env={**os.environ, "HOME": "/nonexistent"})
    assert done.stderr == "", done.stderr
    return done.stdout


class AgainstRedis(unittest.TestCase):
    def compare(self, redis_port, weir_port, cases):
        for said in cases:
            with self.subTest(said=said[:60]):
                heard = []
                for port in (redis_port, weir_port):
                    with RespConnection(port) as client:
                        heard.append(without_identity(client.raw(said)))
                self.assertEqual(heard[1], heard[0])

    def test_replies_are_those_of_redis(self):
        with redis_server() as port, RespWeir() as weir:
            self.compare(port, weir.resp_port, SAME_AS_REDIS)

    def test_so_are_those_to_strangers(self):
        with redis_server("--requirepass", PASSWORD) as port:
            with RespWeir(environment={"WEIR_RESP_PASSWORD": PASSWORD}) as weir:
                self.compare(port, weir.resp_port, SAME_AS_REDIS_TO_STRANGERS)


class RedisCli(unittest.TestCase):
    def test_one_command(self):
        with RespWeir() as weir:
            said = redis_cli(weir.resp_port, "CL.THROTTLE", "user", "15", "30", "60")
            self.assertEqual(said, "0\n16\n15\n-1\n2\n")

    def test_one_command_of_resp3(self):
        with RespWeir() as weir:
            self.assertEqual(redis_cli(weir.resp_port, "-3", "PING"), "PONG\n")
            said = redis_cli(weir.resp_port, "-3", "CL.THROTTLE", "user", "0", "1", "9")
            self.assertEqual(said, "0\n1\n0\n-1\n9\n")

    def test_a_password(self):
        with RespWeir(environment={"WEIR_RESP_PASSWORD": PASSWORD}) as weir:
            said = redis_cli(weir.resp_port, "--no-auth-warning", "-a", PASSWORD, "PING")
            self.assertEqual(said, "PONG\n")

    def test_a_conversation(self):
        with RespWeir() as weir:
            for options in ((), ("-3",)):
                said = redis_cli(weir.resp_port, *options,
                                 said="PING\nhelp cl.throttle\nCL.THROTTLE a 9 1 1 0\nQUIT\n")
                self.assertIn("PONG\n", said)
                self.assertIn("key max_burst count period [quantity]", said)
                self.assertIn("as redis-cell does", said)
                self.assertIn("0\n10\n10\n-1\n0\n", said)


class RedisBenchmark(unittest.TestCase):
    def run_benchmark(self, weir, *options):
        done = subprocess.run(
            ["redis-benchmark", "-p", str(weir.resp_port), "-q", "-n", "20000", "-P", "32",
             *options], capture_output=True, text=True, timeout=DEADLINE_S, check=True)
        self.assertIn("requests per second", done.stdout)
        self.assertNotIn("WARN", done.stdout + done.stderr)
        self.assertNotIn("ERR", done.stdout + done.stderr)

    def test_ping_and_a_command_of_our_own(self):
        with RespWeir() as weir:
            self.run_benchmark(weir, "-t", "ping")
            self.run_benchmark(weir, "-r", "1000", "CL.THROTTLE", "k:__rand_int__", "9", "1", "1")
            with weir.client() as client:
                self.assertIn(b"decisions_denied:", client.ask("INFO"))
                self.assertNotIn(b"decisions_allowed:0\r\n", client.ask("INFO"))


class RedisPy(unittest.TestCase):
    def test_commands_pipelines_and_errors(self):
        with RespWeir() as weir:
            client = redis.Redis(port=weir.resp_port, client_name="me", db=0)
            with contextlib.closing(client):
                self.assertTrue(client.ping())
                self.assertEqual(client.client_getname(), "me")
                self.assertEqual(client.info()["loading"], 0)
                self.assertEqual(client.config_get("save"), {"save": ""})
                self.assertEqual(client.client_info()["name"], "me")
                self.assertEqual(client.execute_command("CL.THROTTLE", "py", 15, 30, 60),
                                 [0, 16, 15, -1, 2])
                with client.pipeline(transaction=False) as pipeline:
                    for _ in range(100):
                        pipeline.execute_command("CL.THROTTLE", "piped", 9, 1, 1000000)
                    denied = [reply[0] for reply in pipeline.execute()]
                self.assertEqual(denied, [0] * 10 + [1] * 90)
                with self.assertRaisesRegex(redis.ResponseError, "Zero rates are not supported"):
                    client.execute_command("CL.THROTTLE", "py", 1, 0, 1)
                self.assertTrue(client.ping())

    def test_the_default_pipeline_is_a_transaction(self):
        with RespWeir(config=CONFIG) as weir:
            with contextlib.closing(redis.Redis(port=weir.resp_port)) as client:
                with client.pipeline() as pipeline:
                    for _ in range(100):
                        pipeline.execute_command("CL.THROTTLE", "piped", 9, 1, 1000000)
                    pipeline.ping()
                    *replies, pong = pipeline.execute()
                self.assertEqual([reply[0] for reply in replies], [0] * 10 + [1] * 90)
                self.assertTrue(pong)

    @unittest.skipIf(redis.VERSION < (5, 0), "this redis-py speaks RESP2 only")
    def test_resp3(self):
        with RespWeir() as weir:
            client = redis.Redis(port=weir.resp_port, protocol=3)
            with contextlib.closing(client):
                self.assertTrue(client.ping())
                self.assertEqual(client.execute_command("CL.THROTTLE", "py", 0, 1, 9),
                                 [0, 1, 0, -1, 9])

    def test_a_password(self):
        with RespWeir(environment={"WEIR_RESP_PASSWORD": PASSWORD}) as weir:
            with contextlib.closing(redis.Redis(port=weir.resp_port, password=PASSWORD)) as client:
                self.assertTrue(client.ping())
            with contextlib.closing(redis.Redis(port=weir.resp_port)) as client:
                with self.assertRaises(redis.AuthenticationError):
                    client.ping()


class IoRedis(unittest.TestCase):
    def test_connects_and_asks(self):
        with tempfile.TemporaryDirectory(prefix="weir-e2e-npm-") as folder:
            self.install(folder)
            script = pathlib.Path(folder, "ask.js")
            script.write_text(IOREDIS, encoding="ascii")
            with RespWeir() as weir:
                done = subprocess.run(["node", str(script), str(weir.resp_port)], cwd=folder,
                                      capture_output=True, text=True, timeout=DEADLINE_S,
                                      check=False)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout, '[[0,16,15,-1,2],[[null,[0,16,14,-1,4]],[null,"PONG"]],'
                                          '[[null,[0,16,13,-1,6]]],"me","hello"]\n')

    def install(self, folder):
        if not shutil.which("npm") or not shutil.which("node"):
            self.skipTest("npm is not installed")
        try:
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "ioredis"],
                                  cwd=folder, capture_output=True, text=True,
                                  timeout=NPM_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            self.skipTest("npm does not get ioredis in time")
        if done.returncode != 0:
            self.skipTest("npm cannot get ioredis: " + done.stderr[-200:])


if __name__ == "__main__":
    weir_server.main()
