"""Where a benchmark script's numbers come from: CPU, kernel, commit and date, for its result file."""
import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cpu_model():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", text, re.M) or re.search(r"^cpu\s*:\s*(.*)$", text, re.M)
    return model.group(1) if model else platform.machine()


def origin(**more):
    """`more`: what a script adds, such as the versions of compilers."""
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True,
                            text=True).stdout.strip()
    return {"cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(), **more,
            "commit": commit,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
