// Writes artifacts/<contract>.json for programs that deploy and call the contracts, and for the real USDC on local
// chains. --check fails when one differs from the compiled sources.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { compileFiatToken } from "./fiat-token.mjs";
import { forge, root } from "./forge.mjs";
import { checking, finish, read, render, write } from "./generated.mjs";

const CONTRACTS = ["Depository", "Treasury", "DepositAddressFactory", "DepositAddress", "Paymaster", "DevAggregator", "DevEntryPoint", "DevGasPriceOracle", "DevMultiSend", "DevSaltToken", "DevSignerWallet", "DevToken", "DevWallet"];
const OUT = "out/artifacts";

forge("build", "src", "--force", "--out", OUT, "--cache-path", "cache/artifacts");

const compiled = [
  ...CONTRACTS.map((name) => [name, forgeOutputOf(name)]),
  ...compileFiatToken().map(([name, { abi, metadata, evm }]) => [
    name,
    { abi, metadata: JSON.parse(metadata), bytecode: `0x${evm.bytecode.object}` },
  ]),
];
const problems = [];
for (const [contractName, output] of compiled) {
  const path = `artifacts/${contractName}.json`;
  const artifact = artifactOf(contractName, output);
  if (!checking) write(path, artifact);
  else if (read(path) === render(artifact)) console.log(`${path} is current`);
  else problems.push(`${path} is not what the sources compile to`);
}
finish(problems, "npm run artifacts");

function forgeOutputOf(contractName) {
  const output = JSON.parse(readFileSync(`${root}${OUT}/${contractName}.sol/${contractName}.json`, "utf8"));
  return {
    abi: output.abi,
    metadata: output.metadata,
    bytecode: output.bytecode.object,
    deployed: contractName.startsWith("Dev") ? {} : deployedOf(output.deployedBytecode),
  };
}

// The code that deployed code is compared with, and the places of its immutables, as [start, length] in bytes.
function deployedOf({ object, immutableReferences }) {
  const places = Object.values(immutableReferences ?? {}).flat();
  const immutables = places.map(({ start, length }) => [start, length]).sort(([one], [other]) => one - other);
  return { deployedBytecode: object, immutables };
}

function artifactOf(contractName, { abi, metadata, bytecode, deployed = {} }) {
  const { compiler, settings, sources } = metadata;
  return {
    contractName,
    sourceName: Object.keys(settings.compilationTarget)[0],
    abi,
    bytecode,
    ...deployed,
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

// One hash of all source files of the contract, including its dependencies.
function hashOf(sources) {
  const lines = Object.keys(sources).sort().map((path) => `${sources[path].keccak256} ${path}\n`);
  return `0x${createHash("sha256").update(lines.join("")).digest("hex")}`;
}
