// The output and the exit codes of both commands.
import { writeFileSync } from "node:fs";
import { entryOf } from "./entry.mjs";
import { verify } from "./verification.mjs";

const FINDINGS = 1;
const OWNER_MUST_SIGN = 3;

// Verifies, and prints the catalogue's entry if everything matches the plan.
export async function report(node, plan, creations, record, { transactionsPath }) {
  const { findings, ownerTransactions } = await verify(node, plan, creations);
  for (const one of findings) console.error(`wrong: ${one}`);
  if (findings.length > 0) return FINDINGS;
  if (ownerTransactions.length > 0) {
    console.error(`for the owner ${plan.owner} to sign, then run npm run deploy:verify:`);
    for (const { to, data, about } of ownerTransactions) console.error(`  ${about}\n    to ${to}\n    data ${data}`);
    if (transactionsPath) writeFileSync(transactionsPath, `${JSON.stringify(batch(plan, ownerTransactions), null, 2)}\n`);
    return OWNER_MUST_SIGN;
  }
  console.log(JSON.stringify(await entryOf(node, plan, creations, record), null, 2));
  return 0;
}

// The format that a Safe's transaction builder imports.
function batch(plan, transactions) {
  return {
    version: "1.0",
    chainId: String(plan.chain_id),
    createdAt: 0,
    meta: { name: `Treasury of ${plan.network}` },
    transactions: transactions.map(({ to, value, data }) => ({ to, value, data })),
  };
}

// Prints the error in one line: a stack trace would show the node's URL with its key.
export async function main(run) {
  try {
    process.exitCode = await run();
  } catch (error) {
    console.error(`failed: ${error.shortMessage ?? error.message}`);
    process.exitCode = FINDINGS;
  }
}
