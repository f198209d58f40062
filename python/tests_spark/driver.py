"""A driver of its own, which test_kills.py starts: it ends by SIGKILL at a moment of a release, as its machine would.

    driver.py COMMAND WHEN SECONDS     WHEN: before, within (so many seconds after its beginning), after; COMMAND none: it is not killed
"""
import os
import signal
import sys
import threading
import time

from pyspark.sql import SparkSession

import sdlfilter.spark

command, when, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def mortal(name, do):
    """do, around which the driver dies if it is the command."""
    if name != command:
        return do()
    if when == "before":
        die()
    if when == "within":
        threading.Thread(target=lambda: (time.sleep(seconds), die()), daemon=True).start()
    result = do()
    if when == "after":
        die()
    return result


called, shards = sdlfilter.spark._call, sdlfilter.spark._Job._shards
sdlfilter.spark._call = lambda arguments, *more: mortal(arguments[1], lambda: called(arguments, *more))
sdlfilter.spark._Job._shards = lambda self, n, name, *more: mortal(name, lambda: shards(self, n, name, *more))

os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (SparkSession.builder.master("local-cluster[1,2,1024]").appName("sdlfilter-driver").config("spark.ui.enabled", "false")
         .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
         .config("spark.local.dir", os.getcwd() + "/spark").getOrCreate())
sdlfilter.spark.mask(None, "pipeline.yaml", spark, shards=3)
spark.stop()
