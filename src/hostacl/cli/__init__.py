"""The ``hostacl`` command."""
