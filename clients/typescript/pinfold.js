/**
 * Tool calls of an agent, judged and made by pinfold. Types stand in `pinfold.d.ts`.
 *
 *   const gate = new Gate("/home/ana/work/site");
 *   const reply = await gate.call("Write", { file_path: "notes.md", content: "hello\n" });
 *   console.log(reply.ended, reply.text);
 *   await gate.close();
 *
 * One process stands behind each object for as long as it lives. What is refused is a reply and no error: hand its text to
 * the model.
 */

import { spawn } from "node:child_process";
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

export class Gate {
  #lines;

  constructor(folder, { options = [], pinfold = "pinfold" } = {}) {
    this.#lines = new Lines(pinfold, ["call", "--lines", ...options], folder);
  }

  async call(tool, input) {
    const said = await this.#lines.ask({ tool, input });
    const text = said.content.filter((piece) => piece.type === "text").map((piece) => piece.text);
    return { ...said, text: text.join("\n") };
  }

  close() {
    return this.#lines.close();
  }
}

export class Check {
  #lines;

  constructor({ options = [], pinfold = "pinfold" } = {}) {
    this.#lines = new Lines(pinfold, ["check", ...options], undefined);
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
