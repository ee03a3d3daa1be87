// Written by `pinfold setup pi`; `pinfold setup pi --undo` takes it away.
// Each tool call is shown to pinfold before it is made. What pinfold did not allow in so many words does not run.
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"

const COMMAND: string[] = @COMMAND@
const TIMEOUT_MS = @TIMEOUT_MS@

function told(event: object): any {
  const run = spawnSync(COMMAND[0], COMMAND.slice(1), {
    input: JSON.stringify(event),
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    maxBuffer: 1 << 24,
  })
  if (run.error || run.status !== 0) {
    throw new Error((run.stderr || "").trim() || `no answer: ${run.error ?? `exit ${run.status}`}`)
  }
  return JSON.parse(run.stdout).hookSpecificOutput ?? {}
}

export default function (pi: any) {
  const session = randomUUID()
  const made = new Map<string, object>()
  const event = (name: string, call: any, cwd: string, input: object) => ({
    session_id: session,
    cwd,
    hook_event_name: name,
    tool_name: call.toolName,
    tool_input: input,
    tool_use_id: call.toolCallId,
  })
  const passes = (name: string, context: any, more: object) => {
    try {
      told({ session_id: session, cwd: context.cwd, hook_event_name: name, ...more })
    } catch (failure: any) {
      console.error(`pinfold: ${name} was not recorded: ${failure.message}`)
    }
  }
  pi.on("session_start", async (at: any, context: any) => passes("SessionStart", context, { source: at.reason ?? "startup" }))
  pi.on("session_shutdown", async (at: any, context: any) => passes("SessionEnd", context, { reason: at.reason ?? "other" }))
  pi.on("tool_call", async (call: any, context: any) => {
    try {
      const said = told(event("PreToolUse", call, context.cwd, call.input ?? {}))
      if (said.permissionDecision !== "allow") {
        return { block: true, reason: said.permissionDecisionReason || "pinfold does not allow it" }
      }
      made.set(call.toolCallId, call.input ?? {})
    } catch (failure: any) {
      return { block: true, reason: `pinfold: nothing is allowed: ${failure.message}` }
    }
  })
  pi.on("tool_result", async (result: any, context: any) => {
    const input = made.get(result.toolCallId)
    if (!input) return
    made.delete(result.toolCallId)
    const name = result.isError ? "PostToolUseFailure" : "PostToolUse"
    try {
      told(event(name, result, context.cwd, input))
    } catch (failure: any) {
      console.error(`pinfold: how a call ended was not recorded: ${failure.message}`)
    }
  })
}
