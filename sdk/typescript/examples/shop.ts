// A shop in one file: it creates a swap, follows it to its end, and waits for the webhook that says so.
//
//   BASE_URL=… API_KEY=… WEBHOOK_SECRET=whsec_… PORT=9000 node build/examples/shop.js '{"amount": "0.1", …}'
//
// An endpoint of the app leads to PORT. What is printed at the end is JSON.

import { once } from "node:events";
import { type IncomingMessage, createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

import {
  NotGenuine,
  type PreparedSwap,
  type WebhookEvent,
  createSwapClient,
  unwrap,
  verifyWebhook,
} from "../src/index.js";

const CLOSED = new Set(["completed", "failed", "expired", "refunded"]);
const POLL_MS = 300;
const PATIENCE_MS = 90_000;

const { BASE_URL = "", API_KEY = "", WEBHOOK_SECRET = "", PORT = "9000" } = process.env;
const swaps = createSwapClient({ baseUrl: BASE_URL, apiKey: API_KEY });
const ends = AbortSignal.timeout(PATIENCE_MS);
const genuine = new Map<string, WebhookEvent>(); // by id: a message may come again
let refused = 0;

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces);
}

const receiver = createServer(async (request, response) => {
  try {
    const event = await verifyWebhook(await bytesOf(request), request.headers, WEBHOOK_SECRET);
    genuine.set(event.id, event); // a shop writes it down before it says so
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

receiver.listen(Number(PORT), "127.0.0.1");
await once(receiver, "listening");
try {
  const created = await unwrap(
    swaps.POST("/api/v2/swaps", { body: JSON.parse(process.argv[2] ?? "{}") }),
  );
  const { swap } = await followed(created.swap.id);
  const events = await told(swap.id, swap.status);
  const said = events.map(({ id, type, payload }) => ({ id, type, status: payload?.swap.status }));
  console.log(JSON.stringify({ id: swap.id, status: swap.status, events: said, refused }));
} finally {
  receiver.close();
  receiver.closeAllConnections();
}
