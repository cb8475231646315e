"""Names of repositories on the Hugging Face Hub, and errors of the Hub."""

from collections.abc import Iterator
from contextlib import contextmanager

from compeval.base.plain_text import strip_urls


def check_repository(repository: str, example: str = "") -> None:
    """Raise ValueError if a name is not ORG/NAME. The message contains ``example``, if it is given."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise ValueError(f"{repository!r} is not ORG/NAME ({error}).") from None
    if repository.count("/") != 1:
        raise ValueError(
            f"{repository!r} is not ORG/NAME{f', for example {example}' if example else ''}."
        )


@contextmanager
def explain_errors(repository: str, endpoint: str | None) -> Iterator[None]:
    """Convert errors of the Hub into a ValueError that names the repository."""
    from huggingface_hub import errors

    try:
        yield
    except (errors.HfHubHTTPError, errors.LocalTokenNotFoundError) as error:
        reason = strip_urls(str(error)).strip()
        raise ValueError(
            f"{repository}: the Hub refused ({reason}). Check the name, or log in with `hf auth login`."
        ) from None
    except errors.HTTPError as error:  # pyright: ignore[reportPrivateImportUsage] - of httpx or httpx2
        address = strip_urls(str(endpoint))
        reason = strip_urls(str(error)).strip()
        raise ValueError(
            f"{repository}: the Hub at {address} cannot be reached ({reason}). Check the network."
        ) from None
