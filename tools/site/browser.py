"""Open pages of a built site in headless Chromium, on a screen and on a telephone, and list what is wrong."""

from __future__ import annotations

import functools
import html
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

WIDTHS = (1280, 390)
PAGES = (
    "index.html",
    "install.html",
    "first-steps.html",
    "choosing.html",
    "report.html",
    "command-line.html",
    "guide/index.html",
    "guide/classification.html",
    "guide/coming-from.html",
    "auto_examples/index.html",
    "reference/index.html",
    "reference/svmgsu.GSUClassifier.html",
    "theory.html",
)

# The probe shows each page in frames of both widths and writes what it finds into its own document.
PROBE = """<!DOCTYPE html><meta charset="utf-8"><pre id="found">not finished</pre><script>
const pages = PAGES, widths = WIDTHS, found = [];
const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
function luminance(rgb) {
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const [r, g, b] = rgb.slice(0, 3).map(v => linear(v / 255));
  return .2126 * r + .7152 * g + .0722 * b;
}
function background(node, view) {
  for (; node; node = node.parentElement) {
    const colour = channels(view.getComputedStyle(node).backgroundColor);
    if (colour.length === 3 || colour[3] > .99) return colour;
  }
  return [255, 255, 255];
}
function check(name, width, frame) {
  const view = frame.contentWindow, page = frame.contentDocument, root = page.documentElement;
  if (root.scrollWidth > width) found.push(`${name} at ${width} px is ${root.scrollWidth} px wide`);
  const seen = new Set();
  for (const node of page.querySelectorAll("main *")) {
    const text = [...node.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join("");
    const style = view.getComputedStyle(node);
    const shown = node.getClientRects().length && style.visibility === "visible" && style.opacity == 1;
    if (!text || !shown) continue;
    const both = [channels(style.color), background(node, view)];
    const [low, high] = both.map(luminance).sort((a, b) => a - b);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const ratio = (high + .05) / (low + .05), key = both.join();
    if (ratio < (large ? 3 : 4.5) && !seen.has(key)) {
      seen.add(key);
      found.push(`${name} at ${width} px: contrast ${ratio.toFixed(2)} of "${text.slice(0, 30)}"`);
    }
  }
}
async function run() {
  for (const name of pages) for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
    const loaded = new Promise(resolve => { frame.onload = resolve; });
    frame.src = "/" + name;
    document.body.append(frame);
    await loaded;
    await new Promise(resolve => setTimeout(resolve, 200));
    check(name, width, frame);
    frame.remove();
  }
  document.getElementById("found").textContent = JSON.stringify(found);
}
addEventListener("load", run);
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and the probe as /probe.html."""

    def __init__(self, *given: object, probe: str, directory: str) -> None:
        self.probe = probe
        super().__init__(*given, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.path != "/probe.html":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.probe.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def chromium() -> str | None:
    """Return the program, if it is installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def faults(site: Path, pages: tuple[str, ...] = PAGES, seconds: int = 300) -> list[str]:
    """Return pages wider than the window, text with less contrast than WCAG AA asks, and console errors."""
    program = chromium()
    if program is None:
        return []
    probe = PROBE.replace("PAGES", json.dumps(pages), 1).replace("WIDTHS", json.dumps(WIDTHS), 1)
    handler = functools.partial(Handler, probe=probe, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Chromium run by root has no sandbox of its own.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    address = f"http://127.0.0.1:{server.server_port}/probe.html"
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", *root, "--disable-gpu", "--enable-logging=stderr", "--window-size=1400,1000"]
        options += [f"--user-data-dir={profile}", f"--virtual-time-budget={1000 * seconds}", "--dump-dom"]
        done = subprocess.run(
            [program, *options, address], capture_output=True, encoding="utf-8", timeout=2 * seconds
        )
    server.shutdown()
    server.server_close()
    (text,) = re.findall(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.S) or ["not finished"]
    if text == "not finished":
        return [f"Chromium did not finish: {done.stderr[-500:]}"]
    said = re.findall(r"CONSOLE.*?\] (\".*)", done.stderr)
    # The theme logs which of its colours it uses.
    console = [line for line in said if "pydata-sphinx-theme.js" not in line or "Uncaught" in line]
    return [*json.loads(html.unescape(text)), *(f"console: {line}" for line in console)]
