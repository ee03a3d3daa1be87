"""A model that says what a script says, on loopback, in the four forms in which coding agents ask one: Anthropic Messages, OpenAI
Responses, OpenAI Chat Completions, Gemini. It keeps no state: the turn is the number of turns with calls in the request itself.
"""

import gzip
import json
import re
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text_of(content):
    """All text of a piece of content, whatever form it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(map(text_of, content))
    if isinstance(content, dict):
        return "\n".join(text_of(value) for key, value in content.items() if key not in ("type", "id", "name"))
    return ""


class Model:
    """`script`: the calls, one for each turn, as functions from the names of the offered tools to (name, input). `before(n)` is
    called before turn n is answered. What the agent was told of each call is in `told`."""

    def __init__(self, script, before=lambda turn: None):
        self.script, self.before, self.told, self.seen = script, before, {}, set()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer({"object": "list", "data": [{"id": "mock", "object": "model"}], "models": []})

            do_HEAD = do_GET

            def do_POST(self):
                if self.headers.get("transfer-encoding", "").lower() == "chunked":
                    raw = b""
                    while size := int(self.rfile.readline().split(b";")[0], 16):
                        raw += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.headers.get("content-encoding") == "gzip":
                    raw = gzip.decompress(raw)
                try:
                    model.reply(self, self.path.split("?")[0], json.loads(raw or b"{}"))
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def answer(self, value):
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def stream(self, events):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for name, data in events:
                    line = f"event: {name}\n" if name else ""
                    line += f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line.encode()), line.encode()))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def turn(self, done, tools):
        """What is said in this turn: a call, or that it is over."""
        if not tools or done >= len(self.script):
            return None
        if done not in self.seen:
            self.seen.add(done)
            self.before(done)
        name, value = self.script[done](list(tools))
        return f"t{done:02}", name, value, tools.get(name)

    def reply(self, to, path, asked):
        if path.endswith(("/count_tokens", ":countTokens")):
            return to.answer({"input_tokens": 1, "totalTokens": 1})
        if path.endswith("/messages"):
            return self.anthropic(to, asked)
        if path.endswith("/responses"):
            return self.responses(to, asked)
        if path.endswith("/chat/completions"):
            return self.chat(to, asked)
        if ":generateContent" in path or ":streamGenerateContent" in path:
            return self.gemini(to, asked, ":stream" in path)
        return to.answer({})

    def anthropic(self, to, asked):
        done = 0
        for message in asked.get("messages", []):
            content = message["content"] if isinstance(message["content"], list) else []
            done += any(piece.get("type") == "tool_use" for piece in content)
            for piece in content:
                if piece.get("type") == "tool_result":
                    self.told[piece["tool_use_id"][-3:]] = text_of(piece.get("content"))
        turn = self.turn(done, {tool.get("name"): tool for tool in asked.get("tools") or []})
        if turn:
            piece = {"type": "tool_use", "id": f"toolu_{turn[0]}", "name": turn[1], "input": turn[2]}
            start, delta = dict(piece, input={}), {"type": "input_json_delta", "partial_json": json.dumps(turn[2])}
        else:
            piece = {"type": "text", "text": "done"}
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
        stop = "tool_use" if turn else "end_turn"
        message = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": asked.get("model", "mock"), "content": [piece],
                   "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not asked.get("stream"):
            return to.answer(message)
        ends = {"stop_reason": stop, "stop_sequence": None}
        events = [{"type": "message_start", "message": dict(message, content=[], stop_reason=None)},
                  {"type": "content_block_start", "index": 0, "content_block": start},
                  {"type": "content_block_delta", "index": 0, "delta": delta},
                  {"type": "content_block_stop", "index": 0},
                  {"type": "message_delta", "delta": ends, "usage": {"output_tokens": 1}},
                  {"type": "message_stop"}]
        to.stream((event["type"], event) for event in events)

    def responses(self, to, asked):
        turns, tools = set(), {}
        given = asked.get("input", [])
        for item in given if isinstance(given, list) else []:
            if item.get("type") in ("function_call", "custom_tool_call"):
                turns.add(item["call_id"])
            elif str(item.get("type")).endswith("_output"):
                self.told[item["call_id"][-3:]] = text_of(item.get("output"))
        for tool in asked.get("tools") or []:
            inner = tool.get("tools") if tool.get("type") == "namespace" else None
            for one in inner or [tool]:
                name = tool["name"] + one["name"] if inner else one.get("name", one.get("type"))
                tools[name] = dict(one, space=tool["name"] if inner else None)
        turn = self.turn(len(turns), tools)
        if turn:
            identity, name, value, tool = turn
            space = (tool or {}).get("space")
            item = {"id": f"fc_{identity}", "call_id": f"call_{identity}", "status": "completed"}
            if space:
                item["namespace"], name = space, name[len(space):]
            elif isinstance(value, dict) and "namespace" in value:
                value = dict(value)
                item["namespace"] = value.pop("namespace")
            if isinstance(value, str):
                item.update(type="custom_tool_call", name=name, input=value)
            else:
                item.update(type="function_call", name=name, arguments=json.dumps(value))
        else:
            said = [{"type": "output_text", "text": "done", "annotations": []}]
            item = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": "completed", "content": said}
        usage = {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2}
        whole = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "created_at": 1, "status": "completed", "model": "mock", "output": [item],
                 "usage": usage}
        if not asked.get("stream"):
            return to.answer(whole)
        events = [("response.created", {"response": dict(whole, output=[], status="in_progress", usage=None)}),
                  ("response.output_item.added", {"output_index": 0, "item": dict(item, status="in_progress")}),
                  ("response.output_item.done", {"output_index": 0, "item": item}),
                  ("response.completed", {"response": whole})]
        to.stream((name, dict(data, type=name, sequence_number=n)) for n, (name, data) in enumerate(events))

    def chat(self, to, asked):
        done = 0
        for message in asked.get("messages", []):
            done += bool(message.get("tool_calls"))
            if message["role"] == "tool":
                self.told[message["tool_call_id"][-3:]] = text_of(message.get("content"))
        turn = self.turn(done, {tool["function"]["name"]: tool for tool in asked.get("tools") or [] if "function" in tool})
        said = {"role": "assistant", "content": None if turn else self.final(asked)}
        if turn:
            call = {"name": turn[1], "arguments": json.dumps(turn[2])}
            said["tool_calls"] = [{"id": f"call_{turn[0]}", "type": "function", "function": call}]
        stop = "tool_calls" if turn else "stop"
        base = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": 1, "model": "mock"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not asked.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": stop}
            return to.answer(dict(base, object="chat.completion", choices=[choice], usage=usage))
        delta = dict(said, content=said["content"] or "")
        if turn:
            delta["tool_calls"] = [dict(said["tool_calls"][0], index=0)]
        base["object"] = "chat.completion.chunk"
        to.stream([(None, dict(base, choices=[{"index": 0, "delta": delta, "finish_reason": None}])),
                   (None, dict(base, choices=[{"index": 0, "delta": {}, "finish_reason": stop}])),
                   (None, dict(base, choices=[], usage=usage)), (None, "[DONE]")])

    def final(self, asked):
        """For an agent without tools the script is the text of its one answer."""
        texts = [step for step in self.script if isinstance(step, str)]
        return texts[0] if texts and not asked.get("tools") else "done"

    def gemini(self, to, asked, streams):
        done = 0
        for content in asked.get("contents", []):
            parts = content.get("parts", [])
            done += any("functionCall" in part for part in parts)
            for part in parts:
                if "functionResponse" in part:
                    self.told[f"t{done - 1:02}"] = text_of(part["functionResponse"].get("response"))
        tools = {one["name"]: one for tool in asked.get("tools") or [] for one in tool.get("functionDeclarations", [])}
        turn = self.turn(done, tools)
        part = {"functionCall": {"id": turn[0], "name": turn[1], "args": turn[2]}} if turn else {"text": "done"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "mock"}
        if streams:
            to.stream([(None, whole)])
        else:
            to.answer(whole)


def offered(pattern, otherwise):
    """The first tool whose name fits, whatever an agent makes of it; where tools are offered later, the name it has then."""
    return lambda tools: next((tool for tool in tools if tool and re.search(pattern, tool)), otherwise)
