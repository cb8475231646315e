import pytest

from compeval.generators.llm.client import KEY_VARIABLE
from tests.generators.llm_answers import KEY


@pytest.fixture
def llm_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an API key in the environment, and shorten the delay before retries."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
