// Uses deliveries in SWAP_DELIVERY that the service's library signed, and manipulated ones.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { NotGenuine, verifyWebhook } from "../src/index.js";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const BODY = '{"swap": {"id": "one", "status": "completed", "reference": "Größe"}}';
const AT = new Date("2026-01-31T12:00:00Z");
const given = process.env["SWAP_DELIVERY"];

function signed(family: string, secret = SECRET, body = BODY): Record<string, string> {
  const timestamp = String(AT.getTime() / 1000);
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const mac = createHmac("sha256", key).update(`m-1.${timestamp}.${body}`).digest("base64");
  return {
    [`${family}-id`]: "m-1",
    [`${family}-timestamp`]: timestamp,
    [`${family}-signature`]: `v1,${mac}`,
    "webhook-event-type": "swap.completed",
  };
}

for (const family of ["webhook", "svix"]) {
  test(`takes what is signed in the headers of ${family}`, async () => {
    for (const headers of [signed(family), new Headers(signed(family))]) {
      const event = await verifyWebhook(new TextEncoder().encode(BODY), headers, SECRET, AT);

      assert.deepEqual([event.id, event.type], ["m-1", "swap.completed"]);
      assert.equal(event.payload?.swap.status, "completed");
    }
  });
}

test("takes either secret while one is being replaced", async () => {
  const headers = signed("webhook", OTHER);
  headers["webhook-signature"] += ` ${signed("webhook")["webhook-signature"]}`;

  for (const secrets of [SECRET, OTHER, [OTHER, SECRET]]) {
    assert.equal((await verifyWebhook(BODY, headers, secrets, AT)).id, "m-1");
  }
});

test("says of a message about no swap that it has none", async () => {
  const body = '{"endpoint": {"id": "e-1"}}';
  const event = await verifyWebhook(body, signed("webhook", SECRET, body), SECRET, AT);

  assert.equal(event.payload, undefined);
  assert.deepEqual(event.content, { endpoint: { id: "e-1" } });
});

const changed: Array<[string, string, Record<string, string>, string, number]> = [
  ["a changed body", BODY.replace("completed", "failed"), signed("webhook"), SECRET, 0],
  ["another secret", BODY, signed("webhook"), OTHER, 0],
  ["an old one", BODY, signed("webhook"), SECRET, 301],
  ["one of the future", BODY, signed("webhook"), SECRET, -301],
  ["no headers", BODY, {}, SECRET, 0],
  ["no signature of ours", BODY, { ...signed("webhook"), "webhook-signature": "v2,AA" }, SECRET, 0],
  ["no base64", BODY, { ...signed("webhook"), "webhook-signature": "v1,%%%" }, SECRET, 0],
  ["an empty secret", BODY, signed("webhook", "whsec_"), "whsec_", 0],
  ["no time", BODY, { ...signed("webhook"), "webhook-timestamp": "now" }, SECRET, 0],
  ["another id", BODY, { ...signed("webhook"), "webhook-id": "m-2" }, SECRET, 0],
];

for (const [what, body, headers, secret, seconds] of changed) {
  test(`refuses ${what}`, async () => {
    const now = new Date(AT.getTime() + seconds * 1000);

    await assert.rejects(verifyWebhook(body, headers, secret, now), NotGenuine);
  });
}

test(
  "takes what the service's library signed",
  { skip: given === undefined ? "SWAP_DELIVERY is not set" : false },
  async () => {
    const { body, headers, secret } = JSON.parse(given ?? "{}");

    const event = await verifyWebhook(body, headers, secret);

    assert.equal(event.id, headers["svix-id"]);
    assert.equal(event.payload?.swap.status, "completed");
  },
);
