"""Processes that run cases under limits, and are begun anew when one hangs, dies, or is old."""

import multiprocessing
import time

from tests.hostile.cases import Case

PROCESSOR_SECONDS = 60.0  # that nothing of ten thousand entries may take
WALL_SECONDS = 300.0  # after which a case hangs
CASES_A_PROCESS = 100  # compiled programs add up


def serve(connection):
    """Run the cases that come in, and say what became of each and how long the processor worked."""
    while True:
        text = connection.recv()
        began = time.process_time()
        try:
            verdict = Case.of(text).run()
            connection.send((verdict.ended, verdict.broken, time.process_time() - began))
        except BaseException as error:
            connection.send(("crashed", f"the harness itself: {type(error).__name__}: {error}"[:500], 0.0))


class Worker:
    """A process that runs cases, and is begun anew when it hangs, dies, or is old."""

    def __init__(self):
        self._process, self._done = None, 0

    def run(self, case):
        if self._process is None or self._done >= CASES_A_PROCESS:
            self.end()
            self._begin()
        self._connection.send(str(case))
        self._done += 1
        try:
            if not self._connection.poll(WALL_SECONDS):
                self.end()
                return "broken", f"no hang: more than {WALL_SECONDS:.0f} s", WALL_SECONDS
            ended, broken, seconds = self._connection.recv()
        except (EOFError, ConnectionResetError):
            self.end()
            return "broken", "no crash: the process died", 0.0
        if ended != "broken" and seconds > PROCESSOR_SECONDS:
            return "broken", f"in time: {seconds:.0f} s of a processor", seconds
        return ended, broken, seconds

    def _begin(self):
        self._connection, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._done = 0

    def end(self):
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
