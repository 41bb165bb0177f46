// Runs the forge of package-lock.json in this folder.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

export function forge(...args) {
  const binary = `${root}node_modules/.bin/forge`;
  // The output of forge goes to stderr, because the caller uses stdout.
  execFileSync(binary, args, { cwd: root, stdio: ["ignore", process.stderr.fd, process.stderr.fd] });
}
