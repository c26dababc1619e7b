"""The rules behind scripts/check.py: tree (what is checked), then one module a subject."""
