// A generated file is written or, with --check, compared with the existing one.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { root } from "./forge.mjs";

export const checking = process.argv.includes("--check");

export const render = (value) => `${JSON.stringify(value, null, 2)}\n`;

export const read = (path) => (existsSync(root + path) ? readFileSync(root + path, "utf8") : "");

export function write(path, value) {
  mkdirSync(dirname(root + path), { recursive: true });
  writeFileSync(root + path, render(value));
  console.log(`wrote ${path}`);
}

export function finish(problems, remedy) {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) {
    console.error(`run: ${remedy}`);
    process.exitCode = 1;
  }
}
