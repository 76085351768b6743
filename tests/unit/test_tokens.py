"""The tokens of deferred calls, and the key that they are made with."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

from errands_config.errors import ConfigError, NotFound
from errands_config.settings import Settings
from errands_orchestrator.tokens import KEY_FILE, is_token, read_token, secret_key, token_of

KEY = bytes(range(32))
CID = "0199c2a4-7d1e-7000-8000-0123456789ab"

call_ids = st.uuids().map(str)
nonces = st.integers(1, 999_999_999)


# ---- tokens


@given(call_ids, nonces, st.binary(min_size=32, max_size=64))
def test_a_token_names_its_call_and_its_deferral(cid: str, nonce: int, key: bytes) -> None:
    token = token_of(key, cid, nonce)

    assert is_token(token)
    assert read_token(key, token) == (cid, nonce)


def test_a_token_has_the_form_that_the_contract_gives_it() -> None:
    head, cid, nonce, mac = token_of(KEY, CID, 12).split("_", 3)

    assert (head, cid, nonce) == ("ect", UUID(CID).hex, "12")
    assert len(mac) == 43  # 256 bits


@given(call_ids, nonces, st.integers(0), st.characters())
def test_a_token_with_one_character_changed_is_none(cid: str, nonce: int, place: int, character: str) -> None:
    token = token_of(KEY, cid, nonce)
    place %= len(token)
    forged = token[:place] + character + token[place + 1 :]

    if forged == token:
        return
    with pytest.raises(NotFound):
        read_token(KEY, forged)


@given(call_ids, nonces, nonces)
def test_no_key_reads_the_tokens_of_another_and_no_deferral_has_those_of_another(cid: str, one: int, two: int) -> None:
    with pytest.raises(NotFound):
        read_token(KEY[::-1], token_of(KEY, cid, one))
    assert (token_of(KEY, cid, one) == token_of(KEY, cid, two)) == (one == two)


@given(st.text() | st.text(alphabet="ect_0123456789abcdef-", max_size=90))
@example("")
@example("ect_")
@example(f"ect_{'0' * 32}_1_{'A' * 43}")
@example(f"{token_of(KEY, CID, 1)}\n")
def test_every_bad_token_is_refused_in_the_same_words_without_it(text: str) -> None:
    with pytest.raises(NotFound) as refused:
        read_token(KEY, text)

    assert str(refused.value) == "no such token: `errands session pending --show-tokens` prints those that are"


# ---- the key


def settings(home: Path, key: str = "") -> Settings:
    return Settings(home=home, secret_key=SecretStr(key) if key else None)


def test_the_key_of_the_settings_is_taken_and_no_file_is_made(clean_environment: None, tmp_path: Path) -> None:
    assert secret_key(settings(tmp_path / "home", "k" * 40)) == b"k" * 40
    assert not (tmp_path / "home").exists()


def test_a_key_is_made_once_for_its_owner_alone(clean_environment: None, tmp_path: Path) -> None:
    home = tmp_path / "home"

    key = secret_key(settings(home))

    file = home / KEY_FILE
    assert (len(key), file.read_text()) == (32, f"{key.hex()}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert secret_key(settings(home)) == key
    assert sorted(path.name for path in home.iterdir()) == [".gitignore", KEY_FILE]


def test_many_that_make_the_key_at_once_have_the_same(clean_environment: None, tmp_path: Path) -> None:
    home, found = tmp_path / "home", list[bytes]()
    together = threading.Barrier(8)

    def make() -> None:
        together.wait()
        found.append(secret_key(settings(home)))

    makers = [threading.Thread(target=make) for _ in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()

    assert (len(found), len(set(found))) == (8, 1)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_key_that_others_can_read_or_write_is_refused(clean_environment: None, tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    secret_key(settings(home))
    (home / KEY_FILE).chmod(mode)

    with pytest.raises(ConfigError, match="chmod 600"):
        secret_key(settings(home))


@pytest.mark.parametrize("text", ["", "abc", "g" * 64, "A" * 63])
def test_a_file_that_holds_no_key_is_refused_without_its_content(
    clean_environment: None, tmp_path: Path, text: str
) -> None:
    home = tmp_path / "home"
    secret_key(settings(home))
    (home / KEY_FILE).write_text(text)

    with pytest.raises(ConfigError, match="64 hexadecimal") as refused:
        secret_key(settings(home))

    assert len(text) < 4 or text not in str(refused.value)


def test_a_link_is_not_followed(clean_environment: None, tmp_path: Path) -> None:
    home = tmp_path / "home"
    secret_key(settings(home))
    (home / KEY_FILE).rename(tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", home / KEY_FILE)

    with pytest.raises(ConfigError, match="cannot be read"):
        secret_key(settings(home))
