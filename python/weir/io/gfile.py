"""Files of the local file system under the names of `tf.io.gfile`."""

import glob as _glob
import io as _io
import os
import shutil

from weir.framework import errors


def _path(path):
    path = os.fspath(path)
    path = path.decode() if isinstance(path, bytes) else path
    return path[len("file://"):] if path.startswith("file://") else path


def _translate(error, path):
    """The error of a call as the class that TensorFlow raises."""
    kinds = {FileNotFoundError: errors.NotFoundError, FileExistsError: errors.AlreadyExistsError,
             PermissionError: errors.PermissionDeniedError, IsADirectoryError: errors.FailedPreconditionError,
             NotADirectoryError: errors.FailedPreconditionError}
    return kinds.get(type(error), errors.UnknownError)(None, None, f"{path}; {error.strerror or error}")


def exists(path):
    """Whether a file or folder is there."""
    return os.path.exists(_path(path))


def isdir(path):
    """Whether a path is a folder."""
    return os.path.isdir(_path(path))


def join(path, *paths):
    """Parts of a path joined."""
    return os.path.join(path, *paths)


def listdir(path):
    """The names in a folder."""
    if not isdir(path):
        raise errors.NotFoundError(None, None, f"Could not find directory {path}")
    return os.listdir(_path(path))


def mkdir(path):
    """Makes a folder."""
    try:
        os.mkdir(_path(path))
    except OSError as error:
        raise _translate(error, path) from error


def makedirs(path):
    """Makes a folder and those above it; nothing if it is there."""
    try:
        os.makedirs(_path(path), exist_ok=True)
    except OSError as error:
        raise _translate(error, path) from error


def remove(path):
    """Removes a file."""
    try:
        os.remove(_path(path))
    except OSError as error:
        raise _translate(error, path) from error


def rmtree(path):
    """Removes a folder with all that is in it."""
    if not exists(path):
        raise errors.NotFoundError(None, None, f"{path}; No such file or directory")
    shutil.rmtree(_path(path))


def copy(src, dst, overwrite=False):
    """Copies a file."""
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(None, None, "file already exists")
    try:
        shutil.copyfile(_path(src), _path(dst))
    except OSError as error:
        raise _translate(error, src) from error


def rename(src, dst, overwrite=False):
    """Moves a file."""
    if not overwrite and exists(dst):
        raise errors.AlreadyExistsError(None, None, "file already exists")
    try:
        os.replace(_path(src), _path(dst))
    except OSError as error:
        raise _translate(error, src) from error


def glob(pattern):
    """The paths that match a pattern, or one of several."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    return sorted(path for p in patterns for path in _glob.glob(_path(p)))


class FileStatistics:
    """Size and time of a file."""

    def __init__(self, status):
        self.length = status.st_size
        self.mtime_nsec = status.st_mtime_ns
        self.is_directory = os.path.stat.S_ISDIR(status.st_mode)


def stat(path):
    """Size and time of a file."""
    try:
        return FileStatistics(os.stat(_path(path)))
    except OSError as error:
        raise _translate(error, path) from error


def walk(top, topdown=True, onerror=None):
    """(folder, folders in it, files in it) for a folder and all below."""
    return os.walk(_path(top), topdown=topdown, onerror=onerror)


def get_registered_schemes():
    """The kinds of paths that can be opened."""
    return ["", "file"]


class GFile:
    """An open file. Modes are r, w, a and +, with b for bytes."""

    def __init__(self, name, mode="r"):
        self._name, self._mode = name, mode
        self._file = None
        if mode.replace("b", "") not in ("r", "w", "a", "r+", "w+", "a+"):
            raise errors.InvalidArgumentError(None, None, f"mode is not 'r' or 'w' or 'a': {mode}")

    name = property(lambda self: self._name)
    mode = property(lambda self: self._mode)

    def _open(self):
        if self._file is None:
            try:
                text = {} if "b" in self._mode else {"encoding": "utf-8", "newline": ""}
                self._file = open(_path(self._name), self._mode, **text)
            except OSError as error:
                raise _translate(error, self._name) from error
        return self._file

    def _readable(self):
        if not any(c in self._mode for c in "r+"):
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        return self._open()

    def read(self, n=-1):
        """Bytes or characters, all by default."""
        return self._readable().read(n)

    def readline(self):
        """One line with its end."""
        return self._readable().readline()

    def readlines(self):
        """All lines."""
        return self._readable().readlines()

    def write(self, file_content):
        """Writes text or bytes."""
        if not any(c in self._mode for c in "wa+"):
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if "b" in self._mode and isinstance(file_content, str):
            file_content = file_content.encode()
        elif "b" not in self._mode and isinstance(file_content, bytes):
            file_content = file_content.decode()
        self._open().write(file_content)

    def seek(self, offset=None, whence=0, position=None):
        """Moves to a place."""
        self._open().seek(position if offset is None else offset, whence)

    def seekable(self):
        """True."""
        return True

    def tell(self):
        """The place in the file."""
        return self._open().tell()

    def size(self):
        """The number of bytes."""
        self.flush()
        return stat(self._name).length

    def flush(self):
        """Hands what was written to the system."""
        if self._file is not None and any(c in self._mode for c in "wa+"):
            self._file.flush()

    def close(self):
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        elif "w" in self._mode:
            self._open().close()
            self._file = None

    def __iter__(self):
        return self

    def __next__(self):
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *_):
        self.close()


SEEK_SET = _io.SEEK_SET
