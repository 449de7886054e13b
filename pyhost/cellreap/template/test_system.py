"""What must hold when a PD of system.toml crashes."""

from __future__ import annotations

from cellreap.testing import Target


def test_the_server_comes_back_and_its_client_connects_again(systems: Target) -> None:
    run = systems.run("system")
    assert set(run.doomed()) == {"server"}
    assert run.alive() == {"server", "client"}
    said = run.says("client")
    assert said[:3] == ["the total is 1", "the total is 2", "no answer"]
    assert "the server is gone" in said
    assert said[-1].startswith("the total is ")


def test_the_client_goes_with_the_server_if_the_depth_says_so(systems: Target) -> None:
    run = systems.run("system", pd_depth=1)
    assert run.doomed() == {"server": "0", "client": "1"}
    assert run.alive() == {"server"}


def test_the_server_outlives_its_client(systems: Target) -> None:
    run = systems.run("system", crash="client")
    assert run.alive() == {"server"}
