// Verifies webhooks of the service, in Node and in every runtime with WebCrypto.
//
//   const event = await verifyWebhook(rawBody, request.headers, secret);
//
// `rawBody` must be the received bytes. They are parsed after the signature is verified.

import type { components } from "./schema.js";

export type WebhookPayload = components["schemas"]["WebhookPayloadModel"];

const PREFIX = "whsec_";
const SCHEME = "v1,";
const TOLERANCE_SECONDS = 300;
// Two header names for the same values: of Standard Webhooks and of Svix.
const FAMILIES = ["webhook", "svix"] as const;

/** The signature is invalid, or the timestamp differs from now by more than five minutes. */
export class NotGenuine extends Error {
  constructor() {
    super("the signature is not one of the secret's, or it is too old");
    this.name = "NotGenuine";
  }
}

/** One verified message. It may be delivered more than once and out of order. */
export interface WebhookEvent {
  /** The same in every attempt: use it for deduplication. */
  id: string;
  /** `swap.<status>`, `swap.updated`, `webhook.test` or `endpoint.disabled`. */
  type: string;
  content: unknown;
  /** The swap; undefined if the message is not about a swap. */
  payload: WebhookPayload | undefined;
}

export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** Return the message if one of the secrets signed it in the last five minutes.
 *  During a rotation give both secrets.
 *  @throws NotGenuine if none did. */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  now: Date = new Date(),
): Promise<WebhookEvent> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = signatureHeaders(headers);
  if (signed === undefined || isOld(signed.timestamp, now)) throw new NotGenuine();
  const content = joined(`${signed.id}.${signed.timestamp}.`, bytes);
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    for (const signature of signed.signatures) {
      if (await isSigned(content, signature, secret)) return eventOf(signed.id, headers, bytes);
    }
  }
  throw new NotGenuine();
}

interface SignatureHeaders {
  id: string;
  timestamp: string;
  signatures: string[];
}

function signatureHeaders(headers: WebhookHeaders): SignatureHeaders | undefined {
  for (const family of FAMILIES) {
    const id = header(headers, `${family}-id`);
    const timestamp = header(headers, `${family}-timestamp`);
    const signature = header(headers, `${family}-signature`);
    if (id && timestamp && signature) {
      const ours = signature.split(" ").filter((one) => one.startsWith(SCHEME));
      return { id, timestamp, signatures: ours.map((one) => one.slice(SCHEME.length)) };
    }
  }
  return undefined;
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

function isOld(timestamp: string, now: Date): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return true;
  return Math.abs(now.getTime() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS;
}

function joined(start: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(start);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
}

// WebCrypto compares signatures in constant time.
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signature: string,
  secret: string,
): Promise<boolean> {
  const given = fromBase64(signature);
  const bytes = fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (given === undefined || bytes === undefined || bytes.length === 0) return false;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, given, content);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function eventOf(id: string, headers: WebhookHeaders, body: Uint8Array): WebhookEvent {
  const type = header(headers, "webhook-event-type") ?? "";
  const content: unknown = JSON.parse(new TextDecoder().decode(body));
  const isAboutSwap = typeof content === "object" && content !== null && "swap" in content;
  return { id, type, content, payload: isAboutSwap ? (content as WebhookPayload) : undefined };
}
