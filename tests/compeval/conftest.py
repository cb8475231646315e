from tests.evaluators.conftest import _own_cache, clip, data, here  # noqa: F401
