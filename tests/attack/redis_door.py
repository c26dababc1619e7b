"""Attacks on the door of Redis clients."""

import os
import pathlib
import socket
import tempfile

import swarm
from resp_client import RespConnection, RespError, command
from scene import Attack

FOLDER = tempfile.TemporaryDirectory(prefix="weir-attack-")
PASSWORD_FILE = os.path.join(FOLDER.name, "password")
PASSWORD = "a-password-of-28-characters"
pathlib.Path(PASSWORD_FILE).write_text(PASSWORD, encoding="ascii")
ANOTHER_ADDRESS = "127.0.0.2"

OPEN = ("--resp", "127.0.0.1:0")
CLOSED = (*OPEN, "--resp-password-file", PASSWORD_FILE)
GUESSES_MAX = 20  # ten at once, then one each 6 seconds
ANSWER_MAX_S = 10


def guess_passwords(scene):
    """Fifty clients guess without waiting; a client that is cut off comes again."""
    guesses = b"".join(command("AUTH", f"guess-number-{n:010}") for n in range(1000))
    swarm.flood(scene, 50, swarm.endless(guesses), again=True,
                port=scene.weir.port_of("redis"))
    compared = scene.weir.metric("weir_logins_failed_total")
    scene.claim(0 < compared <= GUESSES_MAX, f"{compared:.0f} guesses were compared")
    with socket.create_connection(("127.0.0.1", scene.weir.port_of("redis")),
                                  source_address=(ANOTHER_ADDRESS, 0), timeout=5) as connection:
        connection.sendall(command("AUTH", PASSWORD))
        said = connection.recv(100)
        scene.claim(said == b"+OK\r\n", f"from another address the password brings {said!r}")


def giant_commands(scene):
    """Each is an error that ends the connection, before its memory is taken."""
    port = scene.weir.port_of("redis")
    cases = (b"*1000000000\r\n", b"*2147483648\r\n", b"*99999999999999999999\r\n",
             b"*1025\r\n", b"*1\r\n$536870912\r\n", b"*1\r\n$-1\r\n", b"*1\r\n$65537\r\n",
             b"*1\r\n$4\r\nPINGxx", b"*1\r\n:1\r\n", b"*1\r\n*1\r\n$4\r\nPING\r\n", b"*x\r\n",
             b"*1\r\n$9999999999999999999\r\n", b"x" * 70_000, b"*+1\r\n$4\r\nPING\r\n",
             b"*" + b"0" * 70_000, b"*1 \r\n$4\r\nPING\r\n", b"POST / HTTP/1.1\r\n",
             b"*1024\r\n" + b"$65536\r\n" + b"x" * 65_536 + b"\r\n" * 17)
    for data in cases:
        tally = swarm.flood(scene.moment(ANSWER_MAX_S), 1, swarm.once(data), port=port)
        said = data.startswith(b"POST") or b"-ERR" in tally.heard  # nothing to a web page
        scene.claim(tally.closed and said, f"{data[:30]!r}: {tally.heard[:60]!r}")
    with RespConnection(port) as connection:
        for words in (("WEIR.HIT",), ("CL.THROTTLE", "k", "x", "y", "z"), ("\0" * 1000,),
                      ("WEIR.MHIT", "EACH", *["x"] * 1000), ("EVAL", "return 1", "0")):
            try:
                scene.claim(connection.ask(*words) is None, f"{words[0]!r} is answered")
            except RespError:
                pass


def commands_withheld(scene):
    """Commands of 1 MiB without their last byte, from clients that have no password to say."""
    whole = b"*17\r\n" + (b"$65000\r\n" + b"x" * 65_000 + b"\r\n") * 16
    swarm.flood(scene, scene.some(1000), swarm.once(whole), reads=False,
                port=scene.weir.port_of("redis"))


def replies_unread(scene):
    """Many small commands with long answers, whose sender reads nothing."""
    swarm.flood(scene, scene.some(1000), swarm.endless(command("INFO") * 500), reads=False,
                port=scene.weir.port_of("redis"))


ATTACKS = [
    Attack("AUTH guessed by 50 clients", guess_passwords, CLOSED),
    Attack("giant arrays and bulks", giant_commands, OPEN),
    Attack("1,000 commands of 1 MiB without an end", commands_withheld, OPEN),
    Attack("1,000 Redis clients that read nothing", replies_unread, OPEN),
]
