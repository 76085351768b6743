"""Settings: what is read, what is refused and how, and what never shows."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from errands_config.errors import ConfigError
from errands_config.settings import NOT_SETTINGS, Settings, load_settings, make_home

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_nothing_set_means_an_embedded_store_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings()
    assert settings.redis_url is None
    assert settings.home == tmp_path / ".errands"
    assert settings.durability == "fast"
    assert not settings.home.exists()


def test_every_setting_is_read_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRANDS_REDIS_URL", "redis://store:6380/2")
    monkeypatch.setenv("ERRANDS_API_KEYS", '{"main": "sk-1"}')
    monkeypatch.setenv("ERRANDS_LEASE_SECONDS", "2.5")
    monkeypatch.setenv("ERRANDS_DURABILITY", "durable")
    monkeypatch.setenv("ERRANDS_MODEL_URL", "")
    settings = load_settings()
    assert settings.redis_url == "redis://store:6380/2"
    assert settings.api_keys["main"].get_secret_value() == "sk-1"
    assert settings.lease_seconds == 2.5
    assert settings.durability == "durable"
    assert settings.model_url is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ERRANDS_LEASE_SECONDS", "soon", "ERRANDS_LEASE_SECONDS: .*number.*'soon'"),
        ("ERRANDS_BEAT_SECONDS", "0", "ERRANDS_BEAT_SECONDS: .*greater than 0"),
        ("ERRANDS_DURABILITY", "forever", "ERRANDS_DURABILITY: .*'durable' or 'fast'"),
        ("ERRANDS_BEAT_SECONDS", "2", "ERRANDS_LOST_AFTER_SECONDS must be at least three times"),
        ("ERRANDS_PARTITION_SECONDS", "4", "ERRANDS_PARTITION_SECONDS must not be less"),
        ("ERRANDS_REDIS_URL", "http://store", "ERRANDS_REDIS_URL: must begin with redis://"),
        ("ERRANDS_REDIS_URL", "redis+socket:///run/store", "ERRANDS_REDIS_URL: must begin with"),
        ("ERRANDS_REDIS_URL", "unix://", "ERRANDS_REDIS_URL: wants the socket's absolute path"),
        ("ERRANDS_REDIS_URL", "unix://run/store.sock", "ERRANDS_REDIS_URL: wants the socket's absolute path"),
        ("ERRANDS_REDIS_URL", "redis://store/0?socket_timeout=9", "ERRANDS_REDIS_URL: unknown option 'socket_timeout'"),
        ("ERRANDS_REDIS_URL", "redis://store/first", "ERRANDS_REDIS_URL: the database must be a number"),
        ("ERRANDS_REDIS_URL", "redis://store:port/0", "ERRANDS_REDIS_URL: Port"),
        ("ERRANDS_REDSI_URL", "redis://store", "ERRANDS_REDSI_URL: no such setting; did you mean ERRANDS_REDIS_URL?"),
        ("ERRANDS_XYZZY", "1", "ERRANDS_XYZZY: no such setting; unset it"),
        ("ERRANDS_API_KEYS", '["sk-1"]', "ERRANDS_API_KEYS: "),
    ],
)
def test_a_bad_variable_is_named_with_what_it_should_be(
    name: str, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=message):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ERRANDS_REDIS_URL", "redis://user:hush-hush@store/x"),
        ("ERRANDS_REDIS_URL", "hush-hush"),
        ("ERRANDS_API_KEYS", '{"main": "hush-hush"'),
        ("ERRANDS_API_KEYS", '"hush-hush"'),
        ("ERRANDS_API_KEYS", '{"main": ["hush-hush"]}'),
    ],
)
def test_a_refused_secret_is_not_repeated_in_the_message(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name) as refused:
        load_settings()
    assert "hush" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_variables_of_calls_and_of_the_launcher_are_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NOT_SETTINGS:
        monkeypatch.setenv(name, "1")
    load_settings()


def test_variables_that_a_cluster_sets_for_a_service_named_errands_are_no_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for service in ("ERRANDS", "ERRANDS_API"):
        monkeypatch.setenv(f"{service}_SERVICE_HOST", "10.0.0.7")
        monkeypatch.setenv(f"{service}_PORT_6379_TCP_ADDR", "10.0.0.7")
    load_settings()


def test_secrets_do_not_show_in_the_text_form_of_settings() -> None:
    settings = Settings(
        redis_url="redis://user:hush-hush@store:6380/2",
        api_keys={"main": SecretStr("hush-hush")},
    )
    assert "hush" not in f"{settings} {settings!r} {settings.shown_url}"
    assert settings.shown_url == "redis://user:***@store:6380/2"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://store/0", "redis://store/0"),
        ("redis://:p%40ss@store", "redis://:***@store"),
        ("redis://user@store", "redis://user@store"),
        ("redis://:a@b@store", "redis://:***@store"),
        ("unix:///run/a%20b.sock?db=1", "unix:///run/a%20b.sock?db=1"),
        ("rediss://u:p@[::1]:6380/0", "rediss://u:***@[::1]:6380/0"),
    ],
)
def test_a_store_is_shown_without_its_password(url: str, shown: str) -> None:
    assert Settings(redis_url=url).shown_url == shown


@given(st.text(st.characters(categories=["L", "N"])))
def test_no_password_shows_whatever_it_is(secret: str) -> None:
    password = f"hush:@{secret}"
    settings = Settings(redis_url=f"redis://:{password}@store/0")
    assert password not in f"{settings!r} {settings.shown_url}"


def test_an_embedded_store_is_shown_by_its_home(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    assert settings.shown_url == f"the embedded store in {tmp_path}"
    assert settings.at("unix:///run/store.sock").shown_url == "unix:///run/store.sock"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().model = "other"


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_home_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    home = make_home(tmp_path / "deep" / "home")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert (home / ".gitignore").read_text() == "*\n"


def test_home_can_be_made_again_and_becomes_private_again(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    (home / "store").mkdir()
    home.chmod(0o755)
    assert stat.S_IMODE(make_home(home).stat().st_mode) == 0o700


@pytest.mark.parametrize("other", ["notes.txt", ".gitignore"])
def test_a_folder_that_holds_other_things_is_not_taken_as_home(tmp_path: Path, other: str) -> None:
    (tmp_path / other).write_text("*.pyc\n")
    mode = tmp_path.stat().st_mode
    with pytest.raises(ConfigError, match=r"ERRANDS_HOME: .* holds other files"):
        make_home(tmp_path)
    assert tmp_path.stat().st_mode == mode
    assert (tmp_path / other).read_text() == "*.pyc\n"


@pytest.mark.parametrize("name", ["file", "file/below", "/proc/home"])
def test_a_home_that_cannot_be_made_is_named_with_the_reason(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"ERRANDS_HOME: .*; name a folder of your own"):
        make_home(tmp_path / name)
