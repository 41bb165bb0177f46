// Writes gas.json: the gas of one transaction of each kind, including its intrinsic 21000 and call data. --check fails
// when a number changed by more than the tolerance, so that quotes are not priced with the gas of an earlier contract.
import { readFileSync } from "node:fs";
import { forge, root } from "./forge.mjs";
import { checking, finish, read, write } from "./generated.mjs";

const PATH = "gas.json";
const TOLERANCE = 0.02;

forge("test", "--isolate", "--gas-snapshot-emit", "true", "--match-path", "test/gas/*");

const measured = JSON.parse(readFileSync(`${root}snapshots/GasTest.json`, "utf8"));
const units = (name) => Number(measured[name]);

const gas = {
  payNative: units("payNative"),
  payErc20: units("payErc20"),
  payBatchNative: line("payBatchNative"),
  payBatchErc20: line("payBatchErc20"),
  depositNative: units("depositNative"),
  depositERC20: units("depositERC20"),
  directNative: units("directNative"),
  directErc20: units("directErc20"),
  depositWithAuthorization: units("depositWithAuthorization"),
  depositWithWalletAuthorization: units("depositWithWalletAuthorization"),
  depositWithPermit: units("depositWithPermit"),
  sweepNative: line("sweepNative"),
  sweepErc20: line("sweepErc20"),
  sweepNativeAgain: line("sweepNativeAgain"),
  sweepErc20Again: line("sweepErc20Again"),
};

if (!checking) write(PATH, gas);
else finish(drift(flat(JSON.parse(read(PATH) || "{}")), flat(gas)), "npm run gas");

// A batch costs base + perItem * length; both are rounded up, so that the result is never below the measurement.
function line(name) {
  const [of1, of50, of100] = [1, 50, 100].map((length) => units(`${name}Of${length}`));
  const perItem = Math.ceil(Math.max((of100 - of1) / 99, (of50 - of1) / 49));
  return { base: of1 - perItem, perItem };
}

function flat(value) {
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === "number" ? [[name, inner]] : flat(inner).map(([key, number]) => [`${name}.${key}`, number]),
  );
}

function drift(committed, current) {
  const known = new Map(committed);
  const moved = ([name, number]) => !(Math.abs(number - known.get(name)) <= number * TOLERANCE);
  const problems = current.filter(moved).map(([name, number]) => `${name}: ${known.get(name)} is now ${number}`);
  if (problems.length === 0) console.log(`${PATH} is within ${TOLERANCE * 100} % of what was measured`);
  return problems;
}
