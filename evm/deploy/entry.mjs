// A network's entry of the catalogue: members of the plan, addresses of the contracts, and measured gas.
import { readFileSync } from "node:fs";
import { addressesOf, artifactOf } from "./creations.mjs";

export class EntryRefused extends Error {}

export async function entryOf(node, plan, creations, record) {
  const at = addressesOf(creations);
  const { Treasury, Depository = null, Paymaster = null, DepositAddressFactory: factory } = at;
  const block = record.get(Treasury)?.block ?? plan.catalogue.start_block;
  if (!Number.isSafeInteger(block)) {
    throw new EntryRefused("no record says when the Treasury was made: set catalogue.start_block in the plan");
  }
  const hash = factory && {
    address: factory,
    abi: artifactOf("DepositAddressFactory").abi,
    functionName: "initCodeHash",
  };
  return {
    ...plan.catalogue,
    name: plan.network,
    chain_id: plan.chain_id,
    start_block: block,
    contracts: {
      treasury: Treasury,
      depository: Depository,
      paymaster: Paymaster,
      deposit_addresses: factory ? { factory, init_code_hash: await node.readContract(hash) } : null,
      owners: {
        treasury: plan.owner,
        depository: Depository && plan.owner,
        paymaster: Paymaster && plan.owner,
      },
      other_receivers: [],
    },
    signers: plan.signers,
    funders: plan.funders,
    gas: measuredGas(),
  };
}

function measuredGas() {
  const measured = JSON.parse(readFileSync(new URL("../gas.json", import.meta.url), "utf8"));
  const one = ({ base, perItem }) => base + perItem;
  return {
    pay_native: measured.payNative,
    pay_erc20: measured.payErc20,
    relay_eip3009: measured.depositWithAuthorization,
    relay_eip2612: measured.depositWithPermit,
    sweep_native: one(measured.sweepNative),
    sweep_erc20: one(measured.sweepErc20),
  };
}
