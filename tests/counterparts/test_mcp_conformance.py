"""The public conformance suite of MCP, client mode, against our own transport: see conformance.py."""

import conformance
from harness.fixtures import binary


def test_every_client_scenario_passes(rig, capsys):
    assert conformance.main(binary(), str(rig.folder)) == 0, capsys.readouterr().out
