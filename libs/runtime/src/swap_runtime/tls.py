"""TLS contexts of clients, from files in PEM."""

from __future__ import annotations

import ssl
from pathlib import Path


def client_context(
    ca_file: Path | None, certificate_file: Path | None, key_file: Path | None
) -> ssl.SSLContext:
    """Return a context that verifies the server's certificate and its host name.

    :param ca_file: the authorities that are trusted; the system's without one.
    :raises ValueError: naming the file that cannot be used.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # an SSLError too
        raise ValueError(f"{ca_file} is not a readable PEM file of certificates: {error}") from None
    if certificate_file is not None:
        try:
            context.load_cert_chain(certificate_file, key_file)
        except OSError as error:
            raise ValueError(
                f"{certificate_file} and {key_file} are not a certificate and its key: {error}"
            ) from None
    return context
