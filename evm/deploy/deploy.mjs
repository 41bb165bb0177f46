// Deploys the contracts of a plan: npm run deploy -- PLAN.json [--send] [--owner-transactions FILE]. Without --send
// it sends nothing and prints the transactions with their cost. A second run continues where the first one ended.
import { parseArgs } from "node:util";
import { formatEther } from "viem";
import { addressesOf, artifactOf, CREATE2_DEPLOYER, creationsOf } from "./creations.mjs";
import { NotConfigured, openAccount, openNode, requireChain } from "./node.mjs";
import { PlanRefused, readPlan } from "./plan.mjs";
import { Record } from "./record.mjs";
import { main, report } from "./report.mjs";
import { feesOf, Sender, SendingFailed, withMargin } from "./sending.mjs";
import { isBuild, ofAccounts } from "./verification.mjs";

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { send: { type: "boolean", default: false }, "owner-transactions": { type: "string" } },
  });
  if (positionals.length !== 1) throw new PlanRefused("name one plan file");
  const plan = readPlan(positionals[0]);
  const creations = creationsOf(plan);
  const node = openNode();
  await requireChain(node, plan.chain_id);
  const account = values.send ? openAccount(plan.deployer) : null;
  const record = Record.beside(positionals[0], plan);
  await requireDeployable(node, plan);
  const missing = await missingOf(node, creations);
  await requireFunds(node, plan, missing, { isRequired: values.send });
  if (!values.send) return missing.length > 0 ? 0 : report(node, plan, creations, record, {});
  const sender = new Sender(node, account, plan, record);
  for (const creation of missing) {
    const hash = await sender.make(creation);
    console.error(`made the ${creation.contract} at ${creation.address} in ${hash}`);
  }
  return report(node, plan, creations, record, { transactionsPath: values["owner-transactions"] });
});

async function requireDeployable(node, plan) {
  const [finding] = await ofAccounts(node, plan);
  if (finding) throw new PlanRefused(finding);
  if ((await node.getCode({ address: CREATE2_DEPLOYER })) === undefined) {
    throw new NotConfigured(`the network has no CREATE2 deployer at ${CREATE2_DEPLOYER}`);
  }
}

async function missingOf(node, creations) {
  const missing = [];
  for (const creation of creations) {
    const { contract, address, artifact } = creation;
    const code = await node.getCode({ address });
    if (code === undefined) missing.push(creation);
    else if (isBuild(code, artifact)) console.error(`the ${contract} is at ${address} already`);
    else throw new SendingFailed(`the code at ${address} is not the build's ${contract}`);
  }
  return missing;
}

// Prints the transactions with their cost, and fails if the balance does not cover all of them.
async function requireFunds(node, plan, missing, { isRequired }) {
  const fees = await feesOf(node, plan);
  let total = 0n;
  for (const { contract, address, data, arguments: args } of missing) {
    const gas = await node.estimateGas({
      account: plan.deployer,
      to: CREATE2_DEPLOYER,
      data,
      stateOverride: overrides(missing, contract),
    });
    total += withMargin(gas) * fees.maxFeePerGas; // a node refuses a transaction that the balance does not cover
    console.error(`${contract} at ${address}\n  constructor ${JSON.stringify(args)}\n  gas ${gas}`);
  }
  const balance = await node.getBalance({ address: plan.deployer });
  const words = `at most ${formatEther(total)} coins without a rollup's data fee; ${plan.deployer} has ${formatEther(balance)}`;
  console.error(`${missing.length} transactions, ${words}`);
  if (isRequired && balance < total) throw new SendingFailed("the deployer has too little: nothing was sent");
}

// Constructors check the code of the contracts before them, which a dry run does not deploy.
function overrides(missing, contract) {
  const before = missing.slice(0, missing.findIndex((one) => one.contract === contract));
  const at = addressesOf(before);
  return before.map((one) => ({ address: at[one.contract], code: artifactOf(one.contract).deployedBytecode }));
}
