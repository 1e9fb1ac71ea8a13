"""Deep Q-learning: a network learns from trying how to keep a pole on a cart upright.

    python -m weir examples/python/dqn.py               # or with TensorFlow: python examples/python/dqn.py
"""

import argparse
import collections
import math

import keras
import numpy as np
import tensorflow as tf


class CartPole:
    """A cart on a track, pushed to the left or right; the pole on it falls if nothing is done. The usual sizes."""

    def __init__(self, rng):
        self._rng = rng

    def reset(self):
        self._state = self._rng.uniform(-0.05, 0.05, 4)
        self._steps = 0
        return self._state.astype(np.float32)

    def step(self, push):
        """The new state, the reward, and whether the game is over."""
        x, speed, angle, turn = self._state
        force = 10.0 if push == 1 else -10.0
        pole, total, half = 0.1, 1.1, 0.5
        sine, cosine = math.sin(angle), math.cos(angle)
        pull = (force + pole * half * turn * turn * sine) / total
        turning = (9.8 * sine - cosine * pull) / (half * (4.0 / 3.0 - pole * cosine * cosine / total))
        moving = pull - pole * half * turning * cosine / total
        self._state = self._state + 0.02 * np.array([speed, moving, turn, turning])
        self._steps += 1
        over = abs(self._state[0]) > 2.4 or abs(self._state[2]) > 12 * math.pi / 180
        return self._state.astype(np.float32), 1.0, over or self._steps >= 200


class Agent:
    def __init__(self, rng, rate=1e-3, discount=0.98):
        self._rng, self._discount = rng, discount
        self.network, self._slow = [keras.Sequential([
            keras.Input((4,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(64, "relu"), keras.layers.Dense(2)])
            for _ in range(2)]
        self._slow.set_weights(self.network.get_weights())
        self._optimizer = keras.optimizers.Adam(rate)
        self._optimizer.build(self.network.trainable_variables)
        self._memory = collections.deque(maxlen=20000)

    def act(self, state, chance):
        if self._rng.uniform() < chance:
            return int(self._rng.randint(2))
        return int(tf.argmax(self.values(tf.constant(state[None]))[0]))

    @tf.function
    def values(self, states):
        return self.network(states)

    def remember(self, *experience):
        self._memory.append(experience)

    def learn(self, batch):
        if len(self._memory) < 4 * batch:
            return None
        chosen = [self._memory[i] for i in self._rng.randint(len(self._memory), size=batch)]
        states, pushes, rewards, following, over = [np.stack(column) for column in zip(*chosen)]
        return float(self._step(tf.constant(states), tf.constant(pushes.astype(np.int32)),
                                tf.constant(rewards.astype(np.float32)), tf.constant(following),
                                tf.constant(over.astype(np.float32))))

    @tf.function
    def _step(self, states, pushes, rewards, following, over):
        # The fast network chooses the next push, the slow one says what it is worth.
        best = tf.argmax(self.network(following), 1, output_type=tf.int32)
        later = tf.gather(self._slow(following), best, batch_dims=1)
        wanted = rewards + self._discount * (1.0 - over) * later
        with tf.GradientTape() as tape:
            got = tf.gather(self.network(states), pushes, batch_dims=1)
            difference = wanted - got
            size = tf.abs(difference)
            loss = tf.reduce_mean(tf.where(size < 1.0, 0.5 * tf.square(difference), size - 0.5))
        variables = self.network.trainable_variables
        self._optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        for slow, fast in zip(self._slow.trainable_variables, variables):
            slow.assign(slow + 0.01 * (fast - slow))
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--games", type=int, default=150)
    parser.add_argument("--batch", type=int, default=64)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.RandomState(1)
    game, agent = CartPole(rng), Agent(rng)
    lengths, losses = [], []
    for number in range(arguments.games):
        state, over, steps = game.reset(), False, 0
        chance = max(0.02, 1.0 - number / (0.4 * arguments.games))
        while not over:
            push = agent.act(state, chance)
            following, reward, over = game.step(push)
            steps += 1
            agent.remember(state, push, reward, following, over and steps < 200)
            state = following
            loss = agent.learn(arguments.batch)
            if loss is not None:
                losses.append(loss)
        lengths.append(steps)
        if (number + 1) % 25 == 0:
            print(f"game {number + 1}: the pole stood for {np.mean(lengths[-25:]):.0f} steps", flush=True)
    last = lengths[-min(25, len(lengths)):]
    print(f"{len(losses)} steps of learning; at the end the pole stood for {np.mean(last):.0f} steps")


if __name__ == "__main__":
    main()
