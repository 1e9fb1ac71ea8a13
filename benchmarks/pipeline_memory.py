#!/usr/bin/env python3
"""Does an input pipeline over many gigabytes hold its memory? Prints the server's resident memory while it reads.

One file of records is written and read again and again: records, shuffle, parse, batch, prefetch, summed up in one step of
a `weir server` that TensorFlow's client asks for it. The file is removed at the end.

    pipeline_memory.py --weir build/release/bin/weir --gigabytes 10
"""

import argparse
import os
import signal
import subprocess
import tempfile
import threading
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()
IMAGE_BYTES = 784 * 5  # an image, and what a record costs beside it is small


def write_records(path, size):
  """About `size` bytes of examples; how many."""
  random = np.random.RandomState(1)
  images = [random.bytes(IMAGE_BYTES) for _ in range(100)]
  count = 0
  with tf.io.TFRecordWriter(path) as writer:
    while count * IMAGE_BYTES < size:
      example = tf.train.Example()
      example.features.feature["image"].bytes_list.value.append(images[count % len(images)])
      example.features.feature["label"].int64_list.value.append(count)
      writer.write(example.SerializeToString())
      count += 1
  return count


def pipeline(path, times):
  features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
  data = tf.data.TFRecordDataset([path]).repeat(times).shuffle(10000, seed=1).batch(128)
  data = data.map(lambda records: tf.io.parse_example(records, features), num_parallel_calls=2).prefetch(2)
  return data.reduce(np.int64(0), lambda count, batch: count + tf.size(batch["label"], out_type=tf.int64))


def resident_mb(pid):
  with open(f"/proc/{pid}/status") as status:
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--weir", required=True, help="the program")
  parser.add_argument("--gigabytes", type=float, default=10, help="to be read in all")
  parser.add_argument("--file-gigabytes", type=float, default=1, help="of the one file")
  parser.add_argument("--interval", type=float, default=5, help="seconds between two figures")
  parser.add_argument("--folder", default=None, help="where the file goes")
  arguments = parser.parse_args()
  times = max(1, round(arguments.gigabytes / arguments.file_gigabytes))
  with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
    path = os.path.join(folder, "records")
    count = write_records(path, arguments.file_gigabytes * 1e9)
    total = times * os.path.getsize(path)
    server = subprocess.Popen([arguments.weir, "server", "--port", "0"], stdout=subprocess.PIPE, text=True)
    target = server.stdout.readline().strip()
    figures, done = [], threading.Event()

    def watch(start):
      while not done.wait(arguments.interval):
        figures.append(resident_mb(server.pid))
        print(f"{time.time() - start:7.0f} s  {figures[-1]:8.1f} MB", flush=True)

    try:
      with tf.Graph().as_default(), v1.Session(target) as session:
        result = pipeline(path, times)
        start = time.time()
        watcher = threading.Thread(target=watch, args=(start,))
        watcher.start()
        try:
          read = session.run(result)
        finally:
          done.set()
          watcher.join()
        seconds = time.time() - start
      assert read == count * times, (read, count * times)
      steady = figures[1:] or figures or [resident_mb(server.pid)]
      print(f"{read} records, {total / 1e9:.1f} GB in {seconds:.0f} s: {total / 1e6 / seconds:.0f} MB/s, resident "
            f"{min(steady):.0f} to {max(steady):.0f} MB after the first {arguments.interval:g} s")
    finally:
      server.send_signal(signal.SIGTERM)
      server.wait(timeout=30)
      server.stdout.close()


if __name__ == "__main__":
  main()
