/**
 * Tool calls of an agent, judged and made by pinfold. Types stand in `pinfold.d.ts`.
 *
 *   const gate = new Gate("/home/ana/work/site");
 *   const reply = await gate.call("Write", { file_path: "notes.md", content: "hello\n" });
 *   console.log(reply.ended, reply.text);
 *   await gate.close();
 *
 * One process stands behind each object for as long as it lives, or, with `socket: "PATH"`, a connection to
 * `pinfold serve --socket PATH`. What is refused is a reply and no error: hand its text to the model.
 */

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { createConnection } from "node:net";
import { createInterface } from "node:readline";

export class PinfoldError extends Error {
  name = "PinfoldError";
}

/** A process that answers each line with one, in order. */
class Lines {
  #process;
  #waiting = [];
  #said = "";
  #ended = null;
  #over;

  constructor(program, args, cwd) {
    this.#process = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "pipe"] });
    this.#process.stderr.setEncoding("utf8").on("data", (text) => {
      this.#said = (this.#said + text).slice(-65536);
    });
    // What could not be written is told by the end of the process.
    this.#process.stdin.on("error", () => {});
    const reader = createInterface({ input: this.#process.stdout, crlfDelay: Infinity });
    reader.on("line", (line) => this.#heard(line));
    this.#over = new Promise((resolve) => {
      this.#process.on("error", (error) => {
        this.#end(new PinfoldError(`${program} cannot be started: ${error.message}`));
        resolve();
      });
      this.#process.on("close", (code) => {
        this.#end(new PinfoldError(this.#said.trim() || `pinfold has ended with ${code}`));
        resolve();
      });
    });
  }

  #heard(line) {
    const waiting = this.#waiting.shift();
    if (waiting === undefined) return;
    try {
      waiting.resolve(JSON.parse(line));
    } catch {
      waiting.reject(new PinfoldError("pinfold said something that is no JSON"));
    }
  }

  #end(error) {
    this.#ended ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(this.#ended);
  }

  ask(line) {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#process.stdin.write(`${JSON.stringify(line)}\n`);
    });
  }

  async close() {
    this.#process.stdin.end();
    await this.#over;
  }
}

/** A connection to `pinfold serve` on which each line is answered with one, in order. */
class Connection {
  #socket;
  #waiting = [];
  #ended = null;
  #answers;
  #over;
  #greeted;

  constructor(path, role, folder, answers) {
    this.#answers = answers;
    this.#socket = createConnection(path);
    const reader = createInterface({ input: this.#socket, crlfDelay: Infinity });
    reader.on("line", (line) => this.#heard(line));
    reader.on("error", () => {});
    this.#over = new Promise((resolve) => {
      this.#socket.on("error", (error) => this.#end(new PinfoldError(`${path}: ${error.message}`)));
      this.#socket.on("close", () => {
        this.#end(new PinfoldError("pinfold serve has ended, or has closed the connection"));
        resolve();
      });
    });
    this.#greeted = this.#send({ v: 1, as: role, ...(answers === undefined ? {} : { asks: true }) }).then((said) => {
      if (said.hello === undefined) throw new PinfoldError(String(said.error));
      if (folder !== undefined && realpathSync(folder) !== said.hello.folder)
        throw new PinfoldError(`the server is for ${said.hello.folder}, not for ${folder}`);
    });
    // Told to whoever asks something.
    this.#greeted.catch((error) => this.#end(error));
  }

  #send(line) {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.write(`${JSON.stringify(line)}\n`);
    });
  }

  #heard(line) {
    let said;
    try {
      said = JSON.parse(line);
    } catch {
      return this.#end(new PinfoldError("pinfold said something that is no JSON"));
    }
    if (said.asked === undefined || this.#answers === undefined) return this.#waiting.shift()?.resolve(said);
    // Without an answer nobody can go on here, and what was asked about is not done.
    Promise.resolve(said.asked)
      .then(this.#answers)
      .then((answer) => {
        const { id, digest } = said.asked;
        this.#socket.write(`${JSON.stringify({ do: "answer", id, digest, answer })}\n`);
      })
      .catch((error) => this.#end(error));
  }

  #end(error) {
    this.#ended ??= error;
    for (const waiting of this.#waiting.splice(0)) waiting.reject(this.#ended);
    this.#socket.destroy();
  }

  async ask(line) {
    await this.#greeted;
    return this.#send(line);
  }

  async close() {
    this.#socket.end();
    await this.#over;
  }
}

export class Gate {
  #lines;

  constructor(folder, { options = [], pinfold = "pinfold", socket, answers } = {}) {
    if (socket === undefined && answers !== undefined) throw new TypeError("`answers` needs a `socket`");
    if (socket !== undefined && options.length > 0) throw new TypeError("with a `socket` the options are those of the server");
    this.#lines =
      socket === undefined
        ? new Lines(pinfold, ["call", "--lines", ...options], folder)
        : new Connection(socket, "call", folder, answers);
  }

  async call(tool, input) {
    const said = await this.#lines.ask({ tool, input });
    if (said.ended === undefined) throw new PinfoldError(String(said.error));
    const text = said.content.filter((piece) => piece.type === "text").map((piece) => piece.text);
    return { ...said, text: text.join("\n") };
  }

  close() {
    return this.#lines.close();
  }
}

export class Check {
  #lines;

  constructor({ options = [], pinfold = "pinfold", socket } = {}) {
    if (socket !== undefined && options.length > 0) throw new TypeError("with a `socket` the options are those of the server");
    this.#lines =
      socket === undefined ? new Lines(pinfold, ["check", ...options], undefined) : new Connection(socket, "check");
  }

  async decide(tool, input, line = {}) {
    const said = await this.#lines.ask({ ...line, tool, input });
    if ("error" in said) throw new PinfoldError(String(said.error));
    return said;
  }

  close() {
    return this.#lines.close();
  }
}
