"""Write the OpenAPI document as the service gives it, to be linted and to make clients from.

python tools/generate_openapi.py .cache/openapi.json
"""

import json
import sys
from pathlib import Path
from typing import Any, get_type_hints

from swap_api.http.openapi import openapi_document
from swap_api.public_endpoints import Handlers, endpoints
from swap_api.settings import ApiGroup


def document() -> str:
    # The table names handlers; which objects they belong to is no part of the document.
    handlers: Any = get_type_hints(Handlers)
    key_headers = ApiGroup.model_fields["key_headers"].get_default(call_default_factory=True)
    made = openapi_document(endpoints(handlers), key_headers=key_headers, version="0.1.0")
    return json.dumps(json.loads(made), indent=1) + "\n"


def main() -> None:
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document())


if __name__ == "__main__":
    main()
