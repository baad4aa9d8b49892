"""Files: one small reader and writer per format, all speaking Snapshots; fits and moments as plain data.

Files are written under a temporary name and renamed, so nothing is ever half-written; nothing is overwritten
unless asked; nothing from a file is executed.
"""

from trackless.files.results import load, save
from trackless.files.tables import read, write

__all__ = ["load", "read", "save", "write"]
