"""What every rank of a job checks of weir.horovod; started by horovod_test.py. Any number of ranks will do."""

import sys
import unittest

import numpy as np
import weir as tf
import weir.horovod as hvd

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
TOTAL = SIZE * (SIZE + 1) / 2  # the sum of rank + 1


def values(tensors):
    return [t.numpy().tolist() for t in tensors]


class Collectives(unittest.TestCase):
    def test_allreduce(self):
        mine = tf.constant([1.0, -2.0]) * (RANK + 1)
        for op, first, second in ((hvd.Sum, TOTAL, -2 * TOTAL), (hvd.Average, TOTAL / SIZE, -2 * TOTAL / SIZE),
                                  (hvd.Min, 1, -2.0 * SIZE), (hvd.Max, SIZE, -2.0)):
            np.testing.assert_allclose(hvd.allreduce(mine, op=op), [first, second], rtol=1e-6)
        self.assertEqual(hvd.allreduce(tf.constant(2.0), op=hvd.Product).numpy(), 2.0 ** SIZE)
        self.assertAlmostEqual(float(hvd.allreduce(mine, op=hvd.Sum, prescale_factor=0.5, postscale_factor=4.0)[0]),
                               2 * TOTAL, places=4)
        self.assertEqual(hvd.allreduce(tf.constant([2 * RANK])).numpy().tolist(), [(SIZE - 1)])
        self.assertEqual(hvd.allreduce(tf.constant([True, RANK == 0]), op=hvd.Min).numpy().tolist(), [True, SIZE == 1])
        half = hvd.allreduce(mine, op=hvd.Sum, compression=hvd.Compression.fp16)
        self.assertEqual((half.dtype, half.numpy().tolist()), (tf.float32, [TOTAL, -2 * TOTAL]))
        with self.assertRaises(ValueError):
            hvd.allreduce(mine, average=True, op=hvd.Sum)

    def test_adasum_of_equal_and_of_orthogonal_vectors(self):
        if SIZE & (SIZE - 1):
            self.skipTest("the number of ranks must be a power of two")
        np.testing.assert_allclose(hvd.allreduce(tf.constant([3.0, 4.0]), op=hvd.Adasum), [3, 4], rtol=1e-6)
        np.testing.assert_allclose(hvd.allreduce(tf.one_hot(RANK, SIZE), op=hvd.Adasum), np.ones(SIZE), rtol=1e-6)

    def test_grouped_allreduce_of_several_types(self):
        out = hvd.grouped_allreduce([tf.fill([2], RANK + 1.0), tf.constant(RANK + 1), tf.fill([1, 1], RANK + 3.0)], op=hvd.Sum)
        self.assertEqual(values(out), [[TOTAL, TOTAL], TOTAL, [[TOTAL + 2 * SIZE]]])
        self.assertEqual([t.dtype for t in out], [tf.float32, tf.int32, tf.float32])

    def test_slices_are_gathered(self):
        mine = tf.IndexedSlices(tf.fill([RANK + 1, 2], 1.0), tf.range(RANK + 1), tf.constant([SIZE, 2]))
        average = hvd.allreduce(mine)
        self.assertIsInstance(average, tf.IndexedSlices)
        dense = tf.convert_to_tensor(average).numpy()
        np.testing.assert_allclose(dense[:, 0], [(SIZE - i) / SIZE for i in range(SIZE)], rtol=1e-6)
        with self.assertRaises(NotImplementedError):
            hvd.allreduce(mine, op=hvd.Max)

    def test_allgather_of_different_rows(self):
        out = hvd.allgather(tf.fill([RANK + 1, 2], RANK))
        self.assertEqual(out[:, 1].numpy().tolist(), [r for r in range(SIZE) for _ in range(r + 1)])
        self.assertEqual(hvd.allgather_object({"rank": RANK}), [{"rank": r} for r in range(SIZE)])

    def test_broadcast(self):
        root = SIZE - 1
        self.assertEqual(hvd.broadcast(tf.constant([RANK]), root).numpy().tolist(), [root])
        self.assertEqual(hvd.broadcast_object("only the root's" if RANK == root else None, root), "only the root's")
        weights = [tf.Variable([RANK, 1]), tf.Variable(float(RANK))]
        hvd.broadcast_variables(weights, root)
        self.assertEqual(values(weights), [[root, 1], float(root)])
        with self.assertRaises(ValueError):
            hvd.broadcast(tf.constant(1), SIZE)

    def test_alltoall(self):
        self.assertEqual(hvd.alltoall(tf.range(SIZE) + 100 * RANK).numpy().tolist(), [100 * r + RANK for r in range(SIZE)])
        rows, received = hvd.alltoall(tf.fill([int(TOTAL)], RANK), splits=[r + 1 for r in range(SIZE)])
        self.assertEqual(rows.numpy().tolist(), [r for r in range(SIZE) for _ in range(RANK + 1)])
        self.assertEqual((received.numpy().tolist(), received.dtype), ([RANK + 1] * SIZE, tf.int32))

    def test_reducescatter_gives_the_first_ranks_one_row_more(self):
        rows = 2 * SIZE + 1
        out = hvd.reducescatter(tf.range(rows, dtype=tf.float32) * (RANK + 1), op=hvd.Sum)
        begin = 0 if RANK == 0 else 2 * RANK + 1
        np.testing.assert_allclose(out, TOTAL * np.arange(begin, begin + (3 if RANK == 0 else 2)), rtol=1e-6)

    def test_gradients(self):
        # Those of Horovod, which takes a loss for the average of the ranks' losses.
        def flows(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                weight = RANK + 1.0
                grouped = hvd.grouped_allreduce([x, 2 * x], op=hvd.Average)
                targets = [tf.reduce_sum(hvd.allreduce(x, op=hvd.Sum) * weight), tf.reduce_sum(hvd.allgather(x) * weight),
                           tf.reduce_sum(hvd.broadcast(x, 0) * weight), tf.reduce_sum(hvd.alltoall(x) * weight),
                           tf.reduce_sum(hvd.reducescatter(x, op=hvd.Average) * weight),
                           tf.reduce_sum(grouped[0] * weight + grouped[1])]
            return [tape.gradient(target, x) for target in targets]
        expected = [[TOTAL] * SIZE, [TOTAL / SIZE] * SIZE, [TOTAL / SIZE if RANK == 0 else 0] * SIZE,
                    [r + 1.0 for r in range(SIZE)], [r + 1.0 for r in range(SIZE)], [TOTAL / SIZE + 2] * SIZE]
        for step in (flows, tf.function(flows)):
            for got, want in zip(step(tf.ones([SIZE])), expected):
                np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_ranks_that_disagree_all_get_the_error(self):
        if SIZE == 1:
            return
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "disagree"):
            hvd.allreduce(tf.zeros([2 + RANK % 2]), name="disagree")
        self.assertEqual(float(hvd.allreduce(tf.constant(1.0), op=hvd.Sum, name="after")), SIZE)

    def test_process_sets(self):
        if SIZE == 1:
            return
        some = hvd.add_process_set([0, SIZE - 1]) if SIZE > 2 else hvd.add_process_set(hvd.ProcessSet([1]))
        self.assertEqual(some.included(), RANK in some.ranks)
        if some.included():
            total = hvd.allreduce(tf.constant(RANK + 1.0), op=hvd.Sum, process_set=some)
            self.assertEqual(float(total), sum(r + 1 for r in some.ranks))
            self.assertEqual(float(hvd.broadcast(tf.constant(RANK), some.ranks[-1], process_set=some)), some.ranks[-1])
        self.assertTrue(hvd.remove_process_set(some))
        hvd.barrier()

    def test_join(self):
        for _ in range(RANK + 1):  # a rank takes more steps than the one before it
            hvd.allreduce(tf.constant(1.0), op=hvd.Sum, name="joined")
        self.assertEqual(hvd.join(), SIZE - 1)


