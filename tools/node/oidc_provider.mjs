// An OpenID provider for tests: any login is a person, whose email is the login.
// usage: node oidc_provider.mjs PORT REDIRECT_URI
import { Provider } from "oidc-provider";

const [port, redirectUri] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "dashboard",
      client_secret: "a client's secret for tests",
      redirect_uris: [redirectUri],
      response_types: ["code"],
      grant_types: ["authorization_code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: id, email_verified: !id.startsWith("unverified") }),
  }),
});
provider.listen(Number(port), "127.0.0.1");
