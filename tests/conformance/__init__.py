"""The contract, on any ``acl``: only pyACL's own names are used here."""
