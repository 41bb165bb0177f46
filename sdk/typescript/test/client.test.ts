// Uses the running service at SWAP_URL with SWAP_KEY, and prepared answers.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  type PayLink,
  type PaySwap,
  type SwapClientOptions,
  SwapApiError,
  createPayClient,
  createSwapClient,
  explainQuote,
  unwrap,
} from "../src/index.js";

const url = process.env["SWAP_URL"];
const key = process.env["SWAP_KEY"] ?? "";
const body = JSON.parse(process.env["SWAP_BODY"] ?? "{}");
const running = { skip: url === undefined ? "SWAP_URL is not set" : false };

function client(options: Partial<SwapClientOptions> = {}) {
  return createSwapClient({ baseUrl: url ?? "http://swaps.example", apiKey: key, ...options });
}

function refusal(status: number, code: string): Response {
  const told = { data: null, error: { code, message: "No.", metadata: { request_id: "r-1" } } };
  return Response.json(told, { status });
}

function answering(...answers: Response[]) {
  const asked: Request[] = [];
  const answer = async (request: Request): Promise<Response> => {
    asked.push(request);
    const next = answers.shift();
    if (next === undefined) throw new TypeError("nobody is there");
    return next;
  };
  const swaps = client({ fetch: answer, retries: { firstPauseMs: 1, longestPauseMs: 5 } });
  return { asked, swaps };
}

test("goes from a price to a swap that it reads and lists", running, async () => {
  const swaps = client();
  const { destination_address, ...route } = body;
  const quoted = await unwrap(swaps.GET("/api/v2/quote", { params: { query: route } }));
  const created = await unwrap(swaps.POST("/api/v2/swaps", { body }));
  const swapId = created.swap.id;
  const read = await unwrap(
    swaps.GET("/api/v2/swaps/{swapId}", { params: { path: { swapId } } }),
  );
  const query = { address: [destination_address] };
  const listed = await unwrap(swaps.GET("/api/v2/swaps", { params: { query } }));
  const steps = await unwrap(
    swaps.GET("/api/v2/swaps/{swapId}/deposit_actions", { params: { path: { swapId } } }),
  );

  assert.equal(quoted.quote.requested_amount, Number(body.amount));
  assert.equal(read.swap.status, "user_transfer_pending");
  assert.ok(listed.some((one) => one.swap.id === swapId));
  assert.equal(steps[0]?.status, "action_required");
});

test("reads a swap by its pay link, without a key", running, async () => {
  const created = await unwrap(client().POST("/api/v2/swaps", { body }));
  const path = { swapId: created.swap.id };
  const link: PayLink = await unwrap(
    client().GET("/api/v2/swaps/{swapId}/pay_link", { params: { path } }),
  );

  const payer = createPayClient({ baseUrl: url ?? "", readToken: link.read_token });
  const read: PaySwap = await unwrap(payer.GET("/pay/v1/swaps/{swapId}", { params: { path } }));
  const stranger = createPayClient({ baseUrl: url ?? "", readToken: "wrong" });

  assert.equal(link.may_set_refund_address, false);
  assert.deepEqual([read.id, read.status], [created.swap.id, "user_transfer_pending"]);
  await assert.rejects(
    unwrap(stranger.GET("/pay/v1/swaps/{swapId}", { params: { path } })),
    (error: unknown) => error instanceof SwapApiError && error.code === "NOT_FOUND",
  );
});

test("explains a price", running, async () => {
  const { destination_address, ...route } = body;

  const explained = await explainQuote(client(), route);

  assert.equal(explained.quote.requested_amount, Number(body.amount));
  assert.ok(explained.explanation.steps.length > 0);
});

test("says what the service says", running, async () => {
  const swapId = "00000000-0000-4000-8000-000000000000";
  const swaps = client();

  await assert.rejects(
    unwrap(swaps.GET("/api/v2/swaps/{swapId}", { params: { path: { swapId } } })),
    (error: unknown) => {
      assert.ok(error instanceof SwapApiError);
      assert.deepEqual([error.code, error.httpStatus], ["NOT_FOUND", 404]);
      assert.ok(error.requestId);
      return true;
    },
  );
});

test("tries again with the same idempotency key", async () => {
  const made = Response.json({ data: { swap: { id: "1" } }, error: null });
  const { asked, swaps } = answering(
    refusal(503, "SERVICE_UNAVAILABLE"),
    refusal(409, "IDEMPOTENCY_KEY_IN_PROGRESS"),
    made,
  );

  const created = await unwrap(swaps.POST("/api/v2/swaps", { body }));

  assert.equal(created.swap.id, "1");
  const keys = new Set(asked.map((request) => request.headers.get("idempotency-key")));
  assert.deepEqual([asked.length, keys.size], [3, 1]);
});

test("does not try again what will not pass", async () => {
  const { asked, swaps } = answering(refusal(429, "TOO_MANY_PENDING_SWAPS"));

  await assert.rejects(unwrap(swaps.POST("/api/v2/swaps", { body })), SwapApiError);

  assert.equal(asked.length, 1);
});

test("gives up in the end", async () => {
  const { asked, swaps } = answering();

  await assert.rejects(unwrap(swaps.GET("/api/v2/health")), /nobody is there/);

  assert.equal(asked.length, 4);
});
