"""What the manifests use of the official image: KAFKA_FOO_BAR is the broker's `foo.bar`."""

import os
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

CONFIGURATION = Path("/opt/kafka/config")
NOT_THE_BROKERS = {"KAFKA_HEAP_OPTS"}
LOG4J = """\
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""


def main() -> None:
    settings = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): value
        for name, value in os.environ.items()
        if name.startswith("KAFKA_")
        and name not in NOT_THE_BROKERS
        and not name[6:].endswith(("_PORT", "_HOST"))
    }
    properties = CONFIGURATION / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    (CONFIGURATION / "log4j2.properties").write_text(LOG4J)
    java = [
        "java",
        *os.environ.get("KAFKA_HEAP_OPTS", "").split(),
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        f"-Dlog4j2.configurationFile={CONFIGURATION / 'log4j2.properties'}",
        *("-cp", "/opt/kafka/libs/*"),
    ]
    if not (Path(settings["log.dirs"]) / "meta.properties").exists():
        identity = f"--cluster-id={urlsafe_b64encode(os.urandom(16)).decode().rstrip('=')}"
        tool = ["kafka.tools.StorageTool", "format", identity, "-c", str(properties)]
        subprocess.run([*java, *tool], check=True)
    os.execvp("java", [*java, "kafka.Kafka", str(properties)])


if __name__ == "__main__":
    main()