class Training(unittest.TestCase):
    def test_a_tape_averages(self):
        table, weight = tf.Variable(tf.ones([SIZE, 2])), tf.Variable([2.0])

        @tf.function
        def step():
            with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
                loss = tf.reduce_sum(tf.gather(table, [RANK])) * weight[0] * (RANK + 1)
            return tape.gradient(loss, [table, weight])
        of_table, of_weight = step()
        self.assertIsInstance(of_table, tf.IndexedSlices)
        np.testing.assert_allclose(tf.convert_to_tensor(of_table)[:, 0], [2 * (r + 1) / SIZE for r in range(SIZE)], rtol=1e-6)
        np.testing.assert_allclose(of_weight, [2 * TOTAL / SIZE], rtol=1e-6)

    def test_in_functions_each_gradient_travels_by_itself(self):
        weights = [tf.Variable([float(i + 1)]) for i in range(4)]
        counter = tf.Variable(0)

        @tf.function
        def step():
            counter.assign_add(1)
            with hvd.DistributedGradientTape(tf.GradientTape()) as tape:
                loss = (RANK + 1) * tf.add_n([w * w for w in weights])
            gradients = tape.gradient(loss, weights)
            counter.assign_add(1)
            return gradients
        np.testing.assert_allclose(tf.concat(step(), 0), [2 * (i + 1) * TOTAL / SIZE for i in range(4)], rtol=1e-6)
        self.assertEqual(counter.numpy(), 2)
        exchanges = [op for op in step.get_concrete_function().graph.get_operations() if op.type == "_ProcessAllReduce"]
        if SIZE > 1:
            self.assertEqual(len(exchanges), 4)
        for exchange in exchanges:  # waits for nothing but its gradient
            self.assertEqual(list(exchange.control_inputs), [])

    def test_equal_names_in_a_function_are_told_apart(self):
        @tf.function
        def twice(x):
            return hvd.allreduce(x, op=hvd.Sum, name="same"), hvd.allreduce(10 * x, op=hvd.Sum, name="same")
        for _ in range(20):
            self.assertEqual([float(v) for v in twice(tf.constant(1.0))], [SIZE, 10 * SIZE])

    def test_a_function_runs_exchanges_whose_results_nobody_uses(self):
        @tf.function
        def branches(x):
            if x > 0:
                hvd.allreduce(x, name="unused")
            return hvd.allreduce(x, op=hvd.Sum, name="used")
        self.assertEqual(float(branches(tf.constant(1.0))), SIZE)

    def test_an_optimizer_of_graphs(self):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            weight = tf.compat.v1.get_variable("weight", initializer=float(RANK))
            optimizer = hvd.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(1.0))
            train = optimizer.minimize(weight * (RANK + 1.0))
            broadcast = hvd.broadcast_global_variables(0)
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(broadcast)
            session.run(train)
            self.assertAlmostEqual(float(session.run(weight)), -TOTAL / SIZE, places=5)


if __name__ == "__main__":
    unittest.main(failfast=True, verbosity=0, argv=sys.argv[:1])
