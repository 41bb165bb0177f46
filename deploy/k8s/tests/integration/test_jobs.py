"""The Jobs of a cluster, on real chains and a real Postgres."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from swap_k8s import __main__ as jobs
from swap_k8s.chains import FORWARDED, prepare_chains
from swap_k8s.config_maps import ConfigMaps
from swap_k8s.contracts import check_networks

from deploy.k8s.tests.rendered_overlay import ROOT, containers_of
from deploy.k8s.tests.rendered_overlay import RenderedOverlay as Overlay
from swap_chains.errors import ChainMismatch, ChainUnavailable
from swap_chains.evm.codec import checksum_address
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_stack.parts.anvil import CHAINS, Anvil
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry
from tests.plugins.postgres import Database

pytestmark = [pytest.mark.connected, pytest.mark.timeout(180)]

SIGNER_KEY = "0x" + "11" * 32
TOKEN = "of the service account"
ROLES = ("api", "quoter", "chain_watcher", "settler", "notifier", "dashboard")
ADMIN = ("ADMIN_URL", "PGPASSWORD")


class ApiServer:
    """The part of an API server that the Jobs use: ConfigMaps, for one account."""

    def __init__(self) -> None:
        self.config_maps: dict[str, dict[str, str]] = {}
        app = web.Application()
        app.router.add_get("/api/v1/namespaces/swap-dev/configmaps/{name}", self._get)
        app.router.add_patch("/api/v1/namespaces/swap-dev/configmaps/{name}", self._patch)
        self.server = TestServer(app)

    async def _get(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        data = self.config_maps.get(request.match_info["name"])
        return web.json_response({"data": data}, status=404 if data is None else 200)

    async def _patch(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        assert request.content_type == "application/apply-patch+yaml"
        assert request.query["fieldManager"]
        document = await request.json()
        assert (document["apiVersion"], document["kind"]) == ("v1", "ConfigMap")
        assert document["metadata"]["name"] == request.match_info["name"]
        self.config_maps[request.match_info["name"]] = document["data"]
        return web.json_response(document)


@pytest.fixture
async def api_server() -> AsyncIterator[ApiServer]:
    api_server = ApiServer()
    await api_server.server.start_server()
    yield api_server
    await api_server.server.close()


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """Start the three development chains, and return their nodes."""
    places = Places(tmp_path / "stack", ROOT)
    ports, registry = Ports(places.ports_file), Registry(places.processes_file)
    chains = [Anvil(chain, places, ports, registry) for chain in CHAINS]
    for chain in chains:
        await chain.start()
        await chain.ready()
    yield {chain.chain.network: chain.rpc_url for chain in chains}
    await asyncio.gather(*(chain.stop() for chain in chains))


def catalogue_of(api_server: ApiServer, folder: Path) -> Catalogue:
    file = folder / "catalogue.yaml"
    file.write_text(api_server.config_maps["catalogue"]["catalogue.yaml"])
    load_catalogue.cache_clear()
    return load_catalogue(file, checksum_address)


async def test_chains_are_prepared_once_and_pass_the_check_of_a_release(
    api_server: ApiServer, nodes: dict[str, str], tmp_path: Path
) -> None:
    config_maps = ConfigMaps(str(api_server.server.make_url("")).rstrip("/"), "swap-dev", TOKEN)
    urls = {network: (url,) for network, url in nodes.items()}

    await prepare_chains(config_maps, ROOT, nodes, SIGNER_KEY)

    written = dict(api_server.config_maps)
    assert set(written) == {"catalogue", "prices", "deployments"}
    catalogue = catalogue_of(api_server, tmp_path)
    assert {n: (FORWARDED[n],) for n in urls} == {
        name: network.public_nodes for name, network in catalogue.networks.items()
    }
    await check_networks(catalogue.networks, urls)

    api_server.config_maps["prices"] = {"prices.json": '{"ETH": "1.00"}'}
    await prepare_chains(config_maps, ROOT, nodes, SIGNER_KEY)

    assert api_server.config_maps["deployments"] == written["deployments"]
    assert api_server.config_maps["catalogue"] == written["catalogue"]
    assert api_server.config_maps["prices"] == {"prices.json": '{"ETH": "1.00"}'}

    name, network = next(iter(catalogue.networks.items()))
    other = replace(network, signers=("0x" + "22" * 20,))
    with pytest.raises(ChainMismatch, match=name):
        await check_networks({name: other}, urls)
    away = {name: ("http://127.0.0.1:1",)}
    with pytest.raises(ChainUnavailable):
        await check_networks({name: network}, away)
    await check_networks({name: network}, away, reachable_only=True)
    with pytest.raises(ChainMismatch, match=name):
        await check_networks({name: other}, urls, reachable_only=True)


@pytest.fixture
def roles_step() -> list[str]:
    """Return the command of the step `roles`, as the rendered Job has it."""
    job = Overlay.of("dev").get("Job", "release")
    [step] = [each for each in containers_of(job) if each["name"] == "roles"]
    command: list[str] = step["command"]
    return command


ADMIN_PASSWORD = "of/the@admin"


@pytest.fixture(params=["superuser", "owner"])
def admin_url(request: pytest.FixtureRequest, database: Database) -> str:
    """Return the URL of an administrator, without the password.

    A managed PostgreSQL has no superuser: its administrator owns the database and creates roles.
    """
    name = f"admin_{request.param}"
    may = "SUPERUSER" if request.param == "superuser" else "CREATEROLE"
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN {may} PASSWORD '{ADMIN_PASSWORD}'")
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" OWNER TO {name}')
        if may == "CREATEROLE":
            hand_roles_over(connection, name)
        info = connection.info
        return f"postgresql://{name}@{info.host}:{info.port}/{info.dbname}"


def hand_roles_over(connection: psycopg.Connection[Any], admin: str) -> None:
    """Make the administrator the creator of the services' roles, which the server already has."""
    connection.execute("DROP SCHEMA IF EXISTS invariant CASCADE")
    for role in (*ROLES, "auditor", "outbox_reader"):
        connection.execute(f"GRANT {role} TO {admin} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE")


