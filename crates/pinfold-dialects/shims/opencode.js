// Written by `pinfold setup opencode`; `pinfold setup opencode --undo` takes it away.
// Each tool call is shown to pinfold before it is made. What pinfold did not allow in so many words does not run.
import { spawnSync } from "node:child_process"

const COMMAND = @COMMAND@
const TIMEOUT_MS = @TIMEOUT_MS@

function told(event) {
  const run = spawnSync(COMMAND[0], COMMAND.slice(1), {
    input: JSON.stringify(event),
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    maxBuffer: 1 << 24,
  })
  if (run.error || run.status !== 0) {
    const why = (run.stderr || "").trim() || `no answer: ${run.error ?? `exit ${run.status}`}`
    throw new Error(`pinfold: nothing is allowed: ${why}`)
  }
  return JSON.parse(run.stdout).hookSpecificOutput ?? {}
}

export const Pinfold = async ({ directory }) => {
  const event = (name, input, args) => ({
    session_id: input.sessionID,
    cwd: directory,
    hook_event_name: name,
    tool_name: input.tool,
    tool_input: args ?? {},
    tool_use_id: input.callID,
  })
  const made = new Map()
  const sessions = new Set()
  const passes = (name, session, more) => {
    try {
      told({ session_id: session, cwd: directory, hook_event_name: name, ...more })
    } catch (failure) {
      console.error(`pinfold: ${name} was not recorded: ${failure.message}`)
    }
  }
  return {
    dispose: async () => {
      for (const session of sessions) passes("SessionEnd", session, { reason: "other" })
      sessions.clear()
    },
    "tool.execute.before": async (input, output) => {
      if (!sessions.has(input.sessionID)) {
        sessions.add(input.sessionID)
        passes("SessionStart", input.sessionID, { source: "startup" })
      }
      const said = told(event("PreToolUse", input, output.args))
      if (said.permissionDecision !== "allow") {
        throw new Error(said.permissionDecisionReason || "pinfold does not allow it")
      }
      made.set(input.callID, output.args)
    },
    "tool.execute.after": async (input, output) => {
      const args = made.get(input.callID)
      made.delete(input.callID)
      try {
        told({ ...event("PostToolUse", input, args), tool_response: { title: output?.title ?? null } })
      } catch (failure) {
        console.error(`pinfold: how a call ended was not recorded: ${failure.message}`)
      }
    },
  }
}
