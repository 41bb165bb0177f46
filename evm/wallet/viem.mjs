// A wallet made of viem, as web pages use it. It sends or signs the request on stdin, and prints the hashes or the
// signature on stdout. For tests.
//
//   {"rpc_url", "private_key", "transactions": [{"to", "value", "data" or null, "gas" or null}]}   ->  {"hashes": […]}
//   {"private_key", "typed_data": {…}}                                             ->  {"signature": "0x…"}
import { text } from "node:stream/consumers";
import { createWalletClient, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const asked = JSON.parse(await text(process.stdin));
const account = privateKeyToAccount(asked.private_key);
const answer = asked.typed_data === undefined ? { hashes: await send() } : { signature: await sign() };
process.stdout.write(JSON.stringify(answer));

async function send() {
  const wallet = createWalletClient({ account, transport: http(asked.rpc_url) }).extend(publicActions);
  const hashes = [];
  for (const { to, value, data, gas } of asked.transactions) {
    const given = { to, value: BigInt(value), data: data ?? undefined, gas: gas === null ? undefined : BigInt(gas) };
    const hash = await wallet.sendTransaction({ chain: null, ...given });
    const { status } = await wallet.waitForTransactionReceipt({ hash, pollingInterval: 50 });
    if (status !== "success") throw new Error(`${hash} reverted`);
    hashes.push(hash);
  }
  return hashes;
}

async function sign() {
  const { domain, types, primaryType, message } = asked.typed_data;
  return account.signTypedData({ domain, types, primaryType, message });
}
