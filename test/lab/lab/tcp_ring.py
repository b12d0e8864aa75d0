"""A worker that talks plain TCP to the peers of its network plan, as a parameter server's would: one connection to each peer that
the plan has ports for, and a listener for theirs.

    python3 tcp_ring.py --port 29500 --seconds 20 --record FILE

The plan is that of $YARDMASTER_PLAN. FILE gets a line a connection: peer, the local port and class that the socket has, and the ports
of the plan. Nothing here chooses a port or a class: that is the socket shim's part, if it is loaded.
"""

import argparse
import json
import os
import socket
import threading
import time

_PLAN_SECONDS = 60
_CHUNK = b"x" * 16384
_PAUSE_SECONDS = 0.05


def read_plan():
    """The plan once it has ports for TCP."""
    deadline = time.monotonic() + _PLAN_SECONDS
    while time.monotonic() < deadline:
        try:
            with open(os.environ["YARDMASTER_PLAN"], encoding="utf-8") as file:
                plan = json.load(file)
            if any(peer.get("tcp") for rail in plan["rails"] for peer in rail["peers"]):
                return plan
        except (OSError, ValueError, KeyError):
            pass
        time.sleep(0.1)
    raise SystemExit("no plan with ports for TCP")


def serve(port):
    listener = socket.create_server(("", port), backlog=64)

    def drain(connection):
        while connection.recv(65536):
            pass

    while True:
        threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()


def talk(address, ports, options, record):
    for _ in range(100):
        connection = socket.socket()
        try:
            connection.connect((address, options.port))
            break
        except OSError:  # the peer does not listen yet
            connection.close()
            time.sleep(0.2)
    else:
        raise SystemExit(f"{address} does not answer")
    record({"peer": address, "port": connection.getsockname()[1], "planned": ports, "host": connection.getsockname()[0],
            "class": connection.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)})
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        connection.sendall(_CHUNK)
        time.sleep(_PAUSE_SECONDS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--record", required=True)
    options = parser.parse_args()
    threading.Thread(target=serve, args=(options.port,), daemon=True).start()
    plan, lock = read_plan(), threading.Lock()

    def record(line):
        with lock, open(f"{options.record}-{socket.gethostname()}.jsonl", "a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")

    talks = []
    for rail in plan["rails"]:
        for peer in rail["peers"]:
            ports = [port for entry in peer.get("tcp", []) for port in entry["sourcePorts"]]
            if ports:
                talks.append(threading.Thread(target=talk, args=(peer["address"], ports, options, record)))
    for thread in talks:
        thread.start()
    for thread in talks:
        thread.join()
    time.sleep(5)  # peers may still send


if __name__ == "__main__":
    main()
