"""Public names resolve whichever of the package's own modules were imported before."""

import subprocess
import sys
import unittest


class NamesTest(unittest.TestCase):
    def test_modules_that_were_imported_first_do_not_hide_names(self):
        code = """if True:
            import importlib
            import weir as tf
            for package in ("io", "data", "train", "autograph", "distribute", "compat", "saved_model"):
                importlib.import_module("weir." + package)
            import weir.io.gfile, weir.data.dataset, weir.ops.ragged
            for name in ("io.read_file", "io.gfile.exists", "io.TFRecordWriter", "data.Dataset", "data.experimental.cardinality",
                         "train.Checkpoint", "autograph.experimental.do_not_convert", "distribute.get_strategy",
                         "compat.v1.Session", "saved_model.load", "maximum", "sparse.maximum", "ragged.constant"):
                value = tf
                for part in name.split("."):
                    value = getattr(value, part)
        """
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_every_name_of_the_table_can_be_loaded(self):
        import importlib.util

        from weir import _names
        has_keras = importlib.util.find_spec("keras") is not None
        for name, (module, attribute) in _names.TABLE.items():
            if module.startswith("keras") and not has_keras:
                continue
            with self.subTest(name):
                value = importlib.import_module(module)
                for part in attribute.split(".") if attribute else []:
                    value = getattr(value, part)


if __name__ == "__main__":
    unittest.main()
