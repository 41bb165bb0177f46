// Client of the swap service: typed from its OpenAPI document, with retries.
//
//   const swaps = createSwapClient({ baseUrl: "https://swaps.example", apiKey: "svc_live_…" });
//   const created = await unwrap(swaps.POST("/api/v2/swaps", { body: { … } }));

import createClient, { type Client, type Middleware } from "openapi-fetch";

import type { components, paths } from "./schema.js";

export type { components, paths };
export { NotGenuine, verifyWebhook } from "./webhooks.js";
export type { WebhookEvent, WebhookHeaders, WebhookPayload } from "./webhooks.js";
export type PreparedSwap = components["schemas"]["PreparedSwapModel"];
export type ExplainedQuote = components["schemas"]["ExplainedQuoteModel"];
export type QuoteQuery = paths["/api/v2/quote"]["get"]["parameters"]["query"];
export type PayLink = components["schemas"]["PayLinkModel"];
export type PaySwap = components["schemas"]["PaySwapModel"];
export type PayTransaction = components["schemas"]["PayTransactionModel"];
export type SwapClient = Client<paths>;
export type PayClient = Client<PayPaths>;

/** The part of the API that a pay link's token can read. */
export type PayPaths = {
  [Path in keyof paths as Path extends `/pay/${string}` ? Path : never]: paths[Path];
};

interface Connection {
  baseUrl: string;
  retries?: Partial<Retries>;
  fetch?: (request: Request) => Promise<Response>;
}

export interface SwapClientOptions extends Connection {
  apiKey: string;
  /** Header name, if the deployment uses another one. */
  keyHeader?: string;
}

export interface PayClientOptions extends Connection {
  /** `read_token` of a pay link. */
  readToken: string;
}

export interface Retries {
  attemptsMax: number;
  firstPauseMs: number;
  longestPauseMs: number;
}

const RETRIES: Retries = { attemptsMax: 4, firstPauseMs: 200, longestPauseMs: 10_000 };
const AWAY = new Set([429, 500, 502, 503, 504]);
const IN_PROGRESS = "IDEMPOTENCY_KEY_IN_PROGRESS";
// A retry succeeds only after a swap is paid or payouts resume, so these are not retried.
const NOT_BY_WAITING = new Set(["TOO_MANY_PENDING_SWAPS", "PAYOUTS_PAUSED"]);

interface ErrorBody {
  code: string;
  message: string;
  metadata: Record<string, unknown>;
}

/** The service refused the request; `code` is the reason. */
export class SwapApiError extends Error {
  readonly code: string;
  readonly httpStatus: number;
  readonly metadata: Record<string, unknown>;

  constructor(httpStatus: number, body: ErrorBody) {
    super(`${body.code}: ${body.message}`);
    this.name = "SwapApiError";
    this.code = body.code;
    this.httpStatus = httpStatus;
    this.metadata = body.metadata;
  }

  /** The id of the request, for support by the operator. */
  get requestId(): string | undefined {
    const id = this.metadata["request_id"];
    return typeof id === "string" ? id : undefined;
  }
}

/** Return a client whose calls are typed by path and method. */
export function createSwapClient(options: SwapClientOptions): SwapClient {
  return connected<paths>(options, { [options.keyHeader ?? "X-SVC-APIKEY"]: options.apiKey });
}

/** Return a client for the payer of one swap, for example in your own pay page. It sends no API key:
 *  the token of the swap's pay link gives access to that swap only. */
export function createPayClient(options: PayClientOptions): PayClient {
  return connected<PayPaths>(options, { Authorization: `Bearer ${options.readToken}` });
}

/** Return the data of an answer.
 *  @throws SwapApiError when the service refused the request. */
export async function unwrap<Data>(
  answer: Promise<{ data?: { data: Data }; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await answer;
  if (data !== undefined) return data.data;
  throw new SwapApiError(response.status, errorOf(error, response));
}

/** Price a swap with an explanation: prices with their ages, every step, and options that are not
 *  offered. It needs a secret key.
 *  @throws SwapApiError when the service refused the request. */
export async function explainQuote(
  swaps: SwapClient,
  query: Omit<QuoteQuery, "explain">,
): Promise<ExplainedQuote> {
  const asked = { ...query, explain: true };
  const quoted = await unwrap(swaps.GET("/api/v2/quote", { params: { query: asked } }));
  return quoted as ExplainedQuote;
}

function connected<Paths extends object>(
  options: Connection,
  headers: Record<string, string>,
): Client<Paths> {
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const retries = { ...RETRIES, ...options.retries };
  const client = createClient<Paths>({
    baseUrl: options.baseUrl,
    headers,
    fetch: (request) => insisting(request, send, retries),
  });
  client.use(idempotent);
  return client;
}

// One idempotency key for all attempts of a call, so that a lost response never creates a second swap.
const idempotent: Middleware = {
  onRequest({ request }) {
    if (request.method === "POST" && !request.headers.has("Idempotency-Key")) {
      request.headers.set("Idempotency-Key", crypto.randomUUID());
    }
    return request;
  },
};

async function insisting(
  request: Request,
  send: (request: Request) => Promise<Response>,
  retries: Retries,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt >= retries.attemptsMax;
    let answer: Response | undefined;
    try {
      answer = await send(request.clone());
    } catch (error) {
      if (isLast) throw error;
    }
    if (answer !== undefined && (isLast || !(await mayPass(answer)))) return answer;
    const pause = pauseAfter(attempt, answer, retries);
    if (answer !== undefined && pause > retries.longestPauseMs) return answer;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function mayPass(answer: Response): Promise<boolean> {
  if (answer.ok) return false;
  const code = await codeOf(answer);
  if (NOT_BY_WAITING.has(code)) return false;
  return AWAY.has(answer.status) || code === IN_PROGRESS;
}

async function codeOf(answer: Response): Promise<string> {
  try {
    return ((await answer.clone().json()) as { error: ErrorBody }).error.code;
  } catch {
    return "";
  }
}

function pauseAfter(attempt: number, answer: Response | undefined, retries: Retries): number {
  const asked = Number(answer?.headers.get("retry-after") ?? Number.NaN);
  const planned = Math.min(retries.firstPauseMs * 2 ** (attempt - 1), retries.longestPauseMs);
  return Number.isFinite(asked)
    ? Math.max(asked * 1000, planned)
    : planned * (0.5 + Math.random() / 2);
}

function errorOf(content: unknown, response: Response): ErrorBody {
  const body = (content as { error?: ErrorBody } | undefined)?.error;
  if (body?.code !== undefined) return { ...body, metadata: body.metadata ?? {} };
  const message = `${response.status} from something that is not the service`;
  return { code: "UNREACHABLE", message, metadata: {} };
}
