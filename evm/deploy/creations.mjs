// The contracts of a plan and their addresses. CREATE2 derives each address from the code and the constructor's
// arguments, so a second run finds the contracts of the first one.
import { readFileSync } from "node:fs";
import { concat, encodeDeployData, getContractAddress } from "viem";

export const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

export function artifactOf(contract) {
  return JSON.parse(readFileSync(new URL(`../artifacts/${contract}.json`, import.meta.url), "utf8"));
}

// In the order of deployment: each constructor needs the contracts before it.
export function creationsOf(plan) {
  const treasury = creation(plan, "Treasury", [plan.owner, plan.signers]);
  const made = [treasury];
  if (plan.contracts.depository) {
    const depository = creation(plan, "Depository", [plan.owner, [treasury.address]]);
    made.push(depository);
    if (plan.contracts.paymaster) {
      made.push(creation(plan, "Paymaster", [plan.owner, depository.address, plan.signers]));
    }
  }
  if (plan.contracts.deposit_addresses) made.push(creation(plan, "DepositAddressFactory", [treasury.address]));
  return made;
}

export function addressesOf(creations) {
  return Object.fromEntries(creations.map(({ contract, address }) => [contract, address]));
}

function creation({ salt }, contract, args) {
  const artifact = artifactOf(contract);
  const initCode = encodeDeployData({ abi: artifact.abi, bytecode: artifact.bytecode, args });
  return {
    contract,
    artifact,
    arguments: args,
    address: getContractAddress({ opcode: "CREATE2", from: CREATE2_DEPLOYER, salt, bytecode: initCode }),
    data: concat([salt, initCode]),
  };
}
