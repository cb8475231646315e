"""Requests, answers and the API key of the fake language model in tests."""

from compeval.generators.llm.client import Message

KEY = "sk-a-key-that-nobody-may-see"


def asked(text: str) -> list[Message]:
    return [Message(role="user", content=text)]


def completion(text: str, finish: str = "stop") -> dict:
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text},
    }
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }
