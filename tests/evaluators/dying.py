"""A step of an image transform that ends its process. The module imports little, so that a worker starts at once."""

import os
import signal

from PIL.Image import Image


def die(image: Image) -> Image:
    os.kill(os.getpid(), signal.SIGKILL)
    return image
