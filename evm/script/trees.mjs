// Every .tree has a test file in its folder, with one test per condition that ends in "it should". The test is named
// after the condition, with RevertWhen or RevertGiven if the only expectation is a revert. Every external function that
// the contracts declare has a tree.
import { readFileSync, readdirSync } from "node:fs";
import { root } from "./forge.mjs";
import { finish } from "./generated.mjs";

const CONTRACTS = {
  depositAddress: "DepositAddress",
  depositAddressFactory: "DepositAddressFactory",
  depository: "Depository",
  paymaster: "Paymaster",
  treasury: "Treasury",
};
// Its tests run for every contract that inherits the tested functions.
const SHARED = "operators";
// Inherited without a change. The Treasury overrides renounceOwnership and has a tree for it.
const WITHOUT_TREE = new Set(["owner", "paused", "pendingOwner", "renounceOwnership"]);

const problems = [];
let conditions = 0;
const shared = treesOf(SHARED);
for (const [room, contractName] of Object.entries(CONTRACTS)) {
  const covered = new Set([...treesOf(room), ...shared, ...WITHOUT_TREE]);
  for (const name of entryPoints(contractName)) {
    if (!covered.has(name)) problems.push(`${contractName}.${name} has no tree`);
  }
}
for (const room of [...Object.keys(CONTRACTS), SHARED]) {
  for (const name of treesOf(room)) compare(`test/${room}/${name}/${name}`);
}
if (problems.length === 0) console.log(`${conditions} conditions are tested under their own names`);
finish(problems, "rename the test or the condition");

function treesOf(room) {
  const entries = readdirSync(`${root}test/${room}`, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

function entryPoints(contractName) {
  const { abi } = JSON.parse(readFileSync(`${root}artifacts/${contractName}.json`, "utf8"));
  const kinds = ["function", "constructor", "receive", "fallback"];
  return abi.filter((item) => kinds.includes(item.type)).map((item) => item.name ?? item.type);
}

function compare(path) {
  const expected = testNames(readFileSync(`${root}${path}.tree`, "utf8"));
  const source = readFileSync(`${root}${path}.t.sol`, "utf8");
  const actual = [...source.matchAll(/function test(?:Fuzz)?_(\w+)\(/g)].map((match) => match[1]);
  for (const name of expected) if (!actual.includes(name)) problems.push(`${path}.t.sol lacks ${name}`);
  for (const name of actual) if (!expected.includes(name)) problems.push(`${path}.tree lacks ${name}`);
  if (new Set(expected).size !== expected.length) problems.push(`${path}.tree says the same condition twice`);
  conditions += expected.length;
}

function testNames(tree) {
  const names = [];
  const lines = tree.trim().split("\n").slice(1).map((line) => line.replace(/^[│├└─\s]+/, ""));
  lines.forEach((line, index) => {
    if (line.startsWith("it ")) return;
    const leaves = [];
    for (let next = index + 1; lines[next]?.startsWith("it "); next += 1) leaves.push(lines[next]);
    if (leaves.length > 0) names.push(testName(line, leaves));
  });
  return names;
}

function testName(condition, leaves) {
  const words = condition.split(" ").map((word) => word[0].toUpperCase() + word.slice(1));
  if (!leaves[0].startsWith("it should revert")) return words.join("");
  return `Revert${words[0]}_${words.slice(1).join("")}`;
}
