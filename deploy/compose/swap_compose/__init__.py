"""The one-shot jobs of `docker compose up`, and what they leave behind."""
