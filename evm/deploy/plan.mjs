// The contracts and roles planned for a network. The plan file is checked before any request to a node.
import { readFileSync } from "node:fs";
import { getAddress, isAddress, isHex, size, zeroAddress } from "viem";

const MEMBERS = {
  network: text,
  chain_id: positive,
  deployer: address, // pays for the transactions, and has no role on any contract
  owner: address,
  guardian: address,
  accounts_without_code: list(address), // owners or guardians that are keys on purpose
  signers: list(address), // hot keys: operators of the Treasury and of the Paymaster
  funders: list(address),
  contracts: members({ depository: flag, paymaster: flag, deposit_addresses: flag }),
  outflow_limits: list(members({ token: address, limit: units, window_seconds: positive })),
  salt: salt, // a different salt gives different addresses
  max_fee_per_gas: units, // wei; nothing is sent above it
  confirmations: positive,
  catalogue: anyMembers, // the members of the catalogue's entry that are not read from the chain
};

export class PlanRefused extends Error {}

// Returns the plan with addresses in their checksummed form.
export function readPlan(path) {
  let content;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new PlanRefused(`${path} cannot be read: ${error.message}`);
  }
  const plan = members(MEMBERS)(content, "plan");
  refuse(plan);
  return plan;
}

function refuse(plan) {
  const { deployer, owner, guardian, signers, contracts } = plan;
  const roles = [owner, guardian, ...signers, ...plan.funders];
  if (roles.includes(deployer)) fail("the deployer has no other role: its key is on the machine that deploys");
  if (signers.length === 0) fail("signers: name the hot key of the network");
  if (signers.includes(owner) || signers.includes(guardian)) fail("a signer is neither owner nor guardian");
  if (new Set(signers).size < signers.length) fail("signers: an address stands there twice");
  const unnamed = plan.accounts_without_code.filter((one) => one !== owner && one !== guardian);
  if (unnamed.length > 0) fail(`accounts_without_code: ${unnamed[0]} is neither owner nor guardian`);
  if (contracts.paymaster && !contracts.depository) fail("contracts: the Paymaster deposits through the Depository");
  const tokens = plan.outflow_limits.map(({ token }) => token);
  if (!tokens.includes(zeroAddress)) fail("outflow_limits: name the network's coin, the zero address");
  if (new Set(tokens).size < tokens.length) fail("outflow_limits: a token stands there twice");
  for (const { symbol, contract } of plan.catalogue.tokens ?? []) {
    const token = address(contract ?? zeroAddress, `catalogue: the contract of ${symbol}`);
    if (!tokens.includes(token)) fail(`outflow_limits: ${symbol} has none, and the Treasury would pay nothing of it`);
  }
}

function fail(words) {
  throw new PlanRefused(words);
}

function members(kinds) {
  return (value, name) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) fail(`${name}: must be an object`);
    for (const key of Object.keys(value)) if (!(key in kinds)) fail(`${name}: has no member ${key}`);
    return Object.fromEntries(
      Object.entries(kinds).map(([key, read]) => {
        if (!(key in value)) fail(`${name}: ${key} is missing`);
        return [key, read(value[key], key)];
      }),
    );
  };
}

function list(read) {
  return (value, name) => {
    if (!Array.isArray(value)) fail(`${name}: must be a list`);
    return value.map((one) => read(one, name));
  };
}

function text(value, name) {
  if (typeof value !== "string" || value === "") fail(`${name}: must be a text`);
  return value;
}

function flag(value, name) {
  if (typeof value !== "boolean") fail(`${name}: must be true or false`);
  return value;
}

function positive(value, name) {
  if (!Number.isSafeInteger(value) || value <= 0) fail(`${name}: must be a positive integer`);
  return value;
}

// Base units are strings, because a JSON number would lose digits.
function units(value, name) {
  if (typeof value !== "string" || !/^[1-9][0-9]{0,77}$/.test(value)) fail(`${name}: must be a text of digits`);
  return BigInt(value);
}

function address(value, name) {
  const isUsual = typeof value === "string" && isAddress(value, { strict: value !== value?.toLowerCase() });
  if (!isUsual) fail(`${name}: ${value} is no address, or its checksum is wrong`);
  return getAddress(value);
}

function salt(value, name) {
  if (!isHex(value) || size(value) !== 32) fail(`${name}: must be 32 bytes, as 0x and 64 digits`);
  return value;
}

function anyMembers(value, name) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) fail(`${name}: must be an object`);
  return value;
}
