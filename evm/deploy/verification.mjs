// Compares a network with its plan: code with the committed build, and roles.
import { concat, encodeFunctionData, getAddress, isAddressEqual, keccak256, zeroAddress } from "viem";
import { addressesOf, artifactOf } from "./creations.mjs";

// The code of a deposit address before and after the address of its implementation: see DepositAddressFactory.sol.
const FORWARDER = ["0x3d603380600a3d3981f336600557005b363d3d373d3d3d363d73", "0x5af43d82803e903d91603157fd5bf3"];

// Returns {findings, ownerTransactions}: differences, and transactions that the owner has to sign.
export async function verify(node, plan, creations) {
  const findings = [];
  const missing = [];
  for (const { contract, address, artifact } of creations) {
    const code = await node.getCode({ address });
    if (code === undefined) missing.push(`the ${contract} is not at ${address}`);
    else if (!isBuild(code, artifact)) findings.push(`the code of the ${contract} at ${address} is not the build's`);
  }
  if (missing.length + findings.length > 0) return { findings: [...missing, ...findings], ownerTransactions: [] };
  const chain = new Chain(node, addressesOf(creations));
  findings.push(...(await ofAccounts(node, plan)), ...(await ofOwners(chain, plan)), ...(await ofOperators(chain, plan)));
  findings.push(...(await ofTreasury(chain)), ...(await ofDepository(chain)), ...(await ofFactory(chain, node)));
  return { findings, ownerTransactions: await ownerTransactionsOf(chain, plan) };
}

// Owner and guardian must be multisignature wallets, which have code, unless the plan lists them as keys.
export async function ofAccounts(node, plan) {
  const findings = [];
  for (const role of ["owner", "guardian"]) {
    const address = plan[role];
    const code = await node.getCode({ address });
    const isKey = code === undefined || code.startsWith("0xef0100"); // a key with a delegation is still a key
    if (isKey && !plan.accounts_without_code.includes(address)) {
      findings.push(`the ${role} ${address} has no code: deploy the multisig, or name it in accounts_without_code`);
    }
  }
  return findings;
}

// Whether deployed code equals an artifact's except for its immutables, which are checked by views.
export function isBuild(code, { deployedBytecode, immutables }) {
  return masked(code, immutables) === masked(deployedBytecode, immutables);
}

function masked(code, immutables) {
  const digits = [...code.toLowerCase()];
  for (const [start, length] of immutables) digits.fill("0", 2 + 2 * start, 2 + 2 * (start + length));
  return digits.join("");
}

class Chain {
  #node;
  #addresses;

  constructor(node, addresses) {
    [this.#node, this.#addresses] = [node, addresses];
  }

  address(contract) {
    return this.#addresses[contract];
  }

  has(contract) {
    return contract in this.#addresses;
  }

  view(contract, functionName, args = [], address = this.#addresses[contract]) {
    return this.#node.readContract({ address, abi: artifactOf(contract).abi, functionName, args });
  }
}

async function ofOwners(chain, plan) {
  const findings = [];
  for (const contract of ["Treasury", "Depository", "Paymaster"].filter((one) => chain.has(one))) {
    const [owner, pending, paused] = [
      await chain.view(contract, "owner"),
      await chain.view(contract, "pendingOwner"),
      await chain.view(contract, "paused"),
    ];
    if (!isAddressEqual(owner, plan.owner)) findings.push(`the ${contract} is owned by ${owner}`);
    if (!isAddressEqual(pending, zeroAddress)) findings.push(`the ${contract} has the pending owner ${pending}`);
    if (paused) findings.push(`the ${contract} is paused`);
  }
  return findings;
}

async function ofOperators(chain, plan) {
  const findings = [];
  for (const contract of ["Treasury", "Paymaster"].filter((one) => chain.has(one))) {
    const operators = await chain.view(contract, "getOperators");
    for (const one of plan.signers) if (!operators.includes(one)) findings.push(`${one} is no operator of the ${contract}`);
    for (const one of operators) {
      if (!plan.signers.includes(getAddress(one))) findings.push(`${one} is an operator of the ${contract}, and no signer`);
    }
  }
  return findings;
}

async function ofTreasury(chain) {
  const guardian = await chain.view("Treasury", "guardian");
  const isSet = !isAddressEqual(guardian, zeroAddress);
  return isSet && isAddressEqual(guardian, chain.address("Treasury")) ? ["the Treasury is its own guardian"] : [];
}

async function ofDepository(chain) {
  if (!chain.has("Depository")) return [];
  const receivers = await chain.view("Depository", "getWhitelistedAddresses");
  const expected = chain.address("Treasury");
  const findings = receivers.includes(expected) ? [] : ["the Depository does not list the Treasury"];
  const others = receivers.filter((one) => one !== expected);
  if (others.length > 0) findings.push(`the Depository also lists ${others.join(", ")}`);
  if (chain.has("Paymaster")) {
    const through = await chain.view("Paymaster", "depository");
    if (through !== chain.address("Depository")) findings.push(`the Paymaster deposits through ${through}`);
  }
  return findings;
}

async function ofFactory(chain, node) {
  if (!chain.has("DepositAddressFactory")) return [];
  const findings = [];
  const [treasury, implementation] = [
    await chain.view("DepositAddressFactory", "treasury"),
    await chain.view("DepositAddressFactory", "implementation"),
  ];
  if (treasury !== chain.address("Treasury")) findings.push(`the factory sweeps to ${treasury}`);
  const hash = keccak256(concat([FORWARDER[0], implementation, FORWARDER[1]]));
  if ((await chain.view("DepositAddressFactory", "initCodeHash")) !== hash) {
    findings.push("the factory computes deposit addresses from another code");
  }
  const code = await node.getCode({ address: implementation });
  if (code === undefined || !isBuild(code, artifactOf("DepositAddress"))) {
    return [...findings, `the code of deposit addresses at ${implementation} is not the build's`];
  }
  const ends = [
    await chain.view("DepositAddress", "treasury", [], implementation),
    await chain.view("DepositAddress", "factory", [], implementation),
  ];
  if (ends[0] !== treasury) findings.push(`deposit addresses forward to ${ends[0]}`);
  if (ends[1] !== chain.address("DepositAddressFactory")) findings.push(`deposit addresses obey ${ends[1]}`);
  return findings;
}

// The owner is a multisig from deployment, so that the deployer has no role. The owner signs these transactions.
async function ownerTransactionsOf(chain, plan) {
  const found = [];
  const call = (functionName, args, about) =>
    found.push({
      to: chain.address("Treasury"),
      value: "0",
      data: encodeFunctionData({ abi: artifactOf("Treasury").abi, functionName, args }),
      about,
    });
  if (!isAddressEqual(await chain.view("Treasury", "guardian"), plan.guardian)) {
    call("setGuardian", [plan.guardian], `setGuardian(${plan.guardian})`);
  }
  for (const { token, limit, window_seconds: seconds } of plan.outflow_limits) {
    const [present, window] = await chain.view("Treasury", "outflowLimit", [token]);
    if (present !== limit || window !== BigInt(seconds)) {
      call("setOutflowLimit", [token, limit, BigInt(seconds)], `setOutflowLimit(${token}, ${limit}, ${seconds})`);
    }
  }
  return found;
}
