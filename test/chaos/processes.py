"""Our processes as the chaos driver runs them: each behind a proxy of its own, started again when it ends."""
import asyncio
import os
import signal
import subprocess
import time


class Proxy:
    """One process's way to the API server. TLS passes through, so faults are those of a network."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.mode = "pass"  # or delay, swallow (answers are lost), hang (nothing moves), cut
        self.delay = 0.0
        self.lost = 0  # pieces of answers
        self.connections = set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        if self.mode == "cut":
            writer.transport.abort()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection(*self.upstream)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, up_writer)
        self.connections.add(pair)
        try:
            await asyncio.gather(self.pump(reader, up_writer, True), self.pump(up_reader, writer, False))
        except asyncio.CancelledError:
            pass  # the driver ends
        finally:
            self.connections.discard(pair)
            self.abort(pair)

    @staticmethod
    def abort(pair):
        for writer in pair:
            writer.transport.abort()

    async def pump(self, reader, writer, upwards):
        try:
            while data := await reader.read(65536):
                while self.mode == "hang":
                    await asyncio.sleep(0.05)
                if self.mode == "delay":
                    await asyncio.sleep(self.delay)
                if self.mode == "swallow" and not upwards:
                    self.lost += 1
                    continue
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    def set(self, mode, delay=0.0):
        # Answers that were swallowed leave a broken stream behind, and a cut ends what is open.
        if mode == "cut" or self.mode == "swallow":
            for pair in list(self.connections):
                self.abort(pair)
        self.mode, self.delay = mode, delay


class Replica:
    """A process that is started again when it ends, as the kubelet would."""

    def __init__(self, name, command, folder, proxy):
        self.name, self.command, self.folder, self.proxy = name, command, folder, proxy
        self.lives = 0
        self.process = None
        self.stopped_until = 0
        self.crashes = []  # ends that no signal of ours explains
        self.expects_end = False

    def start(self):
        self.lives += 1
        self.expects_end = False
        with open(os.path.join(self.folder, f"{self.name}-{self.lives}.log"), "w") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self, number):
        """SIGKILL or SIGTERM; also of a process that is stopped."""
        self.expects_end = True
        self.signal(number)
        self.signal(signal.SIGCONT)
        self.stopped_until = 0

    def stop_for(self, seconds):
        self.signal(signal.SIGSTOP)
        self.stopped_until = time.monotonic() + seconds

    def tend(self):
        if self.stopped_until and time.monotonic() > self.stopped_until:
            self.signal(signal.SIGCONT)
            self.stopped_until = 0
        code = self.process.poll()
        if code is None:
            return
        if code < 0 and not self.expects_end:
            self.crashes.append(f"{self.name}-{self.lives}: signal {-code}")
        self.start()

    def end(self):
        self.kill(signal.SIGKILL)
        self.process.wait()
