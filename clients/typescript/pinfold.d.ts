/** Tool calls of an agent, judged and made by pinfold. See `pinfold.js`. */

/** pinfold could not be started, or has ended; what it said is the message. Nothing more was done. */
export class PinfoldError extends Error {}

export type Piece = { type: "text"; text: string } | { type: "image"; [field: string]: unknown };

/** What came of a call. */
export interface Reply {
  /** `refused`: the gate said no, and nothing was done. `failed`: it was allowed, and did not work out. */
  readonly ended: "done" | "refused" | "failed";
  /** What the model reads, in pieces. */
  readonly content: readonly Piece[];
  /** The same as data; of a refusal or failure its envelope, with `error` and `message`. */
  readonly structured: any;
  /** A hook wants the agent to stop, and why. */
  readonly stop?: string;
  /** What the model reads, as far as it is text. */
  readonly text: string;
}

/** What would be decided about a call. Nothing was done. */
export interface Decision {
  readonly decision: "allow" | "ask" | "deny";
  readonly step: string;
  readonly reason: string;
  readonly rule: string | null;
  readonly source: string | null;
  readonly safeguard: string | null;
  readonly refusal: Record<string, unknown> | null;
  readonly claims: {
    readonly reads: readonly string[];
    readonly writes: readonly string[];
    readonly commands: readonly string[];
    readonly hosts: readonly (string | null)[];
    readonly opaque: readonly string[];
  };
  readonly warnings?: readonly string[];
}

/** Other fields of a line of `pinfold check`. */
export interface Line {
  cwd?: string;
  project_root?: string;
  home?: string;
  mode?: string;
  headless?: boolean;
  agent?: string;
  rules?: { allow?: string[]; ask?: string[]; deny?: string[] };
  session?: { allow?: string[] };
  scope?: { root?: string; display_root?: string; enforce_write?: boolean; allow_bash?: boolean };
  [field: string]: unknown;
}

export interface Options {
  /** Options of the command, such as `--allow-bash`. With a socket they are those of the server. */
  options?: readonly string[];
  /** The program. */
  pinfold?: string;
  /** The socket of `pinfold serve`, in place of a process of its own. */
  socket?: string;
}

/** What is asked about a call; docs/approvals.md has all of it. */
export interface Request {
  readonly id: string;
  readonly digest: string;
  readonly tool: string;
  readonly [field: string]: unknown;
}

/** What is answered. */
export type Choice =
  | { choice: "yes" }
  | { choice: "no"; message?: string; process?: boolean }
  | { choice: "session"; scope?: number; bound?: { for: number } | { times: number } }
  | { choice: "always"; scopes?: number[]; file?: "local" | "user" };

export interface GateOptions extends Options {
  /** Asked about calls of this gate; needs a socket. What it throws ends the connection, and nothing is done. */
  answers?: (request: Request) => Choice | Promise<Choice>;
}

/** A session: calls are judged by the settings of the folder, made, and recorded, one after the other. */
export class Gate {
  constructor(folder: string, options?: GateOptions);
  /** Makes a call. Waits for a person where one is asked. */
  call(tool: string, input: Record<string, unknown>): Promise<Reply>;
  /** Ends the session, once what was begun is done. */
  close(): Promise<void>;
}

/** Decides about calls without making them. */
export class Check {
  constructor(options?: Options);
  decide(tool: string, input: Record<string, unknown>, line?: Line): Promise<Decision>;
  close(): Promise<void>;
}
