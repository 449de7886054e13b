"""What must hold when a PD of system.toml crashes."""


def test_the_server_comes_back(cellreap):
    run = cellreap.run("system.toml")
    assert run.passed
    assert run.alive == {"server", "client"}


def test_the_client_goes_with_its_server_if_the_depth_says_so(cellreap):
    run = cellreap.run("system.toml", pd_depth=1)
    assert run.passed
    assert run.alive == {"server"}


def test_the_server_outlives_its_client(cellreap):
    run = cellreap.run("system.toml", crash="client")
    assert run.passed
    assert run.alive == {"server"}
