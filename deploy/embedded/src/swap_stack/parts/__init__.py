"""The infrastructure, one class each."""
