// The published package: packed from a clean checkout, installed into an empty directory
// without a network, compiled against its declarations and run.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const PACKAGE = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const ROOT = resolve(PACKAGE, "../..");
const DOCUMENT = "services/api/src/swap_api/http/openapi.json";
const SOURCES = ["package.json", "README.md", "tsconfig.json", "src", "test", "examples"];
const LINTERS = /redocly|spectral|newman|eslint/;
// The client's dependencies are packed as well, so nothing is downloaded.
const DEPENDENCIES = ["openapi-fetch", "openapi-typescript-helpers"];
const PROGRAM = `
import { type PreparedSwap, SwapApiError, createSwapClient, unwrap } from "swap-sdk";

const asked: string[] = [];
const swaps = createSwapClient({
  baseUrl: "http://swaps.example",
  apiKey: "svc_test_1",
  fetch: async (request: Request): Promise<Response> => {
    asked.push(request.method + " " + new URL(request.url).pathname);
    if (request.method === "GET") return Response.json({ data: { status: "ok" }, error: null });
    const error = { code: "VALIDATION_ERROR", message: "No.", metadata: { request_id: "r-1" } };
    return Response.json({ data: null, error }, { status: 400 });
  },
});
const health: { status: string } = await unwrap(swaps.GET("/api/v2/health"));
const refused: string = await unwrap(
  swaps.POST("/api/v2/swaps", {
    body: {
      source_network: "A",
      source_token: "B",
      destination_network: "C",
      destination_token: "D",
      destination_address: "0x1",
      amount: "1.5",
    },
  }),
).then(
  (created: PreparedSwap) => created.swap.id,
  (error: unknown) => (error instanceof SwapApiError ? error.code : "not typed"),
);
console.log(JSON.stringify({ health: health.status, refused, asked }));
`;
const MISSPELLED = `
import { createSwapClient } from "swap-sdk";

const swaps = createSwapClient({ baseUrl: "http://swaps.example", apiKey: "k" });
export const wrong = swaps.GET("/api/v2/swaps", { params: { query: { statuses: ["done"] } } });
`;

const folder = mkdtempSync(join(tmpdir(), "swap-sdk-"));
const consumer = join(folder, "consumer");
let files: string[] = [];

function run(cwd: string, ...command: [string, ...string[]]): string {
  const [program, ...words] = command;
  return execFileSync(program, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

function packed(cwd: string): { filename: string; files: { path: string }[] } {
  const made = run(cwd, "npm", "pack", "--json", "--silent", "--pack-destination", folder);
  return JSON.parse(made.slice(made.search(/^\[$/m)))[0]; // the output of the build precedes it
}

function compiled(name: string, text: string): void {
  writeFileSync(join(consumer, name), text);
  const options = ["--strict", "--target", "ES2022", "--module", "NodeNext"];
  run(consumer, join(PACKAGE, "node_modules/.bin/tsc"), ...options, name);
}

before(() => {
  const checkout = join(folder, "checkout/sdk/typescript");
  mkdirSync(join(folder, "checkout", dirname(DOCUMENT)), { recursive: true });
  cpSync(join(ROOT, DOCUMENT), join(folder, "checkout", DOCUMENT));
  for (const name of SOURCES) {
    cpSync(join(PACKAGE, name), join(checkout, name), { recursive: true });
  }
  rmSync(join(checkout, "src/schema.ts"), { force: true });
  symlinkSync(join(PACKAGE, "node_modules"), join(checkout, "node_modules"));
  const client = packed(checkout);
  files = client.files.map(({ path }) => path);
  const beside = DEPENDENCIES.map((name) => packed(join(PACKAGE, "node_modules", name)).filename);
  mkdirSync(consumer);
  writeFileSync(join(consumer, "package.json"), '{"private": true, "type": "module"}');
  const tarballs = [client.filename, ...beside].map((name) => join(folder, name));
  run(consumer, "npm", "install", "--offline", "--no-audit", "--no-fund", ...tarballs);
});

after(() => rmSync(folder, { recursive: true }));

test("has its build and its types, and nothing else", () => {
  const names = ["index", "schema", "webhooks"];
  const built = names.flatMap((name) => [`build/src/${name}.d.ts`, `build/src/${name}.js`]);

  assert.deepEqual(files.sort(), ["README.md", ...built, "package.json"].sort());
});

test("depends on no linter", () => {
  const installed = JSON.parse(readFileSync(join(consumer, "node_modules/swap-sdk/package.json"), "utf8"));
  const { dependencies, devDependencies } = installed;

  assert.deepEqual(Object.keys(dependencies), ["openapi-fetch"]);
  assert.ok(Object.keys(devDependencies).every((name) => !LINTERS.test(name)));
});

test("is compiled against and run where it is installed", () => {
  compiled("program.ts", PROGRAM);
  const said = JSON.parse(run(consumer, process.execPath, "program.js"));

  assert.deepEqual(said, {
    health: "ok",
    refused: "VALIDATION_ERROR",
    asked: ["GET /api/v2/health", "POST /api/v2/swaps"],
  });
});

test("types the values of a filter", () => {
  assert.throws(
    () => compiled("misspelled.ts", MISSPELLED),
    ({ stdout }: { stdout: string }) => stdout.includes("TS2322") && stdout.includes('"done"'),
  );
});
