"""What requests may say: the models parse them, and the OpenAPI document shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Final, TypeVar, get_args
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)

from swap_api.http.requests import Request
from swap_api.model.listing import PAGE_SIZE_MAX, STATUS_NAMES
from swap_api.model.refusals import Invalid
from swap_contracts.public.models import NetworkType

PAGE_MAX: Final = 1_000_000
TEXTS_MAX: Final = 50
# Of examples.
ADDRESS: Final = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TRANSACTION: Final = "0x" + "5f" * 32
SIGNATURE: Final = "0x" + "5f" * 65

_BLANK: Final = re.compile(r"(T[\d:.]+) (\d\d:\d\d)")


def printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable text")
    return text


def _split(value: object) -> object:
    """Take a list comma-joined, repeated, or both."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list):
        return [part for item in value for part in str(item).split(",") if part]
    return value


def _restore_plus(value: object) -> object:
    """Take an offset with a `+` that was not encoded: in a query that is a blank."""
    return _BLANK.sub(r"\1+\2", value) if isinstance(value, str) else value


def _one_of(values: Sequence[str]) -> dict[str, JsonValue]:
    """Return the schema of a list of these values. Behaviour checks them, in any letter case."""
    return {"items": {"type": "string", "enum": [*values]}}


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _require_number(value: object) -> object:
    """Refuse what is neither a number nor text; `decode_object` reads numbers as text."""
    if not isinstance(value, str):
        raise ValueError("must be a number, or text of one")
    return value


Text = Annotated[str, StringConstraints(min_length=1, max_length=128), AfterValidator(printable)]
Reference = Annotated[
    str, StringConstraints(min_length=1, max_length=256), AfterValidator(printable)
]
Texts = Annotated[list[Text], BeforeValidator(_split), Field(max_length=TEXTS_MAX)]
# Checked with the token's decimals at hand, in `swap_api.swaps.decide.amounts`.
Numeric = Annotated[
    str,
    BeforeValidator(_require_number),
    StringConstraints(min_length=1, max_length=128),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}),
]
Moment = Annotated[datetime, BeforeValidator(_restore_plus), AfterValidator(_aware)]


