"""A browser for tests: Chromium without a window, spoken to in its DevTools protocol over two pipes.

Nothing but the standard library: messages are JSON, each ended by a zero byte, on the file descriptors 3 and 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0  # seconds


def found():
    """The browser's program, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page in one browser."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        options = (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
            f"--user-data-dir={self.folder.name}", "--no-startup-window",
        )  # fmt: skip
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", script, found(), *options], pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder.name,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._rest, self.events = 0, b"", []
        self._session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        """Ask for something, and wait for the answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _read(self, patience=PATIENCE):
        end = time.monotonic() + patience
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._in, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def look(self, width=1200, height=900, dark=False, still=True):
        """The size of the window (a phone's below 600), and what its owner prefers."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        wishes = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce" if still else "",
        }
        self.send(
            "Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in wishes.items()]
        )

    def open(self, path):
        """Show a file, and wait until its script has run."""
        self.events.clear()
        self.send("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.ready === 'true'")

    def run(self, expression):
        """The value of a JavaScript expression in the page."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}; {self.complaints}")
            time.sleep(0.02)

    def middle_of(self, selector):
        """Where an element is in the window, once it has been scrolled there."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{element}.scrollIntoView({{block: 'center'}})")
        box = self.run(f"{element}.getBoundingClientRect().toJSON()")
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def mouse(self, kind, x, y):
        """Move or press the mouse."""
        pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def click(self, selector):
        """Click into the middle of an element."""
        x, y = self.middle_of(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def key(self, name, code=0):
        """Press a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def picture(self, path):
        """The whole page as an image."""
        made = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(made["data"]))

    def paper(self, path):
        """The page as it is printed."""
        Path(path).write_bytes(base64.b64decode(self.send("Page.printToPDF", printBackground=False)["data"]))

    @property
    def complaints(self):
        """Errors and warnings of the page since it was opened."""
        self.run("0")
        errors = [e for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        logged = [
            e
            for e in self.events
            if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] in ("error", "warning")
        ]
        return [json.dumps(e["params"]) for e in errors + logged]

    @property
    def loaded(self):
        """Addresses that the page asked for since it was opened, the page itself and data in it apart."""
        self.run("0")
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [address for address in asked[1:] if not address.startswith("data:")]

    def close(self):
        """End the browser."""
        self._session = None
        try:
            self.send("Browser.close")
            self._process.wait(timeout=10)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self.folder.cleanup()
