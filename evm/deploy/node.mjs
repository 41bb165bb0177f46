// The node of a network, and the key of the deployer. Secrets come from the environment or from files.
import { readFileSync } from "node:fs";
import { createPublicClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";

export class NotConfigured extends Error {}

// NODE_URL or NODE_URL_FILE. A file is possible because the URL of a node may contain a key.
export function openNode() {
  const url = secret("NODE_URL");
  if (url === undefined) throw new NotConfigured("set NODE_URL or NODE_URL_FILE");
  return createPublicClient({ transport: http(url, { retryCount: 0 }), pollingInterval: 500 });
}

// DEPLOYER_KEY or DEPLOYER_KEY_FILE. It is no argument, because lists of processes show arguments.
export function openAccount(deployer) {
  const key = secret("DEPLOYER_KEY");
  if (key === undefined) throw new NotConfigured("set DEPLOYER_KEY_FILE, or DEPLOYER_KEY");
  let account;
  try {
    account = privateKeyToAccount(key);
  } catch {
    throw new NotConfigured("the deployer's key is not 0x and 64 digits"); // the cause would show it
  }
  if (account.address !== deployer) throw new NotConfigured(`the key is of ${account.address}, not of ${deployer}`);
  return account;
}

export async function requireChain(node, chainId) {
  const actual = await node.getChainId();
  if (actual !== chainId) throw new NotConfigured(`the node serves the chain ${actual}, the plan is for ${chainId}`);
}

function secret(name) {
  const { [name]: value, [`${name}_FILE`]: path } = process.env;
  if (value && path) throw new NotConfigured(`set ${name} or ${name}_FILE, not both`);
  return path ? readFileSync(path, "utf8").trim() : value || undefined;
}
