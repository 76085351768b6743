"""Somebody else's API: POST /jobs starts a job, one for each key, and calls back when it is done.

python job_service.py [--job-seconds 5] [--late JOB]

`--late R-2`: that job is started at once, but the answer that says so takes 20 s: time to kill a worker.
"""

import argparse
import hashlib
import hmac
import json
import os
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit

SERVICE = os.environ.get("RENDER_SERVICE", "http://127.0.0.1:8701")
KEY = os.environ.get("RENDER_KEY", "for this example only").encode()
LATE_SECONDS = 20.0
PAUSE_SECONDS = 1.0
MOST_CALLBACKS = 3600


class Jobs:
    """The job of each key."""

    def __init__(self, seconds: float, late: str) -> None:
        self._numbers: dict[str, str] = {}
        self._lock = threading.Lock()
        self.seconds = seconds
        self.late = late

    def job_of(self, key: str) -> tuple[str, bool]:
        """The number of a key's job, and whether it is a new one."""
        with self._lock:
            is_new = key not in self._numbers
            return self._numbers.setdefault(key, f"R-{len(self._numbers) + 1}"), is_new


class Requests(BaseHTTPRequestHandler):
    """POST /jobs with an Idempotency-Key."""

    jobs: ClassVar[Jobs]

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        job, is_new = self.jobs.job_of(self.headers["Idempotency-Key"])
        print(f"job {job}: started" if is_new else f"job {job}: asked for again, nothing is started", flush=True)
        if is_new:
            threading.Thread(target=work, args=(job, order, self.jobs.seconds), daemon=True).start()
            threading.Event().wait(LATE_SECONDS if job == self.jobs.late else 0)
        body = json.dumps({"job": job}).encode()
        self.send_response(202)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing beside what is printed above."""


def work(job: str, order: dict[str, str], seconds: float) -> None:
    """Do a job, and call back until that is taken."""
    threading.Event().wait(seconds)
    print(f"job {job}: done", flush=True)
    body = json.dumps({"job": job, "file": f"{order['scene']}.mp4", "frames": order["frames"]}).encode()
    for _ in range(MOST_CALLBACKS):
        if taken(order["callback_url"], body):
            print(f"job {job}: the callback was taken", flush=True)
            return
        threading.Event().wait(PAUSE_SECONDS)
    print(f"job {job}: nobody takes the callback", flush=True)


def taken(url: str, body: bytes) -> bool:
    """Whether the other side took a callback, which is signed with the key that both sides have."""
    signature = hmac.new(KEY, body, hashlib.sha256).hexdigest()
    try:
        urllib.request.urlopen(urllib.request.Request(url, body, {"X-Signature": signature}), timeout=10).close()
    except OSError:  # nobody there, or an answer that is not 2xx
        return False
    return True


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--job-seconds", type=float, default=5.0)
    options.add_argument("--late", default="")
    given = options.parse_args()
    Requests.jobs = Jobs(given.job_seconds, given.late)
    where = urlsplit(SERVICE)
    with ThreadingHTTPServer((where.hostname or "", where.port or 80), Requests) as server:
        print(f"the render service listens on {SERVICE}", flush=True)
        server.serve_forever()
