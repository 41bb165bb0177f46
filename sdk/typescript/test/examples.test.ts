// The examples report an error in one sentence, not in a stack trace.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type RequestListener, createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const SHOP = join(resolve(dirname(fileURLToPath(import.meta.url)), ".."), "examples/shop.js");
const SETTINGS = { API_KEY: "svc_test_1", WEBHOOK_SECRET: "whsec_AAAA", PORT: "0" };
const ORDER = '{"amount": "0.1"}';

async function shop(settings: Record<string, string>, ...words: string[]) {
  const { PATH = "" } = process.env;
  const program = spawn(process.execPath, [SHOP, ...words], { env: { PATH, ...settings } });
  let said = "";
  program.stderr.on("data", (piece) => (said += piece));
  const [status] = await once(program, "close");
  return { said, status };
}

async function serving<Value>(answer: RequestListener, use: (url: string) => Promise<Value>) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function isOneSentence({ said, status }: { said: string; status: number }, about: RegExp): void {
  assert.equal(status, 1);
  assert.match(said, about);
  assert.equal(said.trim().split("\n").length, 1, said);
}

test("names every setting that is missing", async () => {
  const ended = await shop({}, ORDER);

  isOneSentence(ended, /^Set BASE_URL \(.*\), API_KEY \(.*\), WEBHOOK_SECRET \(.*\)\.$/m);
});

test("says that the order is missing or is not JSON", async () => {
  const settings = { ...SETTINGS, BASE_URL: "http://127.0.0.1:1" };

  isOneSentence(await shop(settings), /Give the order as JSON/);
  isOneSentence(await shop(settings, "{amount"), /not valid JSON: \{amount/);
});

test("says that the service cannot be reached", async () => {
  const url = await serving((_, response) => response.end(), async (gone) => gone);

  const ended = await shop({ ...SETTINGS, BASE_URL: url }, ORDER);

  isOneSentence(ended, new RegExp(`The service at ${url} cannot be reached: `));
});

test("does not blame the network for an address that is none", async () => {
  const ended = await shop({ ...SETTINGS, BASE_URL: "nowhere" }, ORDER);

  isOneSentence(ended, /^The swap was not completed: Failed to parse URL/m);
});

test("says that something else answers there", async () => {
  const ended = await serving(
    (_, response) => response.writeHead(404).end("<html>"),
    (url) => shop({ ...SETTINGS, BASE_URL: url }, ORDER),
  );

  isOneSentence(ended, /cannot be reached: 404 from something that is not the service/);
});

test("says what the service refused", async () => {
  const metadata = { request_id: "r-1", field_errors: { amount: "must be a number" } };
  const error = { code: "VALIDATION_ERROR", message: "amount must be a number", metadata };
  const ended = await serving(
    (_, response) => response.writeHead(400).end(JSON.stringify({ data: null, error })),
    (url) => shop({ ...SETTINGS, BASE_URL: url }, ORDER),
  );

  isOneSentence(ended, /The service refused: VALIDATION_ERROR: amount must be a number .*r-1/);
});

test("says that its port is not free", async () => {
  const ended = await serving(
    (_, response) => response.end(),
    (url) => shop({ ...SETTINGS, BASE_URL: url, PORT: new URL(url).port }, ORDER),
  );

  isOneSentence(ended, /Port \d+ cannot be used/);
});
