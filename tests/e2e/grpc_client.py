"""For tests: Python's gRPC client, with stubs generated from the .proto files; calls that hold
slots."""

import atexit
import importlib
import pathlib
import queue
import subprocess
import sys
import tempfile

import grpc

from weir_server import ROOT

PROTO_ROOT = ROOT / "src" / "proto" / "rls"
FOLDER = tempfile.TemporaryDirectory(prefix="weir-grpc-")  # stubs, and a configuration
atexit.register(FOLDER.cleanup)


def generate_stubs():
    files = [str(path.relative_to(PROTO_ROOT)) for path in PROTO_ROOT.rglob("*.proto")]
    subprocess.run(["protoc", f"-I{PROTO_ROOT}", f"--python_out={FOLDER.name}", *files], check=True)
    # Ours are named as the package `grpc` is, which Python would look into: it shall look
    # into both.
    grpc.__path__.append(str(pathlib.Path(FOLDER.name, "grpc")))
    sys.path.insert(0, FOLDER.name)


def message_types(name):
    return importlib.import_module(f"{name}_pb2")


generate_stubs()
messages = message_types("weir.v1.slots")


class Slots:
    """Calls of one channel."""

    def __init__(self, target):
        self.channel = grpc.insecure_channel(target)
        self.method = self.channel.stream_stream(
            "/weir.v1.Slots/Hold", request_serializer=messages.HoldRequest.SerializeToString,
            response_deserializer=messages.HoldResponse.FromString)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def hold(self, rule, key="a", hold="1h"):
        return HeldSlot(self, rule, key, hold).wait()


class HeldSlot:
    def __init__(self, slots, rule, key="a", hold="1h"):
        self._requests = queue.SimpleQueue()
        self._requests.put(messages.HoldRequest(rule=rule, key=key, hold=hold))
        self.call = slots.method(iter(self._requests.get, None))

    def wait(self):
        self.said = next(self.call)
        self.is_allowed = self.said.allowed
        return self

    def end(self):
        self._requests.put(None)
        return self.status()

    def status(self):
        """When the call has ended."""
        try:
            list(self.call)
        except grpc.RpcError:
            pass
        self._requests.put(None)  # ends the thread that waits for it
        return self.call.code()
