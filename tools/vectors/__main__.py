"""Write vectors/: `python -m tools.vectors`."""

from tools.vectors.folder import FOLDER, files_of, make_vectors, write_folder

if __name__ == "__main__":
    write_folder(FOLDER, files_of(make_vectors()))
