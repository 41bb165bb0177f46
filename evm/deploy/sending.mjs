// Sends the transaction of each contract. It is signed and recorded before it is sent, so that no run sends it twice.
import { keccak256, TransactionNotFoundError } from "viem";
import { CREATE2_DEPLOYER } from "./creations.mjs";

const PATIENCE_MILLISECONDS = 600_000;

export class SendingFailed extends Error {}

// The gas limit of a transaction: more than the estimate, because the state can change before its block.
export function withMargin(gas) {
  return (gas * 120n) / 100n;
}

export class Sender {
  #node;
  #account;
  #plan;
  #record;

  constructor(node, account, plan, record) {
    [this.#node, this.#account, this.#plan, this.#record] = [node, account, plan, record];
  }

  async make(creation) {
    const sent = await this.#find(creation);
    const hash = sent ?? (await this.#send(creation));
    const { confirmations } = this.#plan;
    const receipt = await this.#node.waitForTransactionReceipt({ hash, confirmations, timeout: PATIENCE_MILLISECONDS });
    if (receipt.status !== "success") throw new SendingFailed(`${creation.contract}: ${hash} reverted`);
    this.#record.set(creation.address, { transaction: hash, block: Number(receipt.blockNumber) });
    return hash;
  }

  // Returns the transaction of an earlier run that is mined or pending.
  async #find({ address }) {
    const known = this.#record.get(address);
    if (known === undefined) return null;
    try {
      const { hash, blockNumber } = await this.#node.getTransaction({ hash: known.transaction });
      // A reverted transaction deployed nothing, so the contract is sent again.
      const receipt = blockNumber === null ? null : await this.#node.getTransactionReceipt({ hash });
      return receipt?.status === "reverted" ? null : hash;
    } catch (error) {
      if (error instanceof TransactionNotFoundError) return null;
      throw error;
    }
  }

  async #send({ contract, address, data }) {
    const { address: from } = this.#account;
    const [nonce, next] = await Promise.all(
      ["latest", "pending"].map((blockTag) => this.#node.getTransactionCount({ address: from, blockTag })),
    );
    if (next !== nonce) throw new SendingFailed(`${from} has ${next - nonce} transactions under way: wait for them`);
    const fees = await feesOf(this.#node, this.#plan);
    const gas = await this.#node.estimateGas({ account: from, to: CREATE2_DEPLOYER, data });
    const raw = await this.#account.signTransaction({
      chainId: this.#plan.chain_id,
      type: "eip1559",
      nonce,
      to: CREATE2_DEPLOYER,
      data,
      gas: withMargin(gas),
      ...fees,
    });
    const hash = keccak256(raw);
    this.#record.set(address, { contract, transaction: hash, block: null });
    await this.#node.sendRawTransaction({ serializedTransaction: raw });
    return hash;
  }
}

export async function feesOf(node, plan) {
  const { maxFeePerGas, maxPriorityFeePerGas } = await node.estimateFeesPerGas();
  if (maxFeePerGas > plan.max_fee_per_gas) {
    throw new SendingFailed(`gas costs ${maxFeePerGas} wei, the plan allows ${plan.max_fee_per_gas}: wait, or raise it`);
  }
  return { maxFeePerGas, maxPriorityFeePerGas };
}
