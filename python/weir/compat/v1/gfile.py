"""tf.gfile of TensorFlow 1: files under the old names."""

from weir.io.gfile import GFile, copy, exists, glob, isdir, listdir, makedirs, mkdir, remove, rename, rmtree, stat, walk

__all__ = ["Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory", "ListDirectory", "MakeDirs",
           "MkDir", "Open", "Remove", "Rename", "Stat", "Walk"]

Open = FastGFile = GFile
Exists, IsDirectory, Remove, DeleteRecursively, MkDir, MakeDirs, Stat = (exists, isdir, remove, rmtree, mkdir, makedirs,
                                                                        stat)


def Copy(oldpath, newpath, overwrite=False):
    copy(oldpath, newpath, overwrite)


def Rename(oldname, newname, overwrite=False):
    rename(oldname, newname, overwrite)


def Glob(filename):
    return glob(filename)


def ListDirectory(dirname):
    return listdir(dirname)


def Walk(top, in_order=True):
    return walk(top, in_order)
