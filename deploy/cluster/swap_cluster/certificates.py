"""The cluster's authority, and a certificate with a kubeconfig for each of its parts."""

from __future__ import annotations

from swap_cluster.settings import API_PORT, FIRST_SERVICE, HOST, NODE, PKI
from swap_stack.programs import run_to_end

DAYS = "30"
SUBJECTS = {
    "admin": "/O=system:masters/CN=admin",
    "api-server": "/CN=kube-apiserver",
    "controller-manager": "/CN=system:kube-controller-manager",
    "kubelet": f"/O=system:nodes/CN=system:node:{NODE}",
    "kubelet-client": "/O=system:masters/CN=kube-apiserver-kubelet-client",
    "proxy": "/CN=system:kube-proxy",
    "scheduler": "/CN=system:kube-scheduler",
}
NAMES = (
    f"IP:{HOST},IP:{FIRST_SERVICE},DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
)
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
  - name: swap
    cluster: {{server: "https://{host}:{port}", certificate-authority: ca.crt}}
users: [{{name: {name}, user: {{client-certificate: {name}.crt, client-key: {name}.key}}}}]
contexts: [{{name: swap, context: {{cluster: swap, user: {name}}}}}]
current-context: swap
"""


async def make_certificates() -> None:
    """Make what is missing; it is worth nothing outside of this machine."""
    if (PKI / "done").exists():
        return
    PKI.mkdir(mode=0o700, parents=True, exist_ok=True)
    await _openssl("genrsa", "-out", "accounts.key", "2048")
    await _openssl("rsa", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
    await _openssl(
        *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", DAYS, "-subj", "/CN=swap"),
        *("-keyout", "ca.key", "-out", "ca.crt"),
    )
    (PKI / "names").write_text(f"subjectAltName={NAMES}\n")
    for name, subject in SUBJECTS.items():
        await _openssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        await _openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-days", DAYS, "-extfile", "names", "-out", f"{name}.crt"),
        )
        text = KUBECONFIG.format(host=HOST, port=API_PORT, name=name)
        (PKI / f"{name}.conf").write_text(text)
    (PKI / "done").touch()


async def _openssl(*arguments: str) -> None:
    files = {"-out", "-keyout", "-in", "-CA", "-CAkey", "-extfile"}
    named = [
        str(PKI / word) if before in files else word
        for before, word in zip(("", *arguments), arguments, strict=False)
    ]
    await run_to_end(["openssl", *named])
