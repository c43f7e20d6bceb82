"""Says each 15 s that a long step still runs, and how far it is: tools/progress.py WHAT COMMAND...

The command's output is shown only if it fails, without the lines that merely count steps
("[12/340] ...", as ninja and CMake print them). Progress goes to standard error.
"""

import contextlib
import re
import subprocess
import sys
import threading
import time

EVERY_S = 15
COUNT = re.compile(r"\[(\d+)/(\d+)\] ")


class Step:
    """A step under way. `done` and `total` may be set at any time; without a total only seconds are shown."""

    def __init__(self, what):
        self.what, self.done, self.total, self.began = what, 0, 0, time.monotonic()

    def line(self):
        seconds = f"{time.monotonic() - self.began:.0f} s so far"
        return f"   {self.what}: " + (f"{self.done} of {self.total} done, {seconds}" if self.total else seconds)


@contextlib.contextmanager
def shown(what):
    """Yields a Step, whose line is printed each 15 s while the block runs."""
    step, ended = Step(what), threading.Event()

    def tell():
        while not ended.wait(EVERY_S):
            print(step.line(), file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield step
    finally:
        ended.set()
        teller.join()


def main():
    what, command, held = sys.argv[1], sys.argv[2:], []
    with shown(what) as step, subprocess.Popen(command, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        for line in child.stdout:
            if count := COUNT.match(line):
                step.done, step.total = int(count[1]), int(count[2])
            else:
                held.append(line)
    if child.returncode:
        sys.stderr.writelines(held)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main())
