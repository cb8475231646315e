from tests.evaluators.conftest import clip, data, here  # noqa: F401
