"""The quotes of a swap as a view for the api: the present one, and those that it replaced."""

from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

# A row of `swap` has its present quote alone. Quotes that were replaced earlier are not known.
QUOTES = (
    """
CREATE TABLE replaced_quote (
  swap_id uuid NOT NULL REFERENCES swap,
  revision int NOT NULL,
  quote jsonb NOT NULL,
  PRIMARY KEY (swap_id, revision)
)
""",
    """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON replaced_quote
FOR EACH ROW EXECUTE FUNCTION refuse_change()
""",
    """
CREATE FUNCTION store_replaced_quote() RETURNS trigger LANGUAGE plpgsql
SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO replaced_quote (swap_id, revision, quote)
  VALUES (OLD.id, OLD.quote_revision, OLD.quote)
  ON CONFLICT (swap_id, revision) DO NOTHING;
  RETURN NULL;
END $$
""",
    """
CREATE TRIGGER store_replaced_quote AFTER UPDATE ON swap
FOR EACH ROW WHEN (NEW.quote_revision <> OLD.quote_revision)
EXECUTE FUNCTION store_replaced_quote()
""",
    """
CREATE VIEW swap_quote AS
SELECT id AS swap_id, quote_revision AS revision, quote FROM swap
UNION ALL
SELECT swap_id, revision, quote FROM replaced_quote
""",
    "GRANT SELECT ON swap_quote TO api",
)


def upgrade() -> None:
    for statement in QUOTES:
        op.execute(statement)
