// Checked, never run: `tsc --strict --noEmit --module nodenext try_types.ts` finds what the types promise otherwise than the client
// keeps it.

import { Check, type Choice, type Decision, Gate, PinfoldError, type Reply, type Request } from "./pinfold.js";

const answers = async (request: Request): Promise<Choice> =>
  request.tool === "Write" ? { choice: "yes" } : { choice: "no", message: request.id };

export async function used(): Promise<string> {
  const gate = new Gate("/w", { socket: "/run/s", answers });
  const reply: Reply = await gate.call("Read", { file_path: "a" });
  const decision: Decision = await new Check({ options: ["--no-settings"] }).decide("Read", {}, { headless: true });
  await gate.close();
  const error: Error = new PinfoldError(decision.reason);
  return reply.ended === "done" ? reply.text : error.message;
}

// @ts-expect-error: nobody answers so
const wrong: Choice = { choice: "maybe" };
// @ts-expect-error: a check asks nobody
new Check({ answers });
export { wrong };
