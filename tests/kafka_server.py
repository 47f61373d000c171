"""A real Kafka broker for tests, in KRaft mode on the loopback. Its JARs are fetched once, as Spark's are."""

from __future__ import annotations

import base64
import fcntl
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from lakeledger.errors import LakeledgerError
from lakeledger.pipelines import jars, java

BROKER = jars.JarSet("kafka broker", "", "", ({"packages": ["org.apache.kafka:kafka_2.13:4.1.1"], "excludes": []},), ())
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""


class MissingBroker(Exception):
    """The broker's JARs are not here and could not be fetched."""


def class_path() -> str:
    """The broker's JARs. Raises MissingBroker."""
    folder = jars.folder().with_name("kafka-broker")
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".ready").exists():
            try:
                jars.resolve(BROKER, folder, {}, lambda _: None)
            except LakeledgerError as error:
                raise MissingBroker(str(error)) from error
            (folder / ".ready").touch()
    # Spark's resolver leaves out what Spark has.
    scala = Path(pyspark.__file__).parent.glob("jars/scala-*.jar")
    return ":".join([f"{folder}/jars/*", *map(str, scala)])


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """A broker with its data in a folder: where clients find it."""
    from confluent_kafka.admin import AdminClient

    ports = [_free_port(), _free_port()]
    settings = folder / "server.properties"
    settings.write_text(SETTINGS.format(port=ports[0], controller=ports[1], folder=folder), encoding="utf-8")
    program = [str(java.prepare(java.find()) / "bin/java"), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", class_path()]
    identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formatted = [*program, "kafka.tools.StorageTool", "format", "--standalone", "-t", identity, "-c", str(settings)]
    with (folder / "broker.log").open("wb") as log:
        subprocess.run(formatted, check=True, stdout=log, stderr=log)
        broker = subprocess.Popen([*program, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        servers = f"127.0.0.1:{ports[0]}"
        AdminClient({"bootstrap.servers": servers}).list_topics(timeout=90)
        yield servers
    finally:
        broker.kill()
        broker.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
