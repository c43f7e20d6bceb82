"""What `gantry doctor` reports of a bed, as stories ask for it."""

import json
import subprocess
import time

from bed import ROOT, wait_for

GANTRY = ROOT / "build" / "release" / "bin" / "gantry"


def gantry(bed, word, *flags):
    return subprocess.run([str(GANTRY), word, "--kubeconfig", bed.kubeconfig, *flags], text=True, capture_output=True,
                          check=False, timeout=120)


def doctor(bed):
    """The exit code, and the findings."""
    done = gantry(bed, "doctor", "-o", "json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def problems(found):
    """Those that name a cause. The policy's own condition is none where another line says why: it points at that."""
    named = [one for one in found if one["severity"] == "problem"]
    return [one for one in named if one["code"] != "ClusterPolicyNotReady"] or named


def says(bed, code, thing, *words, timeout=30):
    """Waits until the doctor names this problem, and no other."""
    wait(bed, code, thing, words, timeout, 1, lambda found: problems(found))


def notes(bed, code, thing, *words, timeout=30):
    """Waits until the doctor mentions this, which is no problem, and there is none."""
    wait(bed, code, thing, words, timeout, 0, lambda found: [one for one in found if one["code"] == code])


def wait(bed, code, thing, words, timeout, status, choose):
    """Until the exit code is this, and one line is chosen: of that code, about that thing (on whichever nodes), with
    those words.
    """
    deadline = time.monotonic() + timeout
    while True:
        told, found = doctor(bed)
        chosen = choose(found)
        if told == status and [(one["code"], one["object"].partition(" on ")[0]) for one in chosen] == [(code, thing)]:
            line = " ".join(chosen[0].values())
            if all(word in line for word in words):
                return
        assert time.monotonic() < deadline, f"waited {timeout} s for {code} of {thing} {words}: {told}, {found}"
        time.sleep(0.2)


def nothing_wrong(bed, timeout=60):
    wait_for("the doctor to find nothing wrong", lambda: doctor(bed)[0] == 0, timeout)


def alarms_until(bed, what, settled, timeout):
    """What the doctor says is wrong, with its exit code, until a thing that takes its time has happened."""
    alarms = []

    def looked():
        told, found = doctor(bed)
        alarm = (told, problems(found))
        if told != 0 and alarm not in alarms:
            alarms.append(alarm)
        return settled()
    wait_for(what, looked, timeout)
    return alarms
