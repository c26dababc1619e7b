"""Every host reads the values of headers as header_values.json says."""

import unittest

import hosts
import weir_server
from header_values import RULES, rows

REFUSED = 400  # or, by nginx over HTTP/2, a stream that is reset


class HeaderValuesTest(unittest.TestCase):
    def test_every_host_reads_them_alike(self):
        for host in hosts.HOSTS:
            with self.subTest(host):
                if lacking := hosts.lacks(host):
                    self.skipTest(f"{lacking} is not there")
                with hosts.serving(host, RULES) as ask:
                    found = [(*row, ask(b"/", [row[:2]]) or REFUSED) for row in rows()]
                self.assertEqual([row for row in found if row[2] != row[3]], [])


if __name__ == "__main__":
    weir_server.main()
