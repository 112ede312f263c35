"""The official everything server over HTTP, in both of its transports."""

import json
import socket

import pytest


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(params=["streamableHttp", "sse"])
def everything(request, rig, tmp_path, gantry, mcp):
    port = free_port()
    p = rig.start(tmp_path, "@modelcontextprotocol/server-everything/dist/index.js", request.param,
                  env={"PORT": str(port)})
    p.err.wait("(?i)(running|listening) on port", 60)
    mcp.servers.append({"name": "far", "url": "http://127.0.0.1:%d/%s" % (port, "sse" if request.param == "sse" else "mcp")})
    mcp.write()
    yield p
    p.kill()
    p.wait()


def test_the_everything_server_is_used_behind_a_url(gantry, everything):
    def use(tool, **args):
        return gantry.run("tools", "call", "far__" + tool, json.dumps(args), seconds=60).out
    assert "hello there" in use("echo", message="hello there")
    assert "42" in use("get-sum", a=20, b=22)
    assert "ompleted" in use("trigger-long-running-operation", duration=0.3, steps=3)
