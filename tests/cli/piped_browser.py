# tests/cli/piped_browser.py - a headless Chromium that is spoken to over pipes, in real time.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import tempfile

from site_case import BROWSER

ONCE_DRAWN = """(async () => {
  const wait = () => new Promise(done => setTimeout(done, 50));
  for (let i = 0; i < 400 && !document.documentElement.dataset.drawn; ++i) await wait();
  %s })()"""
COMPLAINTS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class PipedBrowser:
    """Of a profile of its own. `complaints` holds what pages wrote to the console, errors and refusals of a policy among them."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_browser, its_output = os.pipe()
        its_input, to_browser = os.pipe()

        def third_and_fourth():
            copies = os.dup(its_input), os.dup(its_output)  # above both, so that neither is overwritten
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        self.process = subprocess.Popen(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={self.profile.name}",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1300,1000",
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=third_and_fourth)
        os.close(its_input)
        os.close(its_output)
        self.reader, self.writer = os.fdopen(from_browser, "rb"), os.fdopen(to_browser, "wb")
        self.asked, self.rest, self.loaded, self.complaints = 0, b"", False, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.close()
        self.writer.close()
        self.profile.cleanup()

    def next_message(self):
        while b"\0" not in self.rest:
            more = os.read(self.reader.fileno(), 1 << 16)
            if not more:
                raise RuntimeError(f"{BROWSER} ended while it was asked")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        self.loaded |= message.get("method") == "Page.loadEventFired"
        if message.get("method") in COMPLAINTS:
            self.complaints.append(json.dumps(message["params"]))
        return message

    def ask(self, method, session=None, **params):
        self.asked += 1
        question = {"id": self.asked, "method": method, "params": params, **({"sessionId": session} if session else {})}
        self.writer.write(json.dumps(question).encode() + b"\0")
        self.writer.flush()
        while (message := self.next_message()).get("id") != self.asked:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def look(self, url, script):
        """What the promise of a script gives in a new tab, when the page has been loaded there."""
        page = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable", session)
        self.loaded = False
        self.ask("Page.navigate", session, url=url)
        while not self.loaded:
            self.next_message()
        answer = self.ask("Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True)
        self.ask("Target.closeTarget", targetId=page)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{url}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def look_once_drawn(self, url, script):
        """What a script returns in a page of the site, which draws its charts after its first frame; it may await wait()."""
        return self.look(url, ONCE_DRAWN % script)

    def version(self):
        return self.ask("Browser.getVersion")["product"]
