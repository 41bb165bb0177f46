// The record of sent transactions, stored beside the plan: a run that ended early is continued with it. It is keyed by
// chain and address, because a plan has the same addresses on every chain.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export class RecordRefused extends Error {}

export class Record {
  #path;
  #chain;
  #chains;

  constructor(path, chainId) {
    [this.#path, this.#chain, this.#chains] = [path, String(chainId), existsSync(path) ? read(path) : {}];
  }

  static beside(planPath, { chain_id: chainId }) {
    return new Record(planPath.replace(/(\.json)?$/, ".record.json"), chainId);
  }

  // {transaction, block} of the deployment at an address; block is null until it is mined.
  get(address) {
    return this.#chains[this.#chain]?.[address];
  }

  set(address, row) {
    const rows = (this.#chains[this.#chain] ??= {});
    rows[address] = { ...rows[address], ...row };
    writeFileSync(`${this.#path}.new`, `${JSON.stringify(this.#chains, null, 2)}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }
}

function read(path) {
  let chains;
  try {
    chains = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new RecordRefused(`${path} cannot be read: ${error.message}`);
  }
  // Earlier versions stored addresses without the chain.
  const [other] = Object.keys(chains).filter((key) => !/^[1-9][0-9]*$/.test(key));
  if (other) throw new RecordRefused(`${path} names no chain for ${other}: move it into a member "<chain id>"`);
  return chains;
}
