"""The public conformance suite of MCP, client mode, against our own transport: see conformance.py."""

import conformance
from harness.fixtures import beside


def test_every_client_scenario_passes(rig, capsys):
    assert conformance.main(beside("mcp-probe"), str(rig.folder)) == 0, capsys.readouterr().out
