// What was sent, beside the plan: a run that ended early goes on with it.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

export class Record {
  #path;
  #rows;

  constructor(path) {
    this.#path = path;
    this.#rows = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  }

  static beside(planPath) {
    return new Record(planPath.replace(/(\.json)?$/, ".record.json"));
  }

  // {transaction, block} of what was made at an address; block is null until it is mined.
  get(address) {
    return this.#rows[address];
  }

  set(address, row) {
    this.#rows[address] = { ...this.#rows[address], ...row };
    writeFileSync(`${this.#path}.new`, `${JSON.stringify(this.#rows, null, 2)}\n`);
    renameSync(`${this.#path}.new`, this.#path);
  }
}
