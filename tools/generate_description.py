"""Write the OpenAPI document that the service ships: to make it takes seconds, to read it none."""

from typing import Final

from generate_openapi import document
from generating import write_or_check

TARGET: Final = "services/api/src/swap_api/http/openapi.json"

if __name__ == "__main__":
    write_or_check({TARGET: document()})
