"""Tool calls of an agent, judged and made by pinfold.

    with Gate("/home/ana/work/site") as gate:
        reply = gate.call("Write", {"file_path": "notes.md", "content": "hello\n"})
        print(reply.ended, reply.text)

    with Check() as check:
        print(check.decide("Bash", {"command": "git push"}, cwd="/home/ana/work/site").decision)

One process stands behind each object for as long as it lives, or, with `socket="PATH"`, a connection to `pinfold serve --socket PATH`.
Calls of several threads are made one after the other. What is refused is a reply and no exception: hand its text to the model.
`PinfoldError` says that pinfold itself could not go on; then nothing more was done.

Over a socket your program can answer questions itself:

    def ask(request):
        return {"choice": "yes"} if request["tool"] == "Write" else {"choice": "no", "message": "ask ana"}

    Gate("/home/ana/work/site", socket=path, answers=ask)
"""

from __future__ import annotations

import json
import os
import socket as sockets
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union

__all__ = ["Answers", "Check", "Decision", "Gate", "PinfoldError", "Reply"]

Answers = Callable[[Dict[str, Any]], Mapping[str, Any]]
"""A request in, a choice out: `{"choice": "yes"}`, `{"choice": "no", "message": …}` or another of docs/approvals.md."""


class PinfoldError(Exception):
    """pinfold could not be started, or has ended; what it said is the message."""


@dataclass(frozen=True)
class Reply:
    """What came of a call."""

    ended: Literal["done", "refused", "failed"]
    """`refused`: the gate said no, and nothing was done. `failed`: it was allowed, and did not work out."""
    content: List[Dict[str, Any]]
    """What the model reads, in pieces."""
    structured: Any
    """The same as data; of a refusal or failure its envelope, with `error` and `message`."""
    stop: Optional[str] = None
    """A hook wants the agent to stop, and why."""

    @property
    def text(self) -> str:
        """What the model reads, as far as it is text."""
        return "\n".join(piece["text"] for piece in self.content if piece.get("type") == "text")


@dataclass(frozen=True)
class Decision:
    """What would be decided about a call. Nothing was done."""

    decision: Literal["allow", "ask", "deny"]
    step: str
    reason: str
    rule: Optional[str] = None
    source: Optional[str] = None
    safeguard: Optional[str] = None
    refusal: Optional[Dict[str, Any]] = None
    claims: Dict[str, Any] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)


