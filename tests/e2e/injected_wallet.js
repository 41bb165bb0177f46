// A wallet for tests: it announces itself (EIP-6963) and forwards every request to the test.
(() => {
  const waiting = new Map();
  let number = 0;
  window.answerWallet = (id, result, error) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error) reject(Object.assign(new Error(error.message), { code: error.code }));
    else resolve(result);
  };
  const provider = {
    request: ({ method, params }) => new Promise((resolve, reject) => {
      number += 1;
      waiting.set(number, { resolve, reject });
      window.askWallet(JSON.stringify({ id: number, method, params: params ?? [] }));
    }),
  };
  const info = Object.freeze({
    uuid: "7e3a4c1e-6f6e-4f43-9f5e-0c8a5b0d1a2b",
    name: "Test wallet",
    icon: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>",
    rdns: "example.wallet.test",
  });
  const announce = () => window.dispatchEvent(
    new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }),
  );
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
})();