class Parameters(BaseModel):
    """Null and empty values count as absent; `swap_api.http.unknown_names` reports other names."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RouteParameters(Parameters):
    source_network: Text = Field(description="Name, or chain id", examples=["ETHEREUM_DEVNET"])
    source_token: Text = Field(description="Symbol, or contract address", examples=["USDC"])
    destination_network: Text = Field(description="Name, or chain id", examples=["BASE_DEVNET"])
    destination_token: Text = Field(description="Symbol, or contract address", examples=["USDC"])
    amount: Numeric | None = Field(
        default=None,
        description="Whole source tokens; further decimals are cut off. Only a swap with a deposit "
        "address may be created without",
        examples=["25.5"],
    )
    receive_amount: Numeric | None = Field(
        default=None,
        description="In place of `amount`: whole destination tokens that are to arrive at least, "
        "further decimals cut off. The quote is for the smallest amount that brings them",
    )
    slippage: Numeric | None = Field(default=None, description="A fraction: 0.0025 is 0.25 %")
    refuel: bool = Field(default=False, description="Send some of the destination's gas token too")
    use_depository: bool = Field(default=False, description="Fund by a call of the Depository")
    use_deposit_address: bool = Field(default=False, description="Fund through a deposit address")
    use_gasless: bool = Field(default=False, description="Fund by a signature")


class PriceParameters(RouteParameters):
    source_address: Text | None = None
    destination_address: Text | None = None


class QuoteParameters(PriceParameters):
    explain: bool = Field(
        default=False,
        description="Also explain the quote: its inputs with their sources and ages, every integer "
        "of its calculation, and what is not offered. Needs a secret key",
    )


class RateBody(Parameters):
    """The body of the legacy rate endpoint."""

    source: Text = Field(description="Network: name, or chain id", examples=["ETHEREUM_DEVNET"])
    destination: Text = Field(description="Network: name, or chain id", examples=["BASE_DEVNET"])
    source_asset: Text = Field(description="Symbol, or contract address", examples=["USDC"])
    destination_asset: Text | None = Field(default=None, description="The same, when absent")
    refuel: bool = Field(
        description="Send some of the destination's gas token too", examples=[False]
    )


class SwapBody(RouteParameters):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "source_network": "ETHEREUM_DEVNET",
                "source_token": "USDC",
                "destination_network": "BASE_DEVNET",
                "destination_token": "USDC",
                "destination_address": ADDRESS,
                "refund_address": ADDRESS,
                "amount": "25.5",
                "use_depository": True,
                "reference_id": "order-1001",
            }
        }
    )
    destination_address: Text = Field(description="Who is paid")
    source_address: Text | None = Field(
        default=None, description="Who will pay, when that is known"
    )
    refund_address: Text | None = Field(default=None, description="On the source network")
    reference_id: Reference | None = Field(default=None, description="A label of your own")
    use_new_deposit_address: bool = False
    refuel: bool = Field(default=False, description="Send some of the destination's gas token too")
    source_exchange: Text | None = None
    destination_exchange: Text | None = None


class AuthorizeBody(Parameters):
    signature: str = Field(
        min_length=1,
        max_length=10_000,
        description="What signing `typed_data` gave, in hex",
        examples=[SIGNATURE],
    )
    signer_address: Text = Field(description="The wallet that signed", examples=[ADDRESS])


class SpeedUpBody(Parameters):
    transaction_id: Text = Field(
        description="The hash of the transaction that pays", examples=[TRANSACTION]
    )


class TransferParameters(Parameters):
    transaction_id: Text = Field(
        description="The hash of the transaction with the transfer", examples=[TRANSACTION]
    )


class AttachBody(TransferParameters):
    transfer_id: UUID | None = Field(
        default=None, description="Which transfer, where the transaction has several"
    )
    signature: str = Field(
        min_length=1,
        max_length=10_000,
        description="What signing `text` gave, in hex",
        examples=[SIGNATURE],
    )


class RefundAddressBody(Parameters):
    refund_address: Text = Field(description="On the swap's source network", examples=[ADDRESS])


class SwapParameters(Parameters):
    exclude_deposit_actions: bool = False
    source_address: Text | None = None


class StepsParameters(Parameters):
    source_address: Text | None = None


class LinkParameters(Parameters):
    may_set_refund_address: bool = Field(
        default=False,
        description="The holder of the link may set the refund address, while it is unset. Needs a "
        "secret key, or a member who may change the app",
    )


class TransactionParameters(Parameters):
    network: Text = Field(description="Name, or chain id", examples=["ETHEREUM_DEVNET"])
    transaction_id: Text = Field(description="The transaction's hash", examples=[TRANSACTION])


class PageParameters(Parameters):
    page: int = Field(default=1, ge=1, le=PAGE_MAX)
    page_size: int = Field(default=20, ge=1, le=PAGE_SIZE_MAX)


class FilterParameters(Parameters):
    """What every list of swaps takes."""

    statuses: Texts = Field(default=[], json_schema_extra=_one_of(STATUS_NAMES))
    include_expired: bool = False
    networks: Texts = Field(default=[], description="Source or destination")
    reference_id: Reference | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None
    page: int = Field(default=1, ge=1, le=PAGE_MAX)
    page_size: int = Field(default=20, ge=1, le=PAGE_SIZE_MAX)


class ListParameters(FilterParameters):
    address: Texts = Field(default=[], description="Source, destination or refund address")


class ManagedListParameters(ListParameters):
    """What the list of members takes beside it."""

    starting_after: UUID | None = Field(
        default=None,
        description="A swap of the list: the page begins behind it. Takes the place of `page`",
    )


class AliasParameters(FilterParameters):
    """What the alias takes in place of `address`."""

    addresses: Texts = Field(default=[], description="Source, destination or refund addresses")


class NetworksParameters(Parameters):
    network_types: Texts = Field(
        default=[],
        description="Comma-joined or repeated",
        json_schema_extra=_one_of(get_args(NetworkType)),
    )


class ReachParameters(NetworksParameters):
    """What the lists of sources and destinations have in common."""

    include_unavailable: bool = Field(default=False, description="Add what is out of service")
    include_unmatched: bool = Field(default=False, description="Add what no route leads to")
    include_swaps: bool = Field(
        default=False, description="Routes through a swap provider too; there are none for now"
    )
    has_deposit_address: bool = Field(
        default=False, description="Only what money can reach through a deposit address"
    )
    include_swaps_via_deposit_address: bool = Field(
        default=False, description="As has_deposit_address"
    )


class SourcesParameters(ReachParameters):
    destination_network: Text | None = Field(default=None, description="Name, or chain id")
    destination_token: Text | None = Field(default=None, description="Symbol, or contract address")


class DestinationsParameters(ReachParameters):
    source_network: Text | None = Field(default=None, description="Name, or chain id")
    source_token: Text | None = Field(default=None, description="Symbol, or contract address")


Model = TypeVar("Model", bound=Parameters)

WORDS: Final = {
    "missing": "is missing",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "int_parsing": "must be a whole number",
    "datetime_from_date_parsing": "must be a date with a time",
    "datetime_parsing": "must be a date with a time",
    "string_too_long": "has more than {max_length} characters",
    "too_long": "has more than {max_length} entries",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def id_of(request: Request, name: str) -> UUID:
    """Return an id of the path.

    :raises Invalid: when it is no UUID.
    """
    text = request.path_params[name]
    try:
        found = UUID(text)
    except ValueError:
        raise Invalid.field(name, "must be a UUID") from None
    if str(found) != text.lower():
        raise Invalid.field(name, "must be a UUID in its usual form")
    return found


def swap_id_of(request: Request) -> UUID:
    """
    :raises Invalid: when the address names no UUID.
    """
    return id_of(request, "swapId")


def parse_query(model: type[Model], query: Sequence[tuple[str, str]]) -> Model:
    """Read a query; an empty value counts as absent, and lists may be repeated.

    :raises Invalid: with every field at fault.
    """
    values: dict[str, Any] = {}
    lists = _lists_of(model)
    for name, value in query:
        key = query_name(name)
        if key in lists:
            values.setdefault(key, []).append(value)
        elif value:
            values[key] = value
    return _validate(model, values)


@cache
def _lists_of(model: type[BaseModel]) -> frozenset[str]:
    """Find them once: types take long to compare."""
    fields = model.model_fields.items()
    return frozenset(name for name, field in fields if field.annotation == list[Text])


def query_name(name: str) -> str:
    """Return the name of a query parameter: some clients mark lists with `[]`."""
    return name.removesuffix("[]")


def is_absent(value: object) -> bool:
    """Return whether a value counts as absent: null, or empty text."""
    return value is None or value == ""


def parse_body(model: type[Model], content: Mapping[str, Any]) -> tuple[Model, Mapping[str, Any]]:
    """Read a body's content, and return it with the members that are not absent.

    :raises Invalid: with every field at fault.
    """
    values = {name: value for name, value in content.items() if not is_absent(value)}
    return _validate(model, values), values


def _validate(model: type[Model], values: Mapping[str, Any]) -> Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        fields: dict[str, str] = {}
        for fault in faults:
            words = WORDS.get(fault["type"])
            own = fault["msg"].removeprefix("Value error, ")
            text = own if words is None else words.format(**fault.get("ctx", {}))
            fields.setdefault(str(fault["loc"][0]) if fault["loc"] else "body", text)
        name, why = next(iter(fields.items()))
        raise Invalid(f"{name}: {why}", fields=fields) from None
