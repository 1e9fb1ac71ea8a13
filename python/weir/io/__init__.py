"""Reading and writing: files (`gfile`), records, Examples, images."""
