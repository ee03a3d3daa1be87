// Tries the client: `node try_pinfold.js PINFOLD FOLDER`, with an empty folder.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Check, Gate, PinfoldError } from "./pinfold.js";

const [pinfold, folder] = process.argv.slice(2);
const fails = (promise, words) =>
  assert.rejects(promise, (error) => error instanceof PinfoldError && error.message.includes(words));

const gate = new Gate(folder, { pinfold });
const reply = await gate.call("Write", { file_path: "a.txt", content: "one\nzwei ä\n" });
assert.deepEqual([reply.ended, reply.text], ["done", "created a.txt (2 lines)"]);
// In one session a file that was read can be edited.
assert.equal((await gate.call("Edit", { file_path: "a.txt", old_string: "one", new_string: "1" })).ended, "done");
const outside = await gate.call("Write", { file_path: "/etc/pinfold-was-here", content: "x" });
assert.deepEqual([outside.ended, outside.structured.error], ["refused", "RequiresApproval"]);
assert.ok(!existsSync("/etc/pinfold-was-here"));
assert.equal((await gate.call("Read", { file_path: "missing" })).ended, "failed");
const names = Array.from({ length: 8 }, (_, n) => `${n}.txt`);
const made = await Promise.all(names.map((name) => gate.call("Write", { file_path: name, content: name })));
assert.deepEqual(made.map((reply) => reply.text), names.map((name) => `created ${name} (1 lines)`));
await gate.close();
assert.equal(readFileSync(join(folder, "a.txt"), "utf8"), "1\nzwei ä\n");
await fails(gate.call("Read", { file_path: "a.txt" }), "ended");

const readOnly = new Gate(folder, { pinfold, options: ["--read-only"] });
assert.equal((await readOnly.call("Write", { file_path: "b.txt", content: "x" })).ended, "refused");
await readOnly.close();

const check = new Check({ pinfold, options: ["--no-settings"] });
const decision = await check.decide("Bash", { command: "git push -f" }, { cwd: folder });
assert.deepEqual([decision.decision, decision.safeguard], ["ask", "force-push"]);
assert.deepEqual(decision.claims.commands, ["git push -f"]);
const headless = await check.decide("Bash", { command: "git push -f" }, { cwd: folder, headless: true });
assert.ok(headless.decision === "deny" && headless.refusal !== null);
const allowed = await check.decide("Bash", { command: "make" }, { cwd: folder, rules: { allow: ["Bash(make)"] } });
assert.deepEqual([allowed.decision, allowed.rule], ["allow", "Bash(make)"]);
await fails(check.decide("Read", { file_path: "a" }, { misspelt: true }), "misspelt");
// And it goes on.
assert.equal((await check.decide("Read", { file_path: "a" }, { cwd: folder })).decision, "allow");
await check.close();

await fails(new Gate(folder, { pinfold: join(folder, "gone") }).call("Read", { file_path: "a" }), "cannot be started");
await fails(new Gate(folder, { pinfold, options: ["--no-such-option"] }).call("Read", { file_path: "a" }), "--no-such-option");
// The same over a socket, with a program that answers questions itself.
const place = mkdtempSync(join(tmpdir(), "pinfold-"));
const [socket, beyond] = [join(place, "s"), join(place, "outside")];
const server = spawn(pinfold, ["serve", "--socket", socket, "--folder", folder], { stdio: ["ignore", "pipe", "inherit"] });
await new Promise((resolve) => server.stdout.once("data", resolve));
const [one, other, judge] = [new Gate(folder, { socket }), new Gate(folder, { socket }), new Check({ socket })];
assert.equal((await one.call("Write", { file_path: "s.txt", content: "1\n" })).ended, "done");
assert.equal((await other.call("Write", { file_path: beyond, content: "x" })).ended, "refused");
await fails(judge.decide("Read", { file_path: "a" }, { misspelt: true }), "misspelt");
assert.equal((await judge.decide("Read", { file_path: "a" }, { cwd: folder })).decision, "allow");
await Promise.all([one.close(), other.close(), judge.close()]);
const asked = [];
const answers = (request) => {
  asked.push(request.tool);
  return asked.length > 1 ? { choice: "yes" } : { choice: "no", message: "not yet" };
};
const asking = new Gate(folder, { socket, answers });
assert.ok((await asking.call("Write", { file_path: beyond, content: "x" })).text.includes("not yet"));
assert.ok(!existsSync(beyond));
assert.equal((await asking.call("Write", { file_path: beyond, content: "x" })).ended, "done");
assert.deepEqual([asked, existsSync(beyond)], [["Write", "Write"], true]);
await asking.close();
await fails(new Gate(place, { socket }).call("Read", { file_path: "a" }), "not for");
server.kill();
assert.equal(await new Promise((resolve) => server.once("exit", resolve)), 0);
await fails(new Gate(folder, { socket }).call("Read", { file_path: "a" }), "s: ");
rmSync(place, { recursive: true });

console.log("ok");
