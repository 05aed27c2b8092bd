"""Files that are not on this machine: s3://, gs://, hf://, https:// and whatever fsspec knows.

An address is a string with a scheme. Reads are ranges, and a range that fails is asked for again; nothing is
downloaded as a whole, but for web servers that have no ranges.
"""

from neardup.remote.addresses import above, is_address, joined, last_name, shown
from neardup.remote.files import open_remote, read_remote, remote_status
from neardup.remote.stores import Status, Store, store_of

__all__ = [
    "Status",
    "Store",
    "above",
    "is_address",
    "joined",
    "last_name",
    "open_remote",
    "read_remote",
    "remote_status",
    "shown",
    "store_of",
]