class _Lines:
    """A process that answers each line with one."""

    def __init__(self, command: Sequence[str], cwd: Optional[str]) -> None:
        self._lock = threading.Lock()
        try:
            self._process = subprocess.Popen(
                list(command),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise PinfoldError(f"{command[0]} cannot be started: {error}") from error
        self._said: List[str] = []
        # What is told on standard error must not fill its pipe.
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line)
            del self._said[:-100]

    def ask(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        with self._lock:
            assert self._process.stdin is not None and self._process.stdout is not None
            try:
                self._process.stdin.write(json.dumps(line) + "\n")
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
            except (OSError, ValueError) as error:
                raise self._gone() from error
            if not answer.endswith("\n"):
                raise self._gone()
            said = json.loads(answer)
            if not isinstance(said, dict):
                raise PinfoldError("pinfold said something that is no object")
            return said

    def _gone(self) -> PinfoldError:
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(timeout=5)
        said = "".join(self._said).strip()
        return PinfoldError(said or f"pinfold has ended with {self._process.returncode}")

    def close(self) -> None:
        """Ends the process, once what was begun is done."""
        with self._lock:
            if self._process.stdin is not None and not self._process.stdin.closed:
                try:
                    self._process.stdin.close()
                except OSError:
                    pass
            self._process.wait()
            self._listener.join(timeout=5)
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()


class _Connection:
    """A connection to `pinfold serve` on which each line is answered with one."""

    def __init__(self, path: str, role: str, answers: Optional[Answers] = None) -> None:
        self._lock = threading.Lock()
        self._answers = answers
        self._socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise PinfoldError(f"{path}: {error}") from error
        self._read = self._socket.makefile("r", encoding="utf-8", newline="\n")
        hello: Dict[str, Any] = {"v": 1, "as": role}
        if answers is not None:
            hello["asks"] = True
        try:
            said = self._said(hello)
            if "hello" not in said:
                raise PinfoldError(str(said.get("error", said)))
        except PinfoldError:
            self.close()
            raise
        self.folder = str(said["hello"]["folder"])

    def _said(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        try:
            try:
                self._socket.sendall(json.dumps(line).encode() + b"\n")
            except OSError:
                # Whoever closes the connection may have said why before.
                pass
            answer = self._read.readline()
        except (OSError, ValueError) as error:
            raise PinfoldError(f"the connection is lost: {error}") from error
        if not answer.endswith("\n"):
            raise PinfoldError("pinfold serve has ended, or has closed the connection")
        said = json.loads(answer)
        if not isinstance(said, dict):
            raise PinfoldError("pinfold said something that is no object")
        return said

    def ask(self, line: Mapping[str, Any]) -> Dict[str, Any]:
        with self._lock:
            said = self._said(line)
            while "asked" in said and self._answers is not None:
                asked = said["asked"]
                try:
                    choice = self._answers(asked)
                except BaseException:
                    # Without an answer nobody can go on here, and what was asked about is not done.
                    self._socket.close()
                    raise
                said = self._said({"do": "answer", "id": asked["id"], "digest": asked["digest"], "answer": choice})
            return said

    def close(self) -> None:
        """Ends the connection, and the session with it."""
        self._read.close()
        self._socket.close()


class Gate:
    """A session: calls are judged by the settings of the folder, made, and recorded.

    `options` are those of `pinfold call`, such as `--allow-bash` or `--read-only`. With `socket` they are those that the server was
    started with, and so is the folder; `answers` is asked about its calls, on the thread that makes them.
    """

    def __init__(
        self,
        folder: str,
        *,
        options: Sequence[str] = (),
        pinfold: str = "pinfold",
        socket: Optional[str] = None,
        answers: Optional[Answers] = None,
    ) -> None:
        self._lines: Union[_Lines, _Connection]
        if socket is None:
            if answers is not None:
                raise ValueError("`answers` needs a `socket`")
            self._lines = _Lines([pinfold, "call", "--lines", *options], folder)
            return
        if options:
            raise ValueError("with a `socket` the options are those of the server")
        connection = _Connection(socket, "call", answers)
        if os.path.realpath(folder) != connection.folder:
            connection.close()
            raise PinfoldError(f"the server is for {connection.folder}, not for {folder}")
        self._lines = connection

    def call(self, tool: str, input: Mapping[str, Any]) -> Reply:
        """Makes a call. Waits for a person where one is asked."""
        said = self._lines.ask({"tool": tool, "input": input})
        if "ended" not in said:
            raise PinfoldError(str(said.get("error", said)))
        return Reply(said["ended"], said["content"], said["structured"], said.get("stop"))

    def close(self) -> None:
        """Ends the session."""
        self._lines.close()

    def __enter__(self) -> "Gate":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Check:
    """Decides about calls without making them. `options` are those of `pinfold check`, such as `--no-settings`."""

    def __init__(
        self, *, options: Sequence[str] = (), pinfold: str = "pinfold", socket: Optional[str] = None
    ) -> None:
        if socket is not None and options:
            raise ValueError("with a `socket` the options are those of the server")
        self._lines: Union[_Lines, _Connection] = (
            _Lines([pinfold, "check", *options], None) if socket is None else _Connection(socket, "check")
        )

    def decide(self, tool: str, input: Mapping[str, Any], **line: Any) -> Decision:
        """What would be decided. `line`: any other field of a line, such as `cwd`, `mode`, `rules`, `headless`."""
        said = self._lines.ask({"tool": tool, "input": input, **line})
        if "error" in said:
            raise PinfoldError(str(said["error"]))
        known = {name: said[name] for name in Decision.__dataclass_fields__ if said.get(name) is not None}
        return Decision(**known)

    def close(self) -> None:
        """Ends the process."""
        self._lines.close()

    def __enter__(self) -> "Check":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
