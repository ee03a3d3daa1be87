#!/usr/bin/env python3
"""A client of the conformance suite, which is pinfold: logs in by `mcp login`, and speaks through `mcp proxy --url`.

Started by the suite with the address of a server; PINFOLD names the built binary. Its browser says yes to everything.
"""
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

PINFOLD, URL = os.environ["PINFOLD"], sys.argv[-1]
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
NEWEST = "2026-07-28"
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") or "2025-11-25"


def login(env, home, *more):
    words = [PINFOLD, "mcp", "login", URL, "--no-browser", *more]
    if "client_id" in CONTEXT:
        words += ["--client-id", CONTEXT["client_id"]]
        if "client_secret" in CONTEXT:
            env["CLIENT_SECRET"] = CONTEXT["client_secret"]
            words += ["--client-secret-env", "CLIENT_SECRET"]
    elif SCENARIO == "auth/basic-cimd":
        words += ["--client-id", "https://conformance-test.local/client-metadata.json"]
    child = subprocess.Popen(words, env=env, cwd=home, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in child.stderr:
        print(line.rstrip(), flush=True)
        if line.strip().startswith("http"):
            try:
                urllib.request.urlopen(line.strip()).read()
            except OSError as error:
                print("the browser:", error)
    return child.wait() == 0


class Proxy:
    def __init__(self, env, home, revision):
        words = [PINFOLD, "mcp", "proxy", "--name", "up", "--url", URL, "--allowedTools", "mcp__up"]
        self.child = subprocess.Popen(words, env=env, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.revision, self.number = revision, 0

    def says(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.child.stdin.flush()

    def asks(self, method, **params):
        self.number += 1
        if self.revision == NEWEST:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": NEWEST,
                "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
            }
        self.says({"id": self.number, "method": method, "params": params})
        for line in self.child.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:
                self.says({"id": message["id"], "result": answer(message)})
            elif message.get("id") == self.number:
                print(method, json.dumps(message)[:300], flush=True)
                return message
        return {"error": {"message": "it has ended"}}

    def calls(self, name, arguments):
        """Calls a tool, and says what it wants to know, once."""
        said = self.asks("tools/call", name=name, arguments=arguments)
        result = said.get("result", {})
        if result.get("resultType") != "input_required":
            return said
        answers = {key: answer(request) for key, request in result.get("inputRequests", {}).items()}
        state = {"requestState": result["requestState"]} if "requestState" in result else {}
        return self.asks("tools/call", name=name, arguments=arguments, inputResponses=answers, **state)

    def ends(self):
        self.child.stdin.close()
        self.child.wait()


def answer(message):
    """What the person says to a form: all that it proposes."""
    fields = message.get("params", {}).get("requestedSchema", {}).get("properties", {})
    said = {name: field["default"] for name, field in fields.items() if "default" in field}
    said |= {name: True for name, field in fields.items() if field.get("type") == "boolean" and name not in said}
    return {"action": "accept", "content": said}


def filled(schema):
    """What fits a schema."""
    examples = {"integer": 5, "number": 5, "boolean": True, "object": {}, "array": []}
    fields = schema.get("properties", {})
    return {name: field.get("default", examples.get(field.get("type"), "x")) for name, field in fields.items()}


def talk(env, home, revision):
    """Uses every tool. Why something was not answered."""
    proxy, trouble = Proxy(env, home, revision), []
    if revision == NEWEST:
        hello = proxy.asks("server/discover")
    else:
        hello = proxy.asks("initialize", protocolVersion=revision, capabilities={"elicitation": {}},
                           clientInfo={"name": "client", "version": "1"})
        proxy.says({"method": "notifications/initialized"})
    tools = proxy.asks("tools/list")
    trouble += [said["error"]["message"] for said in [hello, tools] if "error" in said]
    schemas = {tool["name"]: tool.get("inputSchema", {}) for tool in tools.get("result", {}).get("tools", [])}
    calls = CONTEXT.get("toolCalls") or [{"name": name, "arguments": filled(schemas[name])} for name in schemas]
    for call in calls:
        arguments = call.get("arguments", {})
        if "echo" in call["name"] and "schema" in arguments:
            # One tool is told what was heard of the other.
            arguments = {"schema": next(schema for name, schema in schemas.items() if name != call["name"])}
        said = proxy.calls(call["name"], arguments)
        if "error" in said:
            trouble.append(said["error"]["message"])
    proxy.ends()
    return trouble


def wanted(trouble):
    """The scope that is to be asked for instead, if it is said."""
    named = [text.split("--scope '")[1].split("'")[0] for text in trouble if "--scope '" in text]
    return ["--scope", named[0]] if named else None


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("BED")) as home:
        env = {"PATH": os.environ["PATH"], "HOME": home}
        if SCENARIO.startswith("auth/") and not login(env, home):
            return 1
        trouble = talk(env, home, REVISION)
        for _ in range(2):
            again = wanted(trouble) or ([] if any("not taken any more" in text for text in trouble) else None)
            if again is None or not login(env, home, *again):
                break
            trouble = talk(env, home, REVISION)
        return 0


sys.exit(main())
