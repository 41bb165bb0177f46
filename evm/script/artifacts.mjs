// Writes artifacts/<contract>.json for those who deploy and call the contracts; --check fails when one is not
// what the sources compile to.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { forge, root } from "./forge.mjs";
import { checking, finish, read, render, write } from "./generated.mjs";

const CONTRACTS = ["Depository", "Treasury", "DevToken"];
const OUT = "out/artifacts";

forge("build", "src", "--force", "--out", OUT, "--cache-path", "cache/artifacts");

const problems = [];
for (const contractName of CONTRACTS) {
  const path = `artifacts/${contractName}.json`;
  const artifact = artifactOf(contractName);
  if (!checking) write(path, artifact);
  else if (read(path) === render(artifact)) console.log(`${path} is current`);
  else problems.push(`${path} is not what the sources compile to`);
}
finish(problems, "npm run artifacts");

function artifactOf(contractName) {
  const output = JSON.parse(readFileSync(`${root}${OUT}/${contractName}.sol/${contractName}.json`, "utf8"));
  const { compiler, settings, sources } = output.metadata;
  return {
    contractName,
    sourceName: Object.keys(settings.compilationTarget)[0],
    abi: output.abi,
    bytecode: output.bytecode.object,
    sourceHash: hashOf(sources),
    compiler: {
      version: compiler.version,
      evmVersion: settings.evmVersion,
      optimizer: settings.optimizer,
      viaIR: settings.viaIR ?? false,
      bytecodeHash: settings.metadata.bytecodeHash,
    },
  };
}

// One hash over every file that the contract is made of, its dependencies included.
function hashOf(sources) {
  const lines = Object.keys(sources).sort().map((path) => `${sources[path].keccak256} ${path}\n`);
  return `0x${createHash("sha256").update(lines.join("")).digest("hex")}`;
}