def test_roles_step_sets_passwords_and_creates_the_invariant_views(
    database: Database,
    admin_url: str,
    roles_step: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program, *arguments = [
        part.replace("$(ADMIN_URL)", admin_url).replace("/sql/", f"{ROOT}/deploy/postgres/")
        for part in roles_step
    ]
    assert program == "psql"
    passwords = {f"{role.upper()}_PASSWORD": "test" for role in (*ROLES, "auditor")}
    environment = {**os.environ, **passwords, "PGPASSWORD": ADMIN_PASSWORD}
    subprocess.run([database.server.psql, *arguments], env=environment, check=True)

    (tmp_path / "url").write_text(admin_url + "\n")
    (tmp_path / "password").write_text(ADMIN_PASSWORD + "\n")
    monkeypatch.setenv("ADMIN_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("ADMIN_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.setenv("SWAP_CATALOGUE", str(ROOT / "docs/catalogue.example.yaml"))
    jobs.main(["invariants"])

    where = database.url("auditor").replace("+psycopg", "")
    with psycopg.connect(where) as connection:
        [(networks,)] = connection.execute("SELECT count(*) FROM invariant.network")
        assert networks > 0
        connection.execute("SELECT count(*) FROM invariant.swap")


def test_roles_step_names_every_password() -> None:
    script = (ROOT / "deploy/postgres/roles-from-environment.psql").read_text()
    job = Overlay.of("dev").get("Job", "release")
    [step] = [each for each in containers_of(job) if each["name"] == "roles"]

    for variable in step["env"]:
        if variable["name"] not in ADMIN:
            role = variable["name"].removesuffix("_PASSWORD").lower()
            assert f"\\getenv {role}_password {variable['name']}\n" in script
    roles = (ROOT / "deploy/postgres/roles.sql").read_text()
    assert script.count("\\getenv") == roles.count("\\if :{?") == len(step["env"]) - len(ADMIN)
