"""Serves this model repository with the Triton in the wheel of nvidia-pytriton, on the CPU.

Run it with the Python of an environment that has nvidia-pytriton: `python serve_wheel.py --port
8000`. Options that this script does not know go to tritonserver. Ctrl-C or SIGTERM ends both. If
the server dies, it is started again. `python serve_wheel.py --restart`, with any Python, ends the
server and returns once a new one is ready: a model whose process died comes back in no other way.

The wheel's Triton does not run as it is: its Python backend lies beside no stub, and its libraries
are where no loader looks.
"""

import argparse
import fcntl
import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Locked while this script serves.
SERVING = HERE / ".serving"
# Made by --restart, and removed once the new server is ready.
RESTART = HERE / ".restart"
STOP_WITHIN_S = 10
POLL_S = 0.1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="of HTTP, on 127.0.0.1")
    parser.add_argument("--restart", action="store_true", help="what serves this folder already")
    arguments, others = parser.parse_known_args()
    with SERVING.open("w") as lock:
        serving = not locked(lock)
        if arguments.restart:
            return restart(lock) if serving else "nothing serves this folder: start it first"
        if serving:
            return "something serves this folder already"
        RESTART.unlink(missing_ok=True)
        return serve(arguments.port, others)


def locked(lock):
    """Lock the file and return True, unless another process has."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def restart(lock):
    """Have the process that serves this folder start its server again; return once it is ready."""
    RESTART.touch()
    while RESTART.exists():
        if locked(lock):
            return "what served this folder has ended"
        time.sleep(POLL_S)
    return 0


def serve(port, others):
    """Serve until this script is told to end, or a server ends before it was ever ready; return
    the exit code."""
    # Looked up, not imported: importing it starts a lot that is of no use here.
    spec = find_spec("pytriton")
    if spec is None or spec.origin is None:
        return f"{sys.executable} has no nvidia-pytriton: install it with its pip"
    triton = Path(spec.origin).parent / "tritonserver"
    shared_memory = f"v2_conformance_{os.getpid()}_"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="v2-conformance-triton-") as backends:
        copy_python_backend(triton, Path(backends) / "python")
        command = [
            str(triton / "bin" / "tritonserver"),
            f"--model-repository={HERE}",
            f"--backend-directory={backends}",
            "--http-address=127.0.0.1",
            f"--http-port={port}",
            "--allow-grpc=false",
            "--allow-metrics=false",
            # One model that fails to load must not take the others along.
            "--exit-on-error=false",
            "--strict-readiness=false",
            # The files have all of it; to complete them, each model's process would start twice.
            "--disable-auto-complete-config",
            # With a model's process dead, which cases can cause, it would wait 30 s for it.
            "--exit-timeout-secs=5",
            f"--backend-config=python,shm-default-byte-size={shared_memory_bytes()}",
            f"--backend-config=python,shm-region-prefix-name={shared_memory}",
            *others,
        ]
        code = None
        while code is None:
            if not is_free(port):
                return f"something else listens on 127.0.0.1:{port}"
            code = run(command, environment(triton), port)
            # A process that was killed leaves its shared memory behind.
            for region in Path("/dev/shm").glob(f"{shared_memory}*"):
                region.unlink(missing_ok=True)
    return code


def run(command, environment, port):
    """Run one server; return its exit code, or None if another one has to be started."""
    asked, ready = RESTART.exists(), False
    # A group of its own, with a process for each model.
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while process.poll() is None:
            if not asked and RESTART.exists():
                return None
            if not ready and is_ready(port):
                ready = True
                if asked:
                    RESTART.unlink(missing_ok=True)
                    asked = False
            time.sleep(POLL_S)
        if ready:
            print(f"the server ended ({process.returncode}): starting it again", file=sys.stderr)
            return None
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            # Told once is enough, and what was copied has yet to be removed.
            signal.signal(number, signal.SIG_IGN)
        process.terminate()
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            pass
    finally:
        # Also what is left of a server that died.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    code = process.returncode
    # As a shell says that a signal ended it.
    return code if code >= 0 else 128 - code


def is_free(port):
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def is_ready(port):
    """Return True if the server answers, which it does once it has loaded its models."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/v2/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def copy_python_backend(triton, backend):
    """Copy the Python backend with the stub of this Python, which Triton wants beside it."""
    python = "%d.%d" % sys.version_info[:2]
    stub = triton / "python_backend_stubs" / python / "triton_python_backend_stub"
    if not stub.is_file():
        sys.exit(f"nvidia-pytriton {version('nvidia-pytriton')} has no stub for Python {python}")
    shutil.copytree(triton / "backends" / "python", backend)
    # Some installers drop the executable bit, and Triton then reports a model that never starts.
    Path(shutil.copy(stub, backend)).chmod(0o755)


def environment(triton):
    """The environment of the server: where it finds its libraries and this Python."""
    variables = dict(os.environ)
    # The server's own libraries, and libpython for the process of each model.
    libraries = [str(triton.parent.parent / "nvidia_pytriton.libs")]
    libraries += filter(None, [sysconfig.get_config_var("LIBDIR")])
    prepend(variables, "LD_LIBRARY_PATH", *libraries)
    # The models' processes embed the Python that PATH finds; it must be this one, with its numpy.
    prepend(variables, "PATH", str(Path(sys.executable).parent))
    return variables


def prepend(variables, name, *folders):
    before = variables.get(name)
    variables[name] = os.pathsep.join([*folders, *([before] if before else [])])


def shared_memory_bytes():
    """The shared memory for each model's process; containers have little (64 MB).

    Triton 2.36 and older need 4 MiB for a model to load.
    """
    major, minor = map(int, version("nvidia-pytriton").split(".")[:2])
    return (4 if (major, minor) < (0, 4) else 1) << 20


if __name__ == "__main__":
    sys.exit(main())
