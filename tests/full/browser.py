"""Headless Chromium, driven over its debugging pipe: no packages but the browser itself.

    with Browser() as browser:
        page = browser.open(path, width=400, dark=True)
        page.evaluate("document.images.length")

The protocol is JSON, a NUL byte after each message, read by the browser from descriptor 3 and
written to 4 (https://chromedevtools.github.io/devtools-protocol).
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60  # seconds for an answer


def executable() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={self._profile.name}",
        ]
        # Through a shell, because the browser wants descriptors 3 and 4 and no others.
        shell = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, executable(), *flags],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._unread = b""
        self._calls = 0
        self.events: list[dict] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._to)
        self._process.terminate()
        self._process.wait()
        os.close(self._from)
        self._profile.cleanup()

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict:
        """A call and its answer; what happens meanwhile is added to `events`."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._calls:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def wait_for(self, method: str) -> None:
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next())

    def _next(self) -> dict:
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            if not select.select([self._from], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"no answer from the browser in {PATIENCE} s")
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def open(self, path: pathlib.Path, width: int, dark: bool) -> Page:
        return Page(self, path, width, dark)


class Page:
    """A file in a tab of its own, loaded to its end."""

    def __init__(self, browser: Browser, path: pathlib.Path, width: int, dark: bool) -> None:
        self._browser = browser
        self._width = width
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        browser.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        browser.wait_for("Page.loadEventFired")

    def call(self, method: str, **parameters: object) -> dict:
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression: str) -> object:
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def problems(self) -> list[str]:
        """Exceptions of scripts, and what the browser's console calls an error."""
        found = []
        for event in self._browser.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["text"])
            elif (
                event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error"
            ):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """What the page asked for, itself and what it carries aside."""
        urls = [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("file:", "data:"))]

    def move_pointer(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path: pathlib.Path) -> None:
        """All of the page, however long."""
        height = self.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self._width, "height": height, "scale": 1}
        answer = self.call(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(answer["data"]))
