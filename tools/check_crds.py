"""Validate the custom resources of every overlay against the operators' own definitions.

    tools/check_crds.py production staging

The definitions are read from the operators' Go modules and, of Strimzi, generated from its Maven
artifacts; nothing is copied into the project. An unknown field is a finding, as it is for an API
server with strict validation.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import yaml

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache/crds"
JAVA_MIN = 21
MODULES = {
    "github.com/cloudnative-pg/cloudnative-pg@v1.28.0": "config/crd/bases",
    "github.com/external-secrets/external-secrets@v1.3.2": "config/crds/bases",
    "github.com/kedacore/keda/v2@v2.21.0": "config/crd/bases",
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": "example/prometheus-operator-crd",
    "sigs.k8s.io/gateway-api@v1.4.0": "config/crd/standard",
}
STRIMZI = "1.2.0"
MODELS = {
    "Kafka": "io.strimzi.api.kafka.model.kafka.Kafka",
    "KafkaNodePool": "io.strimzi.api.kafka.model.nodepool.KafkaNodePool",
    "KafkaTopic": "io.strimzi.api.kafka.model.topic.KafkaTopic",
    "KafkaUser": "io.strimzi.api.kafka.model.user.KafkaUser",
}
# Its plugin's definition is in no package registry.
UNKNOWN = {"barmancloud.cnpg.io/v1"}
# Their schemas come with Kubernetes; the policy tests validate them.
BUILTIN = ("rbac.authorization.k8s.io/", "networking.k8s.io/", "policy/", "apps/", "batch/", "v1")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>crds</groupId><artifactId>crds</artifactId><version>1</version><dependencies>
<dependency><groupId>io.strimzi</groupId><artifactId>api</artifactId><version>{0}</version></dependency>
<dependency><groupId>io.strimzi</groupId><artifactId>crd-generator</artifactId><version>{0}</version></dependency>
</dependencies></project>"""
Schemas = dict[tuple[str, str], Any]


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads a plain `=`, which YAML 1.1 has a tag for, as text."""


Loader.add_constructor("tag:yaml.org,2002:value", Loader.construct_yaml_str)


def findings(objects: list[Mapping[str, Any]], schemas: Schemas) -> Iterator[str]:
    """Yield what the definitions do not allow, and the kinds that have none."""
    for each in objects:
        version, kind = each["apiVersion"], each["kind"]
        name = f"{kind}/{each['metadata']['name']}"
        if version.startswith(BUILTIN) or version in UNKNOWN:
            continue
        if (version, kind) not in schemas:
            yield f"{name}: no definition of {version}"
            continue
        for error in jsonschema.Draft7Validator(schemas[version, kind]).iter_errors(dict(each)):
            yield f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message}"


def schemas_of(files: list[Path]) -> Schemas:
    """Return each version's schema, closed: it allows no field that it does not name."""
    schemas = {}
    for file in files:
        for each in yaml.load_all(file.read_text(), Loader=Loader):
            if each is None or each.get("kind") != "CustomResourceDefinition":
                continue
            spec = each["spec"]
            for version in spec["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                close_schema(schema)
                schema["properties"]["metadata"] = {"type": "object"}
                schemas[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return schemas


def close_schema(schema: Any) -> None:
    if isinstance(schema, list):
        for each in schema:
            close_schema(each)
    if not isinstance(schema, dict):
        return
    is_open = schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and not is_open:
        schema.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        schema.pop("type", None)
    for each in schema.values():
        close_schema(each)


def definitions() -> list[Path]:
    """Fetch what is missing, and return every file with definitions."""
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "go.mod").write_text("module crds\n")
    files = [file for module, folder in MODULES.items() for file in module_files(module, folder)]
    return files + strimzi_files()


def module_files(module: str, folder: str) -> list[Path]:
    done = subprocess.run(
        ["go", "mod", "download", "-json", module],
        cwd=CACHE,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return sorted((Path(json.loads(done.stdout)["Dir"]) / folder).glob("*.yaml"))


def strimzi_files() -> list[Path]:
    made = CACHE / f"strimzi-{STRIMZI}"
    files = [made / f"{kind}.yaml" for kind in MODELS]
    if not all(file.exists() for file in files):
        made.mkdir(exist_ok=True)
        (made / "pom.xml").write_text(POM.format(STRIMZI))
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={made / 'lib'}"]
        subprocess.run(["mvn", "-B", "-q", "-f", made / "pom.xml", *copy], check=True)
        models = [f"{model}={made / kind}.yaml" for kind, model in MODELS.items()]
        generator = ["io.strimzi.crdgenerator.CrdGenerator", "--yaml", "--target-kube", "1.30+"]
        subprocess.run([find_java(), "-cp", f"{made}/lib/*", *generator, *models], check=True)
    return files


def find_java() -> Path:
    """Return a Java that runs Strimzi's generator.

    :raises SystemExit: when there is none.
    """
    homes = [Path(os.environ.get("JAVA_HOME", "/nowhere")), *Path("/usr/lib/jvm").glob("*")]
    for home in homes:
        release = home / "release"
        if release.is_file():
            version = release.read_text().partition('JAVA_VERSION="')[2].partition('"')[0]
            if int(version.partition(".")[0] or 0) >= JAVA_MIN:
                return home / "bin/java"
    sys.exit(f"check_crds: Java {JAVA_MIN} or newer is needed: set JAVA_HOME")


def render(overlay: str) -> list[Mapping[str, Any]]:
    kubectl = Path(sys.executable).with_name("kubectl")
    command = [str(kubectl), "kustomize", str(ROOT / "deploy/k8s/overlays" / overlay)]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return list(yaml.load_all(text, Loader=Loader))


def main(overlays: list[str]) -> None:
    if not overlays:
        sys.exit("check_crds: no overlay to check")
    missing = [program for program in ("go", "mvn") if shutil.which(program) is None]
    if missing:
        sys.exit(f"check_crds: {' and '.join(missing)} needed")
    schemas = schemas_of(definitions())
    found = [f"{name}: {text}" for name in overlays for text in findings(render(name), schemas)]
    if found:
        sys.exit("\n".join(found))
    print(f"{', '.join(overlays)}: every custom resource is as its definition says")


if __name__ == "__main__":
    main(sys.argv[1:])
