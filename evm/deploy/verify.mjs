// Verifies the deployment of a plan, and prints the catalogue's entry: npm run deploy:verify -- PLAN.json
// [--owner-transactions FILE]. It sends nothing and needs no key.
import { parseArgs } from "node:util";
import { creationsOf } from "./creations.mjs";
import { openNode, requireChain } from "./node.mjs";
import { PlanRefused, readPlan } from "./plan.mjs";
import { Record } from "./record.mjs";
import { main, report } from "./report.mjs";

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { "owner-transactions": { type: "string" } },
  });
  if (positionals.length !== 1) throw new PlanRefused("name one plan file");
  const plan = readPlan(positionals[0]);
  const node = openNode();
  await requireChain(node, plan.chain_id);
  const transactionsPath = values["owner-transactions"];
  return report(node, plan, creationsOf(plan), Record.beside(positionals[0], plan), { transactionsPath });
});
