"""How the scripts of this folder take a time."""
import time


def best(call, seconds):
    """The least milliseconds of a call, of three calls or as many as go into the seconds."""
    least, end, count = float("inf"), time.perf_counter() + seconds, 0
    while count < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        least = min(least, (time.perf_counter() - begin) * 1e3)
        count += 1
    return least
