"""Files: one small reader and writer per format, all speaking Snapshots; fits and moments as plain data.

Tables of particles become named columns (`delimited`, `parquet`) that `rows` groups into snapshots; trajectories become
frames (`lammps`, `xyz`, `gsd`) that `frames` puts together; arrays (`npz`, `hdf5`, `zarr`) share the layout in
`arrays`. `formats` is the table of all of them; `folders` lists what is in one, `joined` makes one data set of many
files, `sources` says where data are that stay in files. Files are written under a temporary name and renamed, so that
nothing is ever half-written; nothing is overwritten unless asked; nothing from a file is executed.
"""

from trackless.files.formats import read, read_with_notes, write
from trackless.files.results import load, save

__all__ = ["load", "read", "read_with_notes", "save", "write"]
