"""A JupyterLab of its own for the tests: started on loopback, stopped with all its children."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import reducekit

_SETTINGS = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}


@contextlib.contextmanager
def server(folder):
    """The address of a JupyterLab that serves a folder."""
    settings = folder / ".settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(_SETTINGS))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / ".workspaces"),
        "JUPYTER_DATA_DIR": str(folder / ".data"),
        "JUPYTER_RUNTIME_DIR": str(folder / ".runtime"),
        "IPYTHONDIR": str(folder / ".ipython"),
        "PYTHONPATH": str(Path(reducekit.__file__).parents[1]),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", "--IdentityProvider.token=", f"--ServerApp.root_dir={folder}",
        "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True",
        "--LabApp.news_url=None",
    ]  # fmt: skip
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    log = (folder / "server.log").open("w")
    process = subprocess.Popen(
        command, env=environment, stdout=log, stderr=log, start_new_session=True
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "server.log").read_text()[-2000:]
                time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def open_notebook(page, address, name):
    """Open a notebook, and wait until its kernel can be asked."""
    page.goto(f"{address}/doc/tree/{name}?reset")
    page.wait_for_function(
        "window.jupyterapp?.shell?.currentWidget?.context?.sessionContext", timeout=60_000
    )
    page.evaluate(
        """async () => {
          const app = window.jupyterapp, panel = app.shell.currentWidget;
          await app.restored; await panel.context.ready;
          await panel.sessionContext.ready; await panel.revealed;
        }"""
    )


def command(page, name, arguments=None):
    page.evaluate("([n, a]) => window.jupyterapp.commands.execute(n, a || {})", [name, arguments])
