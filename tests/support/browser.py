"""A real browser for the tests: headless Chromium, driven over its debugging pipe, without any further package."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

__all__ = ["Browser", "chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str:
    """The browser's program, or a skipped test where there is none."""
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return found
    pytest.skip(f"there is no browser here: none of {', '.join(_NAMES)}")


class Browser:
    """One page in a browser of its own.

    Parameters
    ----------
    profile
        A new directory for its files.
    patience
        How long an answer may take [s].

    Attributes
    ----------
    complaints
        Errors of the page: on its console, exceptions, requests that failed.
    requests
        Addresses that the page asked for.
    """

    def __init__(self, profile: Path, patience: float = 60.0) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._patience = patience
        self._number = 0
        self._rest = b""
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # What the browser reads and writes has the numbers 3 and 4.
        keep = [os.dup2(fd, 60 + fd % 10 + 10 * place) for place, fd in enumerate((theirs_in, theirs_out))]

        def wire() -> None:
            os.dup2(keep[0], 3)
            os.dup2(keep[1], 4)

        self._process = subprocess.Popen(
            [chromium(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=wire,
            close_fds=False, start_new_session=True,
        )  # fmt: skip
        for fd in (theirs_in, theirs_out, *keep):
            os.close(fd)
        self._in, self._out = ours_in, ours_out
        self._session: str | None = None
        target = self._wait_for_page()
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session = None
        try:
            self.call("Browser.close")
            self._process.wait(timeout=20)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._in)
            os.close(self._out)

    def _wait_for_page(self) -> str:
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            for info in self.call("Target.getTargets")["targetInfos"]:
                if info["type"] == "page":
                    return str(info["targetId"])
            time.sleep(0.05)
        raise TimeoutError("the browser shows no page")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser for something."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self._patience
        while True:
            answer = self._receive(until)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])
            self._note(answer)

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser has not answered in {self._patience:g} s")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise OSError("the browser is gone")
            self._rest += chunk
        found, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(found))

    def _note(self, event: dict[str, Any]) -> None:
        what = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = what["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if what["type"] in ("error", "warning", "assert"):
                self.complaints.append(" ".join(str(part.get("value", part)) for part in what["args"]))
            case "Log.entryAdded" if what["entry"]["level"] in ("error", "warning"):
                self.complaints.append(what["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(what["request"]["url"])
            case _:
                pass

    def open(
        self,
        path: Path,
        *,
        width: int = 1280,
        height: int = 800,
        dark: bool = False,
        touch: bool = False,
        paper: bool = False,
    ) -> None:
        """Show a file, as on a screen or as on paper."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )  # fmt: skip
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch, maxTouchPoints=2 if touch else 1)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "", features=features)
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")
        self.frames()

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of the page, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression of the page is true."""
        until = time.monotonic() + self._patience
        while not self.evaluate(condition):
            if time.monotonic() > until:
                raise TimeoutError(f"it never became true that {condition}")
            time.sleep(0.02)

    def frames(self, count: int = 2) -> None:
        """Until the page has been drawn so often."""
        drawn = f"let n = {count}; const go = () => n-- > 0 ? requestAnimationFrame(go) : done(); go();"
        self.evaluate(f"new Promise(done => {{ {drawn} }})")

    def key(self, key: str, *, alt: bool = False, shift: bool = False) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        if key == "Enter":
            text = {"text": "\r"}
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9}
        named = {"key": key, "modifiers": alt + 8 * shift, "windowsVirtualKeyCode": codes.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, **others: Any) -> None:
        """Move the mouse, press or release its button, or turn its wheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **others)

    def print(self) -> bytes:
        """The page as it would be printed: a PDF file."""
        import base64

        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])

    def screenshot(self, path: Path) -> None:
        """What is seen, as PNG."""
        import base64

        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
