// A shop in one file. It creates a swap, follows it to its end, and waits for the final webhook.
//
//   BASE_URL=… API_KEY=… WEBHOOK_SECRET=whsec_… PORT=9000 node build/examples/shop.js '{"amount": "0.1", …}'
//
// An endpoint of the app must point to PORT. The result is printed as JSON. An error is printed as one
// sentence, with exit status 1.

import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

import {
  NotGenuine,
  type PreparedSwap,
  SwapApiError,
  type WebhookEvent,
  createSwapClient,
  unwrap,
  verifyWebhook,
} from "../src/index.js";

const CLOSED = new Set(["completed", "failed", "expired", "refunded"]);
const POLL_MS = 300;
const PATIENCE_MS = 90_000;

// Error codes of the system, of its resolver, and of the HTTP client in Node.
const NETWORK_CODE = /^(E[A-Z]+|EAI_\w+|UND_ERR_\w+)$/;

/** An error that the user of the example can correct. */
class Wrong extends Error {}

const NEEDED = {
  BASE_URL: "the address of the service, such as http://127.0.0.1:28000",
  API_KEY: "a key of your app, svc_…",
  WEBHOOK_SECRET: "the secret of the endpoint that leads to PORT, whsec_…",
};
const { BASE_URL = "", API_KEY = "", WEBHOOK_SECRET = "", PORT = "9000" } = process.env;
const swaps = createSwapClient({ baseUrl: BASE_URL, apiKey: API_KEY });
const ends = AbortSignal.timeout(PATIENCE_MS);
const genuine = new Map<string, WebhookEvent>(); // by id: a message may be delivered again
let refused = 0;

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

const receiver = createServer(async (request, response) => {
  try {
    const event = await verifyWebhook(await bytesOf(request), request.headers, WEBHOOK_SECRET);
    genuine.set(event.id, event); // a shop stores it before it answers
    response.writeHead(204).end();
  } catch (error) {
    refused += 1;
    response.writeHead(error instanceof NotGenuine ? 400 : 500).end();
  }
});

async function followed(swapId: string): Promise<PreparedSwap> {
  for (;;) {
    const read = swaps.GET("/api/v2/swaps/{swapId}", { params: { path: { swapId } } });
    const prepared = await unwrap(read);
    if (CLOSED.has(prepared.swap.status)) return prepared;
    await pause(POLL_MS, undefined, { signal: ends });
  }
}

async function told(swapId: string, status: string): Promise<WebhookEvent[]> {
  for (;;) {
    const mine = [...genuine.values()].filter((event) => event.payload?.swap.id === swapId);
    if (mine.some((event) => event.payload?.swap.status === status)) return mine;
    await pause(POLL_MS, undefined, { signal: ends });
  }
}

function checkSettings(): void {
  const missing = Object.entries(NEEDED).filter(([name]) => !process.env[name]);
  if (missing.length === 0) return;
  throw new Wrong(`Set ${missing.map(([name, meaning]) => `${name} (${meaning})`).join(", ")}.`);
}

function orderOf(text: string | undefined) {
  if (text === undefined) throw new Wrong('Give the order as JSON: \'{"amount": "0.1", …}\'.');
  try {
    return JSON.parse(text);
  } catch {
    throw new Wrong(`The order is not valid JSON: ${text}`);
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof Wrong) return error.message;
  if (error instanceof SwapApiError && error.code === "UNREACHABLE") {
    return `The service at ${BASE_URL} cannot be reached: ${error.message.replace("UNREACHABLE: ", "")}`;
  }
  if (error instanceof SwapApiError) {
    const fields = JSON.stringify(error.metadata["field_errors"] ?? {});
    return `The service refused: ${error.message} ${fields} (request ${error.requestId ?? "unknown"})`;
  }
  if (!(error instanceof Error)) return String(error);
  if (error.name === "AbortError" || error.name === "TimeoutError") {
    return `The swap was not completed within ${PATIENCE_MS / 1000} seconds.`;
  }
  if ("syscall" in error && error.syscall === "listen") return `Port ${PORT} cannot be used: ${error.message}`;
  const { cause } = error;
  if (cause instanceof Error && "code" in cause && NETWORK_CODE.test(String(cause.code))) {
    return `The service at ${BASE_URL} cannot be reached: ${cause.message || cause.code}`;
  }
  return `The swap was not completed: ${error.message}${cause instanceof Error ? ` (${cause.message})` : ""}`;
}

try {
  checkSettings();
  const body = orderOf(process.argv[2]);
  receiver.listen(Number(PORT), "127.0.0.1");
  await once(receiver, "listening");
  const created = await unwrap(swaps.POST("/api/v2/swaps", { body }));
  const { swap } = await followed(created.swap.id);
  const events = await told(swap.id, swap.status);
  const said = events.map(({ id, type, payload }) => ({ id, type, status: payload?.swap.status }));
  console.log(JSON.stringify({ id: swap.id, status: swap.status, events: said, refused }));
} catch (error) {
  console.error(sentenceOf(error));
  process.exitCode = 1;
} finally {
  receiver.close();
  receiver.closeAllConnections();
}
